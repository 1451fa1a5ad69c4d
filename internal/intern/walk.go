package intern

import (
	"reflect"
	"strings"
	"sync/atomic"
	"unsafe"
)

const (
	// maxDepth is how deeply parts may be nested, and maxVisits how many may be
	// visited in one object, some of them several times. Only values that contain
	// themselves have more.
	maxDepth  = 1000
	maxVisits = 4 << 20
	// maxEndless is the number of objects with more after which an interner leaves
	// all others alone.
	maxEndless = 8
	// worthAtOnce is the size of a part from which it enters the pool when first
	// seen, as a second copy would cost more than the entry.
	worthAtOnce = 512
)

// Interner interns objects of one type, usually those of one collection, as it
// learns which of their parts repeat. It may be used by several goroutines.
//
// The plan behind root does not change after it was made, except for what sites and
// schemas learn, which they do atomically.
type Interner struct {
	pool    *Pool
	root    *node
	visits  int // maxVisits, but in tests
	endless atomic.Int32
}

// NewInterner returns an interner of what pointers of the type t point to. One of
// another type than a pointer to a struct interns nothing.
func NewInterner(pool *Pool, t reflect.Type) *Interner {
	in := &Interner{pool: pool, visits: maxVisits}
	if t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct {
		pl := &planner{pool: pool, tree: newTree(pool), open: map[reflect.Type]*node{}}
		in.root = pl.plan(t.Elem())
	}
	return in
}

// Intern replaces parts of the object at p by equal ones of the pool. No other
// goroutine may use the object yet, and nobody may modify it afterwards.
func (in *Interner) Intern(p unsafe.Pointer) {
	if in.root == nil || p == nil || in.endless.Load() >= maxEndless {
		return
	}
	// The state of a walk belongs to one call, so goroutines share nothing but the pool,
	// the sites and the schemas.
	w := walk{pool: in.pool, left: in.visits}
	w.share(in.root, p)
	// Objects like that are no API objects, or the type is one that the plan cannot
	// handle well. After a few of them the work is saved.
	if w.left <= 0 {
		in.endless.Add(1)
	}
	in.pool.found.Add(w.found)
	in.pool.missed.Add(w.missed)
}

// walk is the way through one object.
//
// left and depth bound the work for objects that contain themselves; a decoder does not
// make any, but the user's own type may.
type walk struct {
	pool          *Pool
	left          int  // parts to visit
	depth         int  // of the present part
	at            int  // position in the innermost slice
	bad           bool // what was hashed cannot be shared
	found, missed uint64
	slot          slice // of a part of the pool, to compare with
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

// share replaces the parts of the value at p.
func (w *walk) share(n *node, p unsafe.Pointer) {
	switch n.kind {
	case record:
		for i := range n.parts {
			f := &n.parts[i]
			w.share(f.node, unsafe.Add(p, f.offset))
		}
	case array:
		w.shareAll(n.elem, p, n.count)
	case text:
		s := (*string)(p)
		if shared := w.text(n, *s); unsafe.StringData(shared) != unsafe.StringData(*s) {
			*s = shared
		}
	case list:
		// Arrays of elements without a size have no memory of their own to share.
		if s := (*slice)(p); s.len > 0 && n.elem.size > 0 {
			w.part(n, p, uintptr(s.len)*n.elem.size)
		}
	case pointer:
		if *(*unsafe.Pointer)(p) != nil && n.elem.size > 0 {
			w.part(n, p, n.elem.size)
		}
	case textMap:
		if m := *(*map[string]string)(p); len(m) > 0 {
			w.part(n, p, uintptr(mapBytes(len(m), 32)))
		}
	case otherMap:
		if m := reflect.NewAt(n.typ, p).Elem(); m.Len() > 0 {
			w.part(n, p, uintptr(mapBytes(m.Len(), n.key.size+n.elem.size)))
		}
	case anyMap:
		if m := *(*map[string]any)(p); len(m) > 0 {
			w.part(n, p, uintptr(mapBytes(len(m), 32)))
		}
	case dynamic:
		if v, replaced := w.any(n.schema, *(*any)(p)); replaced {
			*(*any)(p) = v
		}
	default:
	}
}

// shareAll replaces the parts of count values that stand one after the other. at tells
// their positions apart, as the first container of a pod resembles the first one of the
// next.
func (w *walk) shareAll(n *node, p unsafe.Pointer, count int) {
	if n.flat || n.kind == opaque {
		return
	}
	outer := w.at
	for w.at = range count {
		w.share(n, unsafe.Add(p, uintptr(w.at)*n.size))
	}
	w.at = outer
}

// part replaces the part at p, or else those in it. The size is that of its own
// memory.
func (w *walk) part(n *node, p unsafe.Pointer, size uintptr) {
	if !n.site.enabled() {
		// Left alone for now, though the parts in it may repeat.
		w.inside(n, p)
		n.trim(p)
		return
	}
	last := n.site.recent(w.at)
	if w.replace(n, p, last.Load()) {
		w.found++
		n.site.found(size)
		return
	}
	w.bad = false
	// The hash covers all that is in the part. If nothing matches, the parts in it are
	// hashed again, each by itself: the price of finding the largest equal parts first.
	h := w.hash(n, p, n.salt)
	if w.bad {
		n.site.missed()
		w.inside(n, p)
		return
	}
	e := w.pool.find(h, n.id)
	if w.replace(n, p, e) {
		last.Store(e)
		w.found++
		n.site.found(size)
		return
	}
	w.missed++
	n.site.missed()
	w.inside(n, p)
	if e != nil || size >= worthAtOnce {
		// The parts in it have been replaced by now, so that what enters the pool refers
		// to the pool for its own parts, and does not keep copies alive.
		w.pool.add(h, n.id, n.settle(p), n.length(p))
		return
	}
	n.trim(p)
}

// replace replaces the part at p by that of the pool if they are equal.
func (w *walk) replace(n *node, p unsafe.Pointer, e *entry) bool {
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
	if n.kind == list {
		*(*slice)(p) = w.slot
	} else {
		*(*unsafe.Pointer)(p) = q
	}
	w.slot = slice{}
	return true
}

// length is that of the part at p, if it is a slice.
func (n *node) length(p unsafe.Pointer) int {
	if n.kind == list {
		return (*slice)(p).len
	}
	return 0
}

// settle returns the memory of the part at p, which is to be shared: an array
// without room for more.
func (n *node) settle(p unsafe.Pointer) unsafe.Pointer {
	// Whatever is unused would be kept by all objects that share the array.
	n.trimTo(p, 1)
	return *(*unsafe.Pointer)(p)
}

// worthTrimming is the unused memory of an array for which it is copied although
// it is not shared. Decoders let slices grow.
const worthTrimming = 128

// trim frees the unused memory of a part that is not shared, if it is much.
func (n *node) trim(p unsafe.Pointer) { n.trimTo(p, worthTrimming) }

func (n *node) trimTo(p unsafe.Pointer, worth uintptr) {
	if n.kind != list {
		return
	}
	if s := (*slice)(p); s.cap > s.len && uintptr(s.cap-s.len)*n.elem.size >= worth {
		exact := reflect.MakeSlice(n.typ, s.len, s.len)
		reflect.Copy(exact, reflect.NewAt(n.typ, p).Elem())
		*s = slice{exact.UnsafePointer(), s.len, s.len}
	}
}

// inside replaces the parts in the part at p.
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

// insideTextMap replaces the keys and elements of a map.
func (w *walk) insideTextMap(n *node, m map[string]string) {
	for k, v := range m {
		key, elem := w.text(n.key, k), w.text(n.elem, v)
		if unsafe.StringData(key) != unsafe.StringData(k) || unsafe.StringData(elem) != unsafe.StringData(v) {
			m[key] = elem
		}
	}
}

// insideOtherMap does so through reflection. An entry is written back only if a part in
// it was replaced.
func (w *walk) insideOtherMap(n *node, p unsafe.Pointer) {
	m := reflect.NewAt(n.typ, p).Elem()
	s := n.borrow(m)
	for s.next() {
		before := w.found
		w.share(n.key, s.keyAt)
		w.share(n.elem, s.elemAt)
		if w.found != before {
			m.SetMapIndex(s.key, s.elem)
		}
	}
	n.giveBack(s)
}

// text returns s or an equal string.
func (w *walk) text(n *node, s string) string {
	if len(s) <= 1 || !n.site.enabled() { // strings of one byte are the runtime's
		return s
	}
	last := n.site.recent(w.at)
	// Comparing with the last one is a comparison of lengths first, and cheap if it
	// fails.
	if shared := last.Load().text(n.id); shared == s {
		w.found++
		n.site.found(uintptr(len(s)))
		return shared
	}
	h := w.hashText(s, n.salt)
	e := w.pool.find(h, n.id)
	if shared := e.text(n.id); shared == s {
		last.Store(e)
		w.found++
		n.site.found(uintptr(len(s)))
		return shared
	}
	w.missed++
	n.site.missed()
	if e != nil || len(s) >= worthAtOnce {
		s = strings.Clone(s) // it may be part of a larger one
		w.pool.add(h, n.id, unsafe.Pointer(unsafe.StringData(s)), len(s))
	}
	return s
}

// text returns the string that is the part of an entry, or "".
func (e *entry) text(typ uint32) string {
	if p := e.get(typ); p != nil {
		return unsafe.String((*byte)(p), int(e.n))
	}
	return ""
}
