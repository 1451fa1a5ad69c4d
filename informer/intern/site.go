package intern

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
	// positions is how many elements of a slice have a part of their own that was found
	// last.
	positions = 8
)

// site is a place in a type where parts are. It finds out whether they repeat.
//
// Counting is by place because repetition is a property of the place: the image of a
// container repeats, the UID of a pod does not, though both are strings.
type site struct {
	seen, found int // of the present window
	saved       int // bytes, in the present window
	skip        int // parts that are left alone yet
	pause       int // how many are next time
	// last are the parts found last. The objects of a list come sorted by name, so
	// the next one is likely to have the same; comparing spares the hash. Elements
	// of a slice have one each, by their position. Most places are empty in all objects,
	// so there is room only for those that were found.
	last []entry
}

// recent returns the entry of the part that was found last in the element at.
func (s *site) recent(at int) entry {
	if at %= positions; at < len(s.last) {
		return s.last[at]
	}
	return entry{}
}

// remember makes e the part that was found last in the element at. Positions beyond
// eight share a slot. That costs a comparison that fails, and no more.
func (s *site) remember(at int, e entry) {
	at %= positions
	for at >= len(s.last) {
		s.last = append(s.last, entry{})
	}
	s.last[at] = e
}

// leave reports whether the next n parts are to be left alone, and counts them.
func (s *site) leave(n int) bool {
	if s.skip < n {
		return false
	}
	s.skip -= n
	return true
}

// count counts a part that was looked up, and judges the site when the window is full: one
// that costs more than it saves is paused.
func (s *site) count() {
	if s.seen++; s.seen < window {
		return
	}
	if s.saved*leniency >= (s.seen-s.found)*entryCost {
		s.pause = 0
	} else {
		// Doubled each time: a place that never repeats, such as a UID, soon costs next to
		// nothing, and one that begins to repeat is still found.
		s.pause = min(max(minPause, 2*s.pause), maxPause)
	}
	s.skip = s.pause
	s.seen, s.found, s.saved = 0, 0, 0
}
