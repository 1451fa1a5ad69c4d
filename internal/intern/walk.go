package intern

import (
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
	"weak"
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
	open    bool    // objects may have any fields
	fields  *schema // of objects that are maps, as unstructured ones
	visits  int     // maxVisits, but in tests
	texts   *texts
	endless atomic.Int32
	workers []worker
}

// worker is a walk that one goroutine uses at a time. mu is held from the beginning of
// an object to its end. It is a lock and not a pool, so that what a worker has learned
// of the sites is not lost at a garbage collection, as it is in a sync.Pool.
type worker struct {
	mu sync.Mutex
	walk
	kept int // bytes of the texts in locals
}

// NewInterner returns an interner of what pointers of the type t point to. One of
// another type than a pointer to a struct interns nothing.
func NewInterner(pool *Pool, t reflect.Type) *Interner {
	// As many goroutines decode as there are cores, and one more takes what they have.
	in := &Interner{pool: pool, visits: maxVisits, workers: make([]worker, runtime.GOMAXPROCS(0)+1)}
	if t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct {
		pl := &planner{pool: pool, tree: newTree(pool), open: map[reflect.Type]*node{}}
		in.root = pl.plan(t.Elem())
		in.open = pl.dynamic
		if parts := in.root.parts; len(parts) == 1 && parts[0].node.kind == anyMap {
			in.fields, in.texts = parts[0].node.schema, &texts{pool: weak.Make(pool)}
			runtime.AddCleanup(in, (*texts).gone, in.texts)
		}
	}
	return in
}

// Interner returns an interner of what pointers of the type t point to. Those of one Go
// type have the same one, so that its plan is made once, and what repeats is learned
// once, however many namespaces are read one by one. Types that hold any object, such
// as unstructured ones, say nothing about what is in them: each call makes another.
func (p *Pool) Interner(t reflect.Type) *Interner {
	if in, ok := p.interners.Load(t); ok {
		return in.(*Interner) //nolint:forcetypeassert // by the line below
	}
	in := NewInterner(p, t)
	if in.open {
		return in
	}
	first, _ := p.interners.LoadOrStore(t, in)
	return first.(*Interner) //nolint:forcetypeassert // by the line above
}

// Intern replaces parts of the object at p by equal ones of the pool. No other
// goroutine may use the object yet, and nobody may modify it afterwards.
func (in *Interner) Intern(p unsafe.Pointer) {
	if in.root == nil || p == nil || in.endless.Load() >= maxEndless {
		return
	}
	w := in.worker()
	defer w.mu.Unlock()
	// From here on the worker is this goroutine's; the mutex is held until the object
	// is done.
	w.begin(in.pool, in.visits)
	w.share(in.root, p)
	in.settle(&w.walk)
}

// settle ends the way through an object.
func (in *Interner) settle(w *walk) {
	w.slot = slice{} // a worker that waits for work must not keep a part
	// Objects like that are no API objects, or the type is one that the plan cannot
	// handle well. After a few of them the work is saved.
	if w.left <= 0 {
		in.endless.Add(1)
	}
	in.pool.found.Add(w.found)
	in.pool.missed.Add(w.missed)
}

// worker returns a worker that no other goroutine uses, and locks it.
func (in *Interner) worker() *worker {
	if w := in.freeWorker(); w != nil {
		return w
	}
	// More goroutines than cores: they take turns with the first worker.
	w := &in.workers[0]
	w.mu.Lock()
	return w
}

// freeWorker is worker, but returns nil rather than wait.
func (in *Interner) freeWorker() *worker {
	// From the first one on: a goroutine that is alone always gets the same, with all
	// that it has learned.
	for i := range in.workers {
		if w := &in.workers[i]; w.mu.TryLock() {
			return w
		}
	}
	return nil
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
	// locals is what this worker knows of each site, from one object to the next. The
	// walk and what it points to hold parts by weak pointers only.
	locals []*local
}

// begin makes the walk ready for another object.
func (w *walk) begin(pool *Pool, visits int) {
	*w = walk{pool: pool, left: visits, locals: w.locals}
}

// local returns what this worker knows of a site. Sites have small numbers without
// gaps, so a slice is enough to find them.
func (w *walk) local(s *site) *local {
	if s.index < len(w.locals) {
		if l := w.locals[s.index]; l != nil {
			return l
		}
	} else {
		w.locals = append(w.locals, make([]*local, s.index+1-len(w.locals))...)
	}
	// Most places in a type are empty in all objects, so only those seen have one.
	l := &local{}
	w.locals[s.index] = l
	return l
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
func (w *walk) part(n *node, p unsafe.Pointer, size uintptr) {
	l := w.local(n.site)
	if !l.enabled(n.site) {
		// Left alone for now, though the parts in it may repeat.
		l.leave(1)
		w.inside(n, p)
		n.trim(p)
		return
	}
	// The object before often has the very same part in this place. One comparison finds
	// that out, without a hash.
	last := l.recent(w.at)
	if w.replace(n, p, *last) {
		w.found++
		l.found(n.site, size)
		return
	}
	w.bad = false
	// The hash covers all that is in the part. If nothing matches, the parts in it are
	// hashed again, each by itself: the price of finding the largest equal parts first.
	h := w.hash(n, p, n.salt)
	if w.bad {
		l.missed(n.site)
		w.inside(n, p)
		return
	}
	// find also notes a hash that is new. So a part enters the pool when it comes for the
	// second time, and what is unique never takes an entry.
	e := w.pool.find(h, n.id)
	if w.replace(n, p, e) {
		*last = e
		w.found++
		l.found(n.site, size)
		return
	}
	w.missed++
	l.missed(n.site)
	w.inside(n, p)
	if e != nil || size >= worthAtOnce {
		// The parts in it have been replaced by now, so that what enters the pool refers
		// to the pool for its own parts, and does not keep copies alive.
		w.pool.add(h, n.id, n.settle(p), n.length(p))
		return
	}
	n.trim(p)
}

// replace replaces the part at p by that of the pool if they are equal. The hash has
// only selected e: equality is what decides.
func (w *walk) replace(n *node, p unsafe.Pointer, e *entry) bool {
	if e == nil || int(e.n) != n.length(p) {
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
	if n.kind == list {
		*(*slice)(p) = w.slot
	} else {
		*(*unsafe.Pointer)(p) = q
	}
	w.slot = slice{}
	return true
}

// length is that of the part at p, if it is a slice. It is part of an entry, because
// the memory of an array does not say how long the slice is.
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

// trimTo copies the array of a slice whose unused memory is worth at least so many
// bytes. All else that is a part has no room to spare. The copy is made by reflection,
// since the garbage collector has to know the type of the new array.
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

// insideTextMap replaces the keys and elements of a map.
func (w *walk) insideTextMap(n *node, m map[string]string) {
	keys, elems := w.local(n.key.site), w.local(n.elem.site)
	if all := int64(len(m)); keys.paused(n.key.site, all) && elems.paused(n.elem.site, all) {
		// Nothing in it repeats, as in most ConfigMaps.
		keys.leave(all)
		elems.leave(all)
		return
	}
	for k, v := range m {
		// Keys and elements are sites apart: those of labels repeat, and those of a
		// checksum do not.
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
		// Writing an entry back hashes its key again, so only those that have changed
		// are.
		before := w.found
		w.share(n.key, s.keyAt)
		w.share(n.elem, s.elemAt)
		if w.found != before {
			m.SetMapIndex(s.key, s.elem)
		}
	}
	n.giveBack(s)
}

// text returns s or an equal string. It does for strings, the most common parts by far,
// what part does: without the switch over kinds, and with a cheaper comparison.
func (w *walk) text(n *node, s string) string {
	if len(s) <= 1 { // strings of one byte are the runtime's
		return s
	}
	l := w.local(n.site)
	if !l.enabled(n.site) {
		l.leave(1)
		return s
	}
	last := l.recent(w.at)
	if shared := (*last).text(n.id, len(s)); shared == s {
		w.found++
		l.found(n.site, uintptr(len(s)))
		return shared
	}
	// A string has no parts and cannot be bad, so there is nothing to look at inside.
	h := w.hashText(s, n.salt)
	e := w.pool.find(h, n.id)
	if shared := e.text(n.id, len(s)); shared == s {
		*last = e
		w.found++
		l.found(n.site, uintptr(len(s)))
		return shared
	}
	w.missed++
	l.missed(n.site)
	if e != nil || len(s) >= worthAtOnce {
		s = strings.Clone(s) // it may be part of a larger one
		w.pool.add(h, n.id, unsafe.Pointer(unsafe.StringData(s)), len(s))
	}
	return s
}

// text returns the string that is the part of an entry, or "". One of another length
// than n is not the one that is looked for: that is known without the part, whose weak
// pointer costs more to follow than short strings to compare.
func (e *entry) text(typ uint32, n int) string {
	if e == nil || int(e.n) != n {
		return ""
	}
	if p := e.get(typ); p != nil {
		return unsafe.String((*byte)(p), n)
	}
	return ""
}
