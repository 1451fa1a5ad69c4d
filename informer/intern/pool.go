package intern

import (
	"maps"
	"math"
	"runtime"
	"unsafe"
	"weak"
)

// parts are the parts that are known, by their hashes. It holds them by weak pointers, so
// that none outlives the objects that contain it. The pool's mutex guards it.
type parts struct {
	// One entry per hash. Of two parts with equal hashes only one is known: the other is
	// not shared, which costs memory and is never wrong.
	entries map[uint64]entry
	peak    int    // of entries since the map was made
	age     uint32 // the number of sweeps
	mask    uint64 // of the bits of hashes that count: all but in tests
}

// entry is what is known of a hash: a part, or only that one was seen. The zero entry is
// that of a hash that is not known.
type entry struct {
	part weak.Pointer[byte]
	typ  uint32
	// n is the length of a string or slice or, of an entry without a part, the age when
	// it was seen.
	n uint32
}

func newParts() parts { return parts{entries: map[uint64]entry{}, mask: math.MaxUint64} }

// find returns what is known of a hash, and notes that a part was seen. The entry is the
// zero one if the hash is new, or that of another type.
func (p *parts) find(h uint64, typ uint32) entry {
	e := p.entries[h&p.mask]
	switch e.typ {
	case typ:
		return e
	case 0:
		// Seen once: no weak pointer yet, since most parts that are seen once are never
		// seen again.
		p.set(h, entry{typ: typ, n: p.age})
	}
	return entry{}
}

// get returns the part of an entry, if it is of a type and still there.
func (e entry) get(typ uint32) unsafe.Pointer {
	if e.typ != typ {
		return nil
	}
	return unsafe.Pointer(e.part.Value())
}

// add makes a part the one for its hash, unless there is one already.
func (p *parts) add(h uint64, typ uint32, part unsafe.Pointer, n int) {
	// The older one stays, because objects may refer to it. An entry of another type is
	// replaced as well once its part is gone: a hash has one entry.
	if p.entries[h&p.mask].part.Value() == nil {
		p.set(h, entry{weak.Make((*byte)(part)), typ, uint32(n)})
	}
}

// set stores an entry.
func (p *parts) set(h uint64, e entry) {
	p.entries[h&p.mask] = e
	p.peak = max(p.peak, len(p.entries))
}

// sweep removes the entries of parts that are gone, and of those that were not seen again
// since the sweep before the last one.
func (p *parts) sweep() {
	p.age++
	none := weak.Pointer[byte]{}
	// A hash that was seen once gets at least one full interval between two sweeps to be
	// seen again. Without this bound the hashes of all parts ever seen would accumulate.
	for h, e := range p.entries {
		if e.part == none && p.age-e.n > 1 || e.part != none && e.part.Value() == nil {
			delete(p.entries, h)
		}
	}
	if n := len(p.entries); p.peak > 8 && n < p.peak/4 { // maps do not shrink
		// After a large collection was dropped, the map would keep the memory of its
		// peak.
		smaller := make(map[uint64]entry, n)
		maps.Copy(smaller, p.entries)
		p.entries, p.peak = smaller, n
	}
}

// size returns the number of parts, and that of hashes that were seen once.
func (p *parts) size() (parts, seen int) {
	for _, e := range p.entries {
		if e.part != (weak.Pointer[byte]{}) {
			parts++
		}
	}
	return parts, len(p.entries) - parts
}

// sweep sweeps the parts. It is called after each garbage collection.
func (p *Pool) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.parts.sweep()
}

// afterGC sweeps after the next garbage collection, and so on while the pool is in use:
// weak pointers become nil without a notice.
func (p *Pool) afterGC() {
	// The runtime packs values of less than 16 bytes without pointers into one block,
	// which lives as long as any of them.
	type sentinel struct{ _ [16]byte } // not part of a block of tiny values
	// Weak, or the cleanup itself would keep the pool alive, and the sweeps would go on
	// for ever.
	w := weak.Make(p)
	// The sentinel is unreachable at once, so its cleanup runs after the next
	// collection. Each cleanup runs once; it makes the next sentinel.
	runtime.AddCleanup(&sentinel{}, func(w weak.Pointer[Pool]) {
		if p := w.Value(); p != nil {
			p.sweep()
			p.afterGC()
		}
	}, w)
}

// mapBytes estimates the memory of a map of n entries, whose keys and elements are of
// that size together. Its slots come in groups of eight, of which some three quarters are
// in use, with a control byte each.
func mapBytes(n int, size uintptr) int {
	const header, group = 48, 8
	return header + max(group, n*4/3)*(1+int(size))
}
