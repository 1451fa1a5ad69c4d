package intern

import (
	"reflect"
	"sort"
	"unsafe"
)

// classes are the sizes of memory that Go's allocator gives out, in bytes.
//
// They are those of the runtime (sizeclasses.go), which no package exports. Estimates
// of memory depend on them, nothing else.
var classes = []int{
	8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256, 288, 320, 352, 384, 416, 448, 480, 512,
	576, 640, 704, 768, 896, 1024, 1152, 1280, 1408, 1536, 1792, 2048, 2304, 2688, 3072, 3200, 3456, 4096, 4864, 5120, 5376,
	6144, 6528, 6784, 6912, 8192, 9472, 9728, 10240, 10880, 12288, 13568, 14336, 16384, 18432, 19072, 20480, 21760, 24576,
	27264, 28672, 32768,
}

// smallClasses has the class of small allocations, by their size in words. Most
// allocations of an object are that small, and this saves a search for each.
var smallClasses = func() (by [65]int) {
	for i := range by {
		by[i] = classes[sort.SearchInts(classes, 8*i)]
	}
	by[0] = 0
	return by
}()

// allocated returns what an allocation of n bytes takes. Above the largest class the
// allocator gives out whole pages.
func allocated(n int) int {
	const page = 8192
	if words := (n + 7) / 8; words < len(smallClasses) {
		return smallClasses[words]
	}
	i := sort.SearchInts(classes, n)
	if i == len(classes) {
		return (n + page - 1) / page * page
	}
	return classes[i]
}

// textBytes estimates the memory of a string of n bytes. Short ones share a block. The
// tiny allocator of the runtime packs values below 16 bytes that hold no pointers.
func textBytes(n int) int {
	if n < 16 {
		return n
	}
	return allocated(n)
}

// mapBytes estimates the memory of a map of n entries, whose keys and elements are of
// that size together. A map of up to eight entries is a single group. Larger ones are
// tables of groups, with a control byte for each slot.
func mapBytes(n int, size uintptr) int {
	const header, group, control = 48, 8, 8
	if n == 0 {
		return header
	}
	one := control + group*int(size)
	if n <= group {
		return header + allocated(one)
	}
	groups := 1
	// Go's maps (Swiss tables, since 1.24) are at most 7/8 full and double in size.
	for groups*group*7/8 < n {
		groups *= 2
	}
	return header + 48 + allocated(groups*one)
}

// Sizer estimates the memory of objects of one type. It is for one goroutine.
//
// It follows the same plan as the interner, so both see the same parts.
//
// Its estimates are what the allocator gives out, not what the values need. A part to
// which an object refers twice counts twice.
type Sizer struct {
	root *node
	// pooled are the parts of the pool.
	pooled   map[unsafe.Pointer]struct{}
	all, own int
	// While it is above 0, everything belongs to a part of the pool and counts only for
	// all.
	within int // parts of the pool that the present one is in
	left   int
	depth  int
}

// NewSizer returns a sizer of what pointers of the type t point to. The pool, if
// it is not nil, is that of the objects; its parts are read once.
func NewSizer(pool *Pool, t reflect.Type) *Sizer {
	s := &Sizer{pooled: map[unsafe.Pointer]struct{}{}}
	if pool != nil {
		pool.each(func(part unsafe.Pointer, _ *entry) { s.pooled[part] = struct{}{} })
	}
	// A plan is not changed by sizing, but it belongs to some pool.
	s.root = NewInterner(&Pool{types: map[typeKey]uint32{}}, t).root
	return s
}

// Size estimates the bytes that the object at p takes: all of it, as if nothing
// was shared, and its own, without parts of the pool. What is opaque counts with
// its own memory only.
func (s *Sizer) Size(p unsafe.Pointer) (all, own int) {
	if s.root == nil || p == nil {
		return 0, 0
	}
	s.all, s.own, s.within, s.left, s.depth = 0, 0, 0, maxVisits, 0
	s.add(allocated(int(s.root.size)))
	s.value(s.root, p)
	return s.all, s.own
}

// add counts n bytes. Within a part of the pool they are nobody's own.
func (s *Sizer) add(n int) {
	s.all += n
	if s.within == 0 {
		s.own += n
	}
}

// part counts a part of a size, and what inside counts.
func (s *Sizer) part(part unsafe.Pointer, size int, inside func()) {
	s.left--
	// A value that contains itself would otherwise be counted without end.
	if s.left < 0 || s.depth >= maxDepth {
		return
	}
	// By address: a part is in the pool, or is a copy that looks like it and is the
	// object's own.
	_, pooled := s.pooled[part]
	if pooled {
		s.within++
	}
	s.add(size)
	if inside != nil {
		s.depth++
		inside()
		s.depth--
	}
	if pooled {
		s.within--
	}
}

// value counts the parts in the value at p. The memory of the value itself is counted
// by what holds it.
func (s *Sizer) value(n *node, p unsafe.Pointer) {
	switch n.kind {
	case record:
		for _, f := range n.parts {
			s.value(f.node, unsafe.Add(p, f.offset))
		}
	case array:
		s.values(n.elem, p, n.count)
	case text:
		s.text(*(*string)(p))
	case list:
		if l := (*slice)(p); l.cap > 0 && n.elem.size > 0 {
			s.part(l.data, allocated(l.cap*int(n.elem.size)), func() { s.values(n.elem, l.data, l.len) })
		}
	case pointer:
		if to := *(*unsafe.Pointer)(p); to != nil && n.elem.size > 0 {
			s.part(to, allocated(int(n.elem.size)), func() { s.value(n.elem, to) })
		}
	case anyMap:
		s.any(*(*map[string]any)(p))
	case textMap, otherMap:
		if m := reflect.NewAt(n.typ, p).Elem(); !m.IsNil() {
			s.part(m.UnsafePointer(), mapBytes(m.Len(), m.Type().Key().Size()+m.Type().Elem().Size()), func() { s.entries(n, m) })
		}
	case dynamic:
		s.any(*(*any)(p))
	default:
	}
}

// values counts the parts in count values that stand one after the other.
func (s *Sizer) values(n *node, p unsafe.Pointer, count int) {
	if n.flat {
		return
	}
	for i := range count {
		s.value(n, unsafe.Add(p, uintptr(i)*n.size))
	}
}

// text counts a string. Those of one byte are the runtime's and take no memory.
func (s *Sizer) text(t string) {
	if len(t) > 1 {
		s.part(unsafe.Pointer(unsafe.StringData(t)), textBytes(len(t)), nil)
	}
}

// entries counts the keys and elements of a map. They are copied first, because the
// memory of a map's entries has no address that reflection gives out.
func (s *Sizer) entries(n *node, m reflect.Value) {
	for iter := m.MapRange(); iter.Next(); {
		k, e := reflect.New(n.typ.Key()), reflect.New(n.typ.Elem())
		k.Elem().Set(iter.Key())
		e.Elem().Set(iter.Value())
		s.value(n.key, k.UnsafePointer())
		s.value(n.elem, e.UnsafePointer())
	}
}

// any counts what JSON decodes to. An interface holds an address, so a number in it has
// an allocation of its own.
func (s *Sizer) any(v any) {
	data := (*words)(unsafe.Pointer(&v)).data
	switch x := v.(type) {
	case string:
		if x != "" {
			s.part(data, int(unsafe.Sizeof(x)), func() { s.text(x) })
		}
	case int64:
		if uint64(x) > 255 { // the others are the runtime's
			s.add(8)
		}
	case float64:
		s.add(8)
	case []any:
		s.part(data, int(unsafe.Sizeof(x))+allocated(cap(x)*int(unsafe.Sizeof(v))), func() {
			for _, e := range x {
				s.any(e)
			}
		})
	case map[string]any:
		if x == nil {
			return
		}
		s.part(data, mapBytes(len(x), 32), func() {
			for k, e := range x {
				s.text(k)
				s.any(e)
			}
		})
	}
}

// each calls f for each part of the pool that is still there. f is called with the lock
// of a shard held, and must not use the pool.
func (p *Pool) each(f func(part unsafe.Pointer, e *entry)) {
	for i := range p.shards {
		s := &p.shards[i]
		s.mu.Lock()
		for _, e := range s.entries {
			if part := unsafe.Pointer(e.part.Value()); part != nil {
				f(part, e)
			}
		}
		s.mu.Unlock()
	}
}

// PartsBytes estimates the memory of the parts of the pool. It takes a time in
// proportion to the number of parts, and locks one shard at a time.
func (p *Pool) PartsBytes() int {
	p.mu.Lock()
	types := make(map[uint32]typeKey, len(p.types))
	for k, id := range p.types {
		types[id] = k
	}
	p.mu.Unlock()
	total := 0
	p.each(func(part unsafe.Pointer, e *entry) { total += partBytes(types[e.typ], part, int(e.n)) })
	return total
}

// partBytes estimates the memory of a part, without those in it.
func partBytes(k typeKey, part unsafe.Pointer, n int) int {
	switch k.kind {
	case text:
		return textBytes(n)
	case list:
		return allocated(n * int(k.typ.Size()))
	case pointer:
		return allocated(int(k.typ.Size()))
	case dynamic:
		if k.typ.Kind() == reflect.String {
			return 16 + textBytes(len(*(*string)(part)))
		}
		return 24 + allocated(len(*(*[]any)(part))*16)
	default:
		m := reflect.NewAt(k.typ, unsafe.Pointer(&part)).Elem()
		return mapBytes(m.Len(), k.typ.Key().Size()+k.typ.Elem().Size())
	}
}
