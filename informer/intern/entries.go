package intern

import (
	"reflect"
	"unsafe"
)

// entries goes over the entries of a map through reflection.
//
// Plans work on memory, and reflection does not give out the addresses of a map's
// entries. So each entry is copied to a place that has one, which is used again for the
// next one. There is one per map that is being walked, as a map may hold maps.
type entries struct {
	iter          reflect.MapIter
	key, elem     reflect.Value // settable
	keyAt, elemAt unsafe.Pointer
}

// borrow returns the entries of m. The caller gives them back, also if it stops before the
// end of the map.
func (n *node) borrow(m reflect.Value) *entries {
	var s *entries
	if last := len(n.free) - 1; last >= 0 {
		s, n.free = n.free[last], n.free[:last]
	} else {
		k, e := reflect.New(n.typ.Key()), reflect.New(n.typ.Elem())
		s = &entries{key: k.Elem(), elem: e.Elem(), keyAt: k.UnsafePointer(), elemAt: e.UnsafePointer()}
	}
	s.iter.Reset(m)
	return s
}

// giveBack takes s back. It must not keep what it has seen: an object that was deleted
// long ago would be kept alive.
func (n *node) giveBack(s *entries) {
	s.iter.Reset(reflect.Value{})
	s.key.SetZero()
	s.elem.SetZero()
	n.free = append(n.free, s)
}

// next copies the next entry. SetIterKey and SetIterValue copy without allocating, unlike
// Key and Value.
func (s *entries) next() bool {
	if !s.iter.Next() {
		return false
	}
	s.key.SetIterKey(&s.iter)
	s.elem.SetIterValue(&s.iter)
	return true
}
