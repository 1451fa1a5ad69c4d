package intern

import "sync/atomic"

const (
	// window is the number of looked up parts after which a site is judged.
	window = 1024
	// entryCost is about what the pool spends on one part, in bytes: an entry of
	// a map that is two thirds full, a weak handle and the runtime's record of it.
	entryCost = 88
	// leniency is by how much a site may cost more than it saves: parts of which
	// few have been seen yet will be found more often.
	leniency = 4
	// minPause and maxPause bound for how many parts a site that costs more than
	// it saves is left alone.
	minPause, maxPause = 16 << 10, 1 << 20
)

// site is a place in a type where parts are. It finds out whether they repeat.
//
// Counting is by place because repetition is a property of the place: the image of a
// container repeats, the UID of a pod does not, though both are strings.
type site struct {
	// counts are those of the present window: looked up (bits 0 to 15), found
	// (16 to 31), words saved (32 to 63).
	// Three counters in one word are updated with one atomic addition, and read and
	// reset together with one swap.
	counts atomic.Uint64
	skip   atomic.Int64 // parts that are left alone yet
	pause  atomic.Int64 // how many are next time
	// last are the parts found last. The objects of a list come sorted by name, so
	// the next one is likely to have the same; comparing spares the hash. Elements
	// of a slice have one each, by their position.
	last [8]atomic.Pointer[entry]
}

// recent returns where the part is that was found last in the element at.
func (s *site) recent(at int) *atomic.Pointer[entry] { return &s.last[at%len(s.last)] }

const (
	countSeen  = 1
	countFound = 1 << 16
	countSaved = 1 << 32
	// maxSaved bounds what one part adds, so that a window of them fits.
	maxSaved = 1 << 20
)

// enabled reports whether the next part is to be looked up.
func (s *site) enabled() bool {
	// The load comes first because it is shared by all cores, while the addition is not:
	// a site that is never paused writes nothing here.
	return s.skip.Load() <= 0 || s.skip.Add(-1) < 0
}

// found counts a part that was replaced.
func (s *site) found(size uintptr) {
	s.count(countSeen + countFound + countSaved*uint64(min((size+7)/8, maxSaved)))
}

// missed counts a part that was not.
func (s *site) missed() { s.count(countSeen) }

// count adds to the counters of the window, and judges the site when it is full.
func (s *site) count(n uint64) {
	// Exactly one goroutine sees the window become full. Parts that others count before
	// the swap are judged with this window, which does no harm.
	if s.counts.Add(n)&0xffff == window {
		s.judge(s.counts.Swap(0))
	}
}

// judge pauses a site that costs more than it saves.
func (s *site) judge(c uint64) {
	seen, found, saved := c&0xffff, c>>16&0xffff, c>>32*8
	if saved*leniency >= (seen-found)*entryCost {
		s.pause.Store(0)
		return
	}
	// Doubled each time: a place that never repeats, such as a UID, soon costs next to
	// nothing, and one that begins to repeat is still found.
	pause := min(max(minPause, 2*s.pause.Load()), maxPause)
	s.pause.Store(pause)
	s.skip.Store(pause)
}
