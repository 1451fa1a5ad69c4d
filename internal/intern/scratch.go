package intern

import (
	"reflect"
	"sync"
	"unsafe"
)

// scratch is where the entries of a map are looked at, one by one.
//
// Plans work on memory, and reflection does not give out the addresses of a map's
// entries. So each entry is copied to a place that has one.
//
// There is one per map that is being walked, as a map may hold maps.
type scratch struct {
	iter          reflect.MapIter
	key, elem     reflect.Value // settable
	keyAt, elemAt unsafe.Pointer
}

// newScratch returns a pool of them for maps of the type t, since an object can have
// many such maps, and several goroutines decode.
func newScratch(t reflect.Type) *sync.Pool {
	return &sync.Pool{New: func() any {
		k, e := reflect.New(t.Key()), reflect.New(t.Elem())
		return &scratch{key: k.Elem(), elem: e.Elem(), keyAt: k.UnsafePointer(), elemAt: e.UnsafePointer()}
	}}
}

// borrow returns a scratch for the entries of m. The caller gives it back, also if it
// stops before the end of the map.
func (n *node) borrow(m reflect.Value) *scratch {
	s := n.scratch.Get().(*scratch)
	s.iter.Reset(m)
	return s
}

// giveBack takes a scratch back. It must not keep what it has seen. A scratch in the
// pool would otherwise keep an object alive that was deleted long ago.
func (n *node) giveBack(s *scratch) {
	s.iter.Reset(reflect.Value{})
	s.key.SetZero()
	s.elem.SetZero()
	n.scratch.Put(s)
}

// next copies the next entry to the scratch. SetIterKey and SetIterValue copy without
// allocating, unlike Key and Value.
func (s *scratch) next() bool {
	if !s.iter.Next() {
		return false
	}
	s.key.SetIterKey(&s.iter)
	s.elem.SetIterValue(&s.iter)
	return true
}
