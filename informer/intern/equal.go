package intern

import (
	"bytes"
	"math"
	"reflect"
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
			equalMaps(*(*map[string]string)(p), *(*map[string]string)(q), equalTexts)
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
		at := uintptr(i) * n.size
		if !w.equal(n, unsafe.Add(p, at), unsafe.Add(q, at)) {
			return false
		}
	}
	return true
}

// sameMemory compares size bytes. The sizes of the most common fields are compared as
// one number, without a call.
func sameMemory(p, q unsafe.Pointer, size uintptr) bool {
	switch size {
	case 0:
		return true
	case 1:
		return *(*uint8)(p) == *(*uint8)(q)
	case 4:
		return *(*uint32)(p) == *(*uint32)(q)
	case 8:
		return *(*uint64)(p) == *(*uint64)(q)
	}
	return bytes.Equal(unsafe.Slice((*byte)(p), size), unsafe.Slice((*byte)(q), size))
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

func equalTexts(a, b string) bool { return a == b }

// equalAny compares what JSON decodes to.
func equalAny(a, b any) bool {
	// The words of the interfaces first: an int64 never equals a float64, and one
	// memory equals itself. Comparing the interfaces themselves would panic for maps.
	if s, t := (*words)(unsafe.Pointer(&a)), (*words)(unsafe.Pointer(&b)); s.typ != t.typ {
		return false
	} else if s.data == t.data {
		return true
	}
	switch x := a.(type) {
	case string:
		return x == b.(string)
	case bool:
		return x == b.(bool)
	case int64:
		return x == b.(int64)
	case float64:
		// By their bits: NaN is itself here, and 0 and -0 are encoded differently.
		return math.Float64bits(x) == math.Float64bits(b.(float64))
	case map[string]any:
		return equalMaps(x, b.(map[string]any), equalAny)
	case []any:
		y := b.([]any)
		if len(x) != len(y) || (x == nil) != (y == nil) {
			return false
		}
		for i := range x {
			if !equalAny(x[i], y[i]) {
				return false
			}
		}
		return true
	default:
		return false
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
