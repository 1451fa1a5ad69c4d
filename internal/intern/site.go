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
	// batch is how many parts a worker counts, or leaves alone, before it says so to
	// the others.
	batch = 32
)

// site is a place in a type where parts are. It finds out whether they repeat.
//
// Counting is by place because repetition is a property of the place: the image of a
// container repeats, the UID of a pod does not, though both are strings.
//
// Several goroutines decode, and each goes through some fifty places per object. Words
// that all of them write for each part would travel between the cores all the time. So
// each worker counts for itself, in a [local], and adds what it has counted to the site
// once per batch.
type site struct {
	index int // of the locals
	// counts are those of the present window: looked up (bits 0 to 15), found
	// (16 to 31), words saved (32 to 63).
	// Three counters in one word are updated with one atomic addition, and read and
	// reset together with one swap.
	counts atomic.Uint64
	skip   atomic.Int64 // parts that are left alone yet
	pause  atomic.Int64 // how many are next time
}

// local is what one worker knows of a site. It is used by one goroutine at a time,
// under the lock of its worker, and needs no atomic operations.
type local struct {
	counts uint64 // not added to the site's yet
	free   int64  // parts that the site has said to leave alone
	// last are the parts found last. The objects of a list come sorted by name, so
	// the next one is likely to have the same; comparing spares the hash. Elements
	// of a slice have one each, by their position.
	last [8]*entry
	// kept are texts of which a decoder has made parts, by their position like these.
	kept []kept
}

// recent returns where the part is that was found last in the element at. Positions
// beyond eight share a slot. That costs a comparison that fails, and no more.
func (l *local) recent(at int) **entry { return &l.last[at%len(l.last)] }

const (
	// What one part adds to the counters of a window, see site.counts.
	countSeen  = 1
	countFound = 1 << 16
	countSaved = 1 << 32
	// maxSaved bounds what one part adds, so that a window of them fits.
	maxSaved = 1 << 20
)

// enabled reports whether the next part is to be looked up.
func (l *local) enabled(s *site) bool { return !l.paused(s, 1) }

// paused reports whether the next n parts are to be left alone. If they are, leave
// is to be called with their number.
func (l *local) paused(s *site, n int64) bool {
	for l.free < n {
		// The load comes first, because it is shared by all cores, while the addition is
		// not: a site that is never paused writes nothing here.
		if s.skip.Load() <= 0 {
			return false
		}
		left := s.skip.Add(-batch) + batch
		if left <= 0 {
			return false
		}
		l.free += min(left, batch)
	}
	return true
}

// leave takes n parts off those that are left alone.
func (l *local) leave(n int64) { l.free -= n }

// found counts a part that was replaced. Sizes are counted in words of 8 bytes, rounded
// up, to fit into 32 bits.
func (l *local) found(s *site, size uintptr) {
	l.count(s, countSeen+countFound+countSaved*uint64(min((size+7)/8, maxSaved)))
}

// missed counts a part that was not.
func (l *local) missed(s *site) { l.count(s, countSeen) }

// count adds to the counters of the worker, and to those of the site once per batch.
// Up to batch parts of each worker are not counted yet when a site is judged.
func (l *local) count(s *site, n uint64) {
	if l.counts += n; l.counts&0xffff == batch {
		s.count(l.counts)
		l.counts = 0
	}
}

// count adds to the counters of the window, and judges the site when it is full.
func (s *site) count(n uint64) {
	// Exactly one goroutine sees the window become full. Parts that others count before
	// the swap are judged with this window, which does no harm.
	after := s.counts.Add(n) & 0xffff
	if before := after - n&0xffff; before < window && after >= window {
		s.judge(s.counts.Swap(0))
	}
}

// judge pauses a site that costs more than it saves. One goroutine per window calls it,
// see count; the others read skip meanwhile.
func (s *site) judge(c uint64) {
	// The third counter is in words of 8 bytes.
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
