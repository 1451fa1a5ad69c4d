package intern

import (
	"reflect"
	"strings"
	"unsafe"
)

const (
	// maxDepth is how deeply parts may be nested, and maxVisits how many may be
	// visited in one object, some of them several times. Only values that contain
	// themselves have more; a decoder does not make any, but a transform may.
	maxDepth  = 1000
	maxVisits = 1 << 20
	// worthAtOnce is the size of a part from which it enters the pool when first
	// seen, as a second copy would cost more than the entry.
	worthAtOnce = 512
)

// walk is the way through one object. The pool has one, as one object is interned at a
// time.
type walk struct {
	pool  *Pool
	left  int    // parts to visit
	depth int    // of the present part
	at    int    // position in the innermost slice
	bad   bool   // what was hashed cannot be shared
	text  string // an element of a map, where it has an address
	slot  slice  // of a part of the pool, to compare with
}

// begin makes the walk ready for another object. It does not keep a part of the last one.
func (w *walk) begin() { *w = walk{pool: w.pool, left: maxVisits} }

// hit counts a part that was replaced.
func (w *walk) hit(s *site, size int) {
	w.pool.total.Found++
	w.pool.total.Saved += uint64(size)
	s.found++
	s.saved += size
	s.count()
}

// miss counts a part that was looked up and kept.
func (w *walk) miss(s *site) {
	w.pool.total.Missed++
	s.count()
}

// enter begins with what is in a part. If it returns false, that is left alone;
// otherwise depth is to be decremented afterwards.
func (w *walk) enter() bool {
	w.left--
	if w.left <= 0 || w.depth >= maxDepth {
		w.bad = true
		return false
	}
	w.depth++
	return true
}

// share replaces the parts of the value at p. It changes the object in place. What is
// opaque is not looked at.
func (w *walk) share(n *node, p unsafe.Pointer) {
	switch n.kind {
	case record:
		for i := range n.parts {
			f := &n.parts[i]
			w.share(f.node, unsafe.Add(p, f.offset))
		}
	case text:
		if s := *(*string)(p); len(s) > 1 { // strings of one byte are the runtime's
			w.part(n, p, len(s))
		}
	case list:
		// Arrays of elements without a size have no memory of their own to share.
		if s := (*slice)(p); s.len > 0 && n.elem.size > 0 {
			w.part(n, p, s.len*int(n.elem.size))
		}
	case pointer:
		if *(*unsafe.Pointer)(p) != nil && n.elem.size > 0 {
			w.part(n, p, int(n.elem.size))
		}
	case textMap:
		if m := *(*map[string]string)(p); len(m) > 0 {
			w.part(n, p, mapBytes(len(m), 32))
		}
	case otherMap:
		if m := reflect.NewAt(n.typ, p).Elem(); m.Len() > 0 {
			w.part(n, p, mapBytes(m.Len(), n.key.size+n.elem.size))
		}
	case anyMap:
		if m := *(*map[string]any)(p); len(m) > 0 {
			w.part(n, p, mapBytes(len(m), 32))
		}
	default:
	}
}

// shareAll replaces the parts of count values that stand one after the other. at is
// their position, as the first container of a pod resembles the first one of the
// next.
func (w *walk) shareAll(n *node, p unsafe.Pointer, count int) {
	if n.flat || n.kind == opaque {
		return
	}
	// Restored at the end, as slices are within slices.
	outer := w.at
	for w.at = range count {
		w.share(n, unsafe.Add(p, uintptr(w.at)*n.size))
	}
	w.at = outer
}

// part replaces the part at p, or else those in it. The size is that of its own
// memory.
func (w *walk) part(n *node, p unsafe.Pointer, size int) {
	if n.site.leave(1) {
		// Left alone for now, though the parts in it may repeat.
		w.inside(n, p)
		n.trim(p, worthTrimming)
		return
	}
	// The object before often has the very same part in this place. One comparison finds
	// that out, without a hash.
	if w.replace(n, p, n.site.recent(w.at)) {
		w.hit(n.site, size)
		return
	}
	w.bad = false
	// If nothing matches, the parts in it are hashed again, each by itself: the price of
	// finding the largest equal parts first.
	h := w.hash(n, p, n.salt)
	if w.bad {
		n.site.count()
		w.inside(n, p)
		return
	}
	// find also notes a hash that is new. So a part enters the pool when it comes for the
	// second time, and what is unique never takes an entry.
	e := w.pool.parts.find(h, n.id)
	if w.replace(n, p, e) {
		n.site.remember(w.at, e)
		w.hit(n.site, size)
		return
	}
	w.miss(n.site)
	w.inside(n, p)
	if e.typ != 0 || size >= worthAtOnce {
		// The parts in it have been replaced by now, so that what enters the pool refers
		// to the pool for its own parts, and does not keep copies alive.
		n.trim(p, 1)
		w.pool.parts.add(h, n.id, *(*unsafe.Pointer)(p), n.length(p))
		return
	}
	n.trim(p, worthTrimming)
}

// replace replaces the part at p by that of the pool if they are equal. The hash has
// only selected e: equality is what decides.
func (w *walk) replace(n *node, p unsafe.Pointer, e entry) bool {
	if int(e.n) != n.length(p) {
		return false
	}
	q := e.get(n.id)
	if q == nil {
		return false
	}
	// equal wants the address of a value. The first word of a slice, a pointer and a map
	// is the pointer, so one slot can stand for each of these.
	w.slot = slice{q, int(e.n), int(e.n)}
	if !w.equal(n, p, unsafe.Pointer(&w.slot)) {
		return false
	}
	switch n.kind {
	case list:
		*(*slice)(p) = w.slot
	case text:
		*(*string)(p) = unsafe.String((*byte)(q), e.n)
	default:
		*(*unsafe.Pointer)(p) = q
	}
	w.slot = slice{}
	return true
}

// length is that of the part at p, if it is a slice or string. It is part of an entry,
// because the memory of an array does not say how long the slice is.
func (n *node) length(p unsafe.Pointer) int {
	switch n.kind {
	case list:
		return (*slice)(p).len
	case text:
		return len(*(*string)(p))
	default:
		return 0
	}
}

// worthTrimming is the unused memory of an array for which it is copied although
// it is not shared. Decoders let slices grow.
const worthTrimming = 128

// trim gives a part memory of its own, without room for more, if what is unused is worth
// at least so many bytes. Whatever is unused would be kept by all objects that share the
// part. The copy is made by reflection, since the garbage collector has to know the type
// of the new array.
func (n *node) trim(p unsafe.Pointer, worth uintptr) {
	switch n.kind {
	case text:
		if worth == 1 { // it may be part of a larger one
			*(*string)(p) = strings.Clone(*(*string)(p))
		}
	case list:
		if s := (*slice)(p); s.cap > s.len && uintptr(s.cap-s.len)*n.elem.size >= worth {
			exact := reflect.MakeSlice(n.typ, s.len, s.len)
			reflect.Copy(exact, reflect.NewAt(n.typ, p).Elem())
			*s = slice{exact.UnsafePointer(), s.len, s.len}
		}
	default: // all else that is a part has no room to spare
	}
}

// inside replaces the parts in the part at p. It is for a part that itself could not be
// replaced, or is left alone.
func (w *walk) inside(n *node, p unsafe.Pointer) {
	if !w.enter() {
		return
	}
	switch n.kind {
	case list:
		s := (*slice)(p)
		w.shareAll(n.elem, s.data, s.len)
	case pointer:
		w.shareAll(n.elem, *(*unsafe.Pointer)(p), 1)
	case textMap:
		w.insideTextMap(n, *(*map[string]string)(p))
	case otherMap:
		w.insideOtherMap(n, p)
	case anyMap:
		w.insideAnyMap(n.schema, *(*map[string]any)(p))
	default:
	}
	w.depth--
}

// An assignment to a key that is in a map replaces the key as well, as strings
// that are equal may differ in their memory.

// insideTextMap replaces the keys and elements of a map. They are sites apart: the keys
// of labels repeat, and the value of a checksum does not.
func (w *walk) insideTextMap(n *node, m map[string]string) {
	for k, v := range m {
		key, elem := w.shared(n.key, k), w.shared(n.elem, v)
		if unsafe.StringData(key) != unsafe.StringData(k) || unsafe.StringData(elem) != unsafe.StringData(v) {
			m[key] = elem
		}
	}
}

// insideOtherMap does so through reflection. An entry is written back only if a part in
// it was replaced: that hashes its key again.
func (w *walk) insideOtherMap(n *node, p unsafe.Pointer) {
	m := reflect.NewAt(n.typ, p).Elem()
	s := n.borrow(m)
	for s.next() {
		before := w.pool.total.Found
		w.share(n.key, s.keyAt)
		w.share(n.elem, s.elemAt)
		if w.pool.total.Found != before {
			m.SetMapIndex(s.key, s.elem)
		}
	}
	n.giveBack(s)
}

// shared returns s or an equal string. It is not called while it runs: a string has no
// parts in it.
func (w *walk) shared(n *node, s string) string {
	w.text = s
	w.share(n, unsafe.Pointer(&w.text))
	return w.text
}
