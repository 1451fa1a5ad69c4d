package intern

import (
	"math"
	"reflect"
	"slices"
	"unsafe"
)

// equal compares the values at p and q with all that they contain. Both are
// values that could be hashed.
//
// It recurses without counting visits: it goes no deeper than the part of the pool,
// which has been hashed and is therefore finite.
//
// It must agree with hash: values that are equal here have equal hashes.
func (w *walk) equal(n *node, p, q unsafe.Pointer) bool {
	switch n.kind {
	case plain:
		return sameMemory(p, q, n.size)
	case text:
		return *(*string)(p) == *(*string)(q)
	case record:
		for i := range n.fields {
			f := &n.fields[i]
			if !w.equal(f.node, unsafe.Add(p, f.offset), unsafe.Add(q, f.offset)) {
				return false
			}
		}
		return true
	case list:
		s, t := (*slice)(p), (*slice)(q)
		switch {
		// nil and empty are encoded differently, as null and [].
		case s.len != t.len || (s.data == nil) != (t.data == nil):
			return false
		case s.data == t.data:
			// The lengths are equal, too. A part that is shared already is recognised
			// without a look at its elements.
			return true
		case n.elem.flat:
			return sameMemory(s.data, t.data, n.elem.size*uintptr(s.len))
		}
		return w.equalAll(n.elem, s.data, t.data, s.len)
	case pointer:
		// Equal addresses are equal values, whatever is behind them.
		to, of := *(*unsafe.Pointer)(p), *(*unsafe.Pointer)(q)
		return to == of || to != nil && of != nil && w.equal(n.elem, to, of)
	// A map is a pointer to its memory, so equal pointers are one map.
	case textMap:
		return *(*unsafe.Pointer)(p) == *(*unsafe.Pointer)(q) ||
			equalMaps(*(*map[string]string)(p), *(*map[string]string)(q), func(s, t string) bool { return s == t })
	case anyMap:
		return *(*unsafe.Pointer)(p) == *(*unsafe.Pointer)(q) ||
			equalMaps(*(*map[string]any)(p), *(*map[string]any)(q), equalAny)
	case otherMap:
		return *(*unsafe.Pointer)(p) == *(*unsafe.Pointer)(q) || w.equalOtherMaps(n, p, q)
	default:
		return false
	}
}

// equalAll compares count values that stand one after the other. The pointers are into
// one array, so unsafe.Add stays within one allocation.
func (w *walk) equalAll(n *node, p, q unsafe.Pointer, count int) bool {
	for i := range count {
		if !w.equal(n, unsafe.Add(p, uintptr(i)*n.size), unsafe.Add(q, uintptr(i)*n.size)) {
			return false
		}
	}
	return true
}

// sameMemory compares size bytes.
func sameMemory(p, q unsafe.Pointer, size uintptr) bool {
	return unsafe.String((*byte)(p), size) == unsafe.String((*byte)(q), size)
}

// equalMaps compares two maps. nil and empty are different: an encoder may write one
// of them and not the other.
func equalMaps[V any](a, b map[string]V, equal func(a, b V) bool) bool {
	if len(a) != len(b) || (a == nil) != (b == nil) {
		return false
	}
	for k, v := range a {
		if u, ok := b[k]; !ok || !equal(v, u) {
			return false
		}
	}
	return true
}

// equalAny compares what JSON decodes to, by what is in the pool: comparing interfaces
// that hold anything else might panic.
func equalAny(a, b any) bool {
	switch y := b.(type) {
	case float64:
		// By their bits: NaN is itself here, and 0 and -0 are encoded differently.
		x, ok := a.(float64)
		return ok && math.Float64bits(x) == math.Float64bits(y)
	case map[string]any:
		x, ok := a.(map[string]any)
		return ok && equalMaps(x, y, equalAny)
	case []any:
		x, ok := a.([]any)
		return ok && (x == nil) == (y == nil) && slices.EqualFunc(x, y, equalAny)
	default:
		return a == b
	}
}

// equalOtherMaps compares maps through reflection. Such maps are rare in API objects
// (resource lists, for example), hence no code per type.
func (w *walk) equalOtherMaps(n *node, p, q unsafe.Pointer) bool {
	a, b := reflect.NewAt(n.typ, p).Elem(), reflect.NewAt(n.typ, q).Elem()
	// With equal lengths it is enough that each entry of one is in the other.
	if a.Len() != b.Len() || a.IsNil() != b.IsNil() {
		return false
	}
	s, t := n.borrow(a), n.borrow(b)
	defer n.giveBack(s)
	defer n.giveBack(t)
	for s.next() {
		other := b.MapIndex(s.key)
		if !other.IsValid() {
			return false
		}
		t.elem.Set(other) // where it has an address
		if !w.equal(n.elem, s.elemAt, t.elemAt) {
			return false
		}
	}
	return true
}
