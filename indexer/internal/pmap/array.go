package pmap

import (
	"iter"
	"math/bits"
)

// Array is one immutable version of a map from small numbers to values. The zero value is
// empty. Copying an Array keeps the version.
type Array[V any] struct {
	root  *arrayNode[V] // nil if empty
	shift uint          // where in a number the bits begin that the root uses
	n     int
}

// arrayNode is a leaf, with the values of eight neighbouring numbers, or has the nodes of the next
// level. The slots are in the same allocation.
type arrayNode[V any] struct {
	edit Edit
	used uint8               // bit i: there is something in slot i
	full uint8               // bit i: there is no free number in or below slot i
	kids *[fan]*arrayNode[V] // nil in a leaf
	vals *[fan]V             // nil above the leaves
}

// allFull is the mask of a node without a free number.
const allFull = 1<<fan - 1

// newArrayNode returns an empty leaf if shift is 0, else an empty node above the leaves.
func newArrayNode[V any](e Edit, shift uint) *arrayNode[V] {
	if shift == 0 {
		leaf := &struct {
			arrayNode[V]
			slots [fan]V
		}{arrayNode: arrayNode[V]{edit: e}}
		leaf.vals = &leaf.slots
		return &leaf.arrayNode
	}
	inner := &struct {
		arrayNode[V]
		slots [fan]*arrayNode[V]
	}{arrayNode: arrayNode[V]{edit: e}}
	inner.kids = &inner.slots
	return &inner.arrayNode
}

// Len returns the number of values.
func (a *Array[V]) Len() int { return a.n }

// Get returns the value with that number, or nil. It must not be changed.
func (a *Array[V]) Get(i uint32) *V {
	if a.root == nil || !a.reaches(i) {
		return nil
	}
	n := a.root
	for shift := a.shift; shift > 0; shift -= slotBits {
		if n = n.kids[slotOf(i, shift)]; n == nil {
			return nil
		}
	}
	return n.value(i & slotMask)
}

// reaches reports whether the tree is high enough for that number.
func (a *Array[V]) reaches(i uint32) bool { return i>>(a.shift&31) < fan }

// slotOf returns the slot for a number, or a hash, in a node whose bits begin at shift. The mask of
// the shift changes nothing, and saves the compiler a branch.
func slotOf(i uint32, shift uint) uint32 { return i >> (shift & 31) & slotMask }

// value returns the value in a slot of a leaf, which may be nil, or nil if there is none.
func (n *arrayNode[V]) value(slot uint32) *V {
	if n == nil || n.used>>slot&1 == 0 {
		return nil
	}
	return &n.vals[slot]
}

// kid returns the node in a slot of a node above the leaves, which may be nil.
func (n *arrayNode[V]) kid(slot uint32) *arrayNode[V] {
	if n == nil {
		return nil
	}
	return n.kids[slot]
}

// Set stores v under the number i.
func (a *Array[V]) Set(e Edit, i uint32, v V) {
	for !a.reaches(i) {
		a.raise(e)
	}
	var added bool
	if a.root, added = a.root.set(e, a.shift, i, v); added {
		a.n++
	}
}

// raise adds a level, whose first slot has what there was.
func (a *Array[V]) raise(e Edit) {
	a.shift += slotBits
	if a.root == nil {
		return
	}
	root := newArrayNode[V](e, a.shift)
	root.kids[0], root.used = a.root, 1
	if a.root.full == allFull {
		root.full = 1
	}
	a.root = root
}

// set returns the node with v under the number i: n itself if it belongs to the batch, else a
// copy. n may be nil.
func (n *arrayNode[V]) set(e Edit, shift uint, i uint32, v V) (_ *arrayNode[V], added bool) {
	n = n.own(e, shift)
	slot := slotOf(i, shift)
	if shift == 0 {
		added = n.used>>slot&1 == 0
		n.used |= 1 << slot
		n.full = n.used
		n.vals[slot] = v
		return n, added
	}
	kid, added := n.kids[slot].set(e, shift-slotBits, i, v)
	n.kids[slot] = kid
	n.used |= 1 << slot
	if kid.full == allFull {
		n.full |= 1 << slot
	}
	return n, added
}

// own returns n if it belongs to the batch, else a copy that does. If n is nil, that is empty.
func (n *arrayNode[V]) own(e Edit, shift uint) *arrayNode[V] {
	if n != nil && n.edit == e {
		return n
	}
	c := newArrayNode[V](e, shift)
	if n == nil {
		return c
	}
	c.used, c.full = n.used, n.full
	if shift == 0 {
		*c.vals = *n.vals
	} else {
		*c.kids = *n.kids
	}
	return c
}

// Delete removes the value with that number, and reports whether there was one.
func (a *Array[V]) Delete(e Edit, i uint32) bool {
	if a.Get(i) == nil {
		return false
	}
	a.n--
	if a.root = a.root.delete(e, a.shift, i); a.root == nil {
		a.shift = 0
		return true
	}
	// A level goes when only its first slot is in use.
	for a.shift > 0 && a.root.used == 1 {
		a.root = a.root.kids[0]
		a.shift -= slotBits
	}
	return true
}

// delete returns the node without the number i, which it has, or nil if nothing is left.
func (n *arrayNode[V]) delete(e Edit, shift uint, i uint32) *arrayNode[V] {
	slot := slotOf(i, shift)
	if shift == 0 && n.used == 1<<slot {
		return nil
	}
	n = n.own(e, shift)
	n.full &^= 1 << slot
	if shift == 0 {
		n.used = n.full
		var zero V
		n.vals[slot] = zero // which else stays in memory
		return n
	}
	if n.kids[slot] = n.kids[slot].delete(e, shift-slotBits, i); n.kids[slot] == nil {
		n.used &^= 1 << slot
	}
	if n.used == 0 {
		return nil
	}
	return n
}

// Free returns the lowest number without a value.
func (a *Array[V]) Free() uint32 {
	if a.root == nil {
		return 0
	}
	if a.root.full == allFull {
		return fan << a.shift
	}
	i := uint32(0)
	for n, shift := a.root, a.shift; n != nil; shift -= slotBits {
		slot := uint32(bits.TrailingZeros8(^n.full))
		i |= slot << shift
		if shift == 0 {
			break
		}
		n = n.kids[slot]
	}
	return i
}

// All iterates over the numbers and their values, in ascending order. The values must not be changed.
func (a *Array[V]) All() iter.Seq2[uint32, *V] {
	root, shift := a.root, a.shift
	return func(yield func(uint32, *V) bool) {
		if root != nil {
			root.each(shift, 0, yield)
		}
	}
}

func (n *arrayNode[V]) each(shift uint, base uint32, yield func(uint32, *V) bool) bool {
	for m := n.used; m != 0; m &= m - 1 {
		slot := uint32(bits.TrailingZeros8(m))
		i := base | slot<<shift
		if shift == 0 {
			if !yield(i, &n.vals[slot]) {
				return false
			}
		} else if !n.kids[slot].each(shift-slotBits, i, yield) {
			return false
		}
	}
	return true
}

// Diff iterates over the numbers whose values differ between two versions of an Array, in
// ascending order. A value is nil where there is none. Parts that the versions share are not
// visited; in others, same decides.
func Diff[V any](a, b Array[V], same func(old, new *V) bool, yield func(i uint32, old, new *V) bool) {
	// Both get the same height. raise changes these copies only.
	for a.shift < b.shift {
		a.raise(0)
	}
	for b.shift < a.shift {
		b.raise(0)
	}
	diff(a.root, b.root, a.shift, 0, same, yield)
}

// diff compares two nodes at the same place, each of which may be nil. It reports whether yield
// never returned false.
func diff[V any](old, new *arrayNode[V], shift uint, base uint32, same func(old, new *V) bool, yield func(i uint32, old, new *V) bool) bool {
	if old == new { // equal pointers are equal trees: a published node never changes
		return true
	}
	for slot := range uint32(fan) {
		i := base | slot<<shift
		if shift > 0 {
			if !diff(old.kid(slot), new.kid(slot), shift-slotBits, i, same, yield) {
				return false
			}
			continue
		}
		x, y := old.value(slot), new.value(slot)
		if x == nil && y == nil || x != nil && y != nil && same(x, y) {
			continue
		}
		if !yield(i, x, y) {
			return false
		}
	}
	return true
}
