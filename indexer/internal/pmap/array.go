package pmap

import (
	"iter"
	"math/bits"
)

// Array is one immutable version of a map from small numbers to values. The zero value is
// empty. Copying an Array keeps the version.
type Array[V any] struct {
	root  *branch[V] // nil if empty
	shift uint       // where in a number the bits begin that the root uses; 0 before there is one
	n     int
}

// branch has the branches of the next level or, on the lowest, leaves. The slots are in the
// same allocation.
type branch[V any] struct {
	edit   Edit
	used   uint8            // bit i: there is something in slot i
	full   uint8            // bit i: there is no free number below slot i
	kids   *[fan]*branch[V] // nil on the lowest level
	leaves *[fan]*leaf[V]   // nil above
}

// newBranch returns an empty branch.
func newBranch[V any](e Edit, lowest bool) *branch[V] {
	if lowest {
		b := &struct {
			branch[V]
			slots [fan]*leaf[V]
		}{branch: branch[V]{edit: e}}
		b.leaves = &b.slots
		return &b.branch
	}
	b := &struct {
		branch[V]
		slots [fan]*branch[V]
	}{branch: branch[V]{edit: e}}
	b.kids = &b.slots
	return &b.branch
}

// leaf holds the values of four neighbouring numbers.
type leaf[V any] struct {
	edit Edit
	used uint8 // bit i: there is a value in slot i
	vals [leafFan]V
}

// allFull is the mask of a branch without a free number, and leafFull that of a leaf.
const (
	allFull  = 1<<fan - 1
	leafFull = 1<<leafFan - 1
)

// Len returns the number of values.
func (a *Array[V]) Len() int { return a.n }

// Get returns the value with that number, or nil. It must not be changed.
func (a *Array[V]) Get(i uint32) *V {
	if a.root == nil || i>>a.shift >= fan {
		return nil
	}
	b := a.root
	for shift := a.shift; shift > leafBits; shift -= slotBits {
		if b = b.kids[i>>shift&slotMask]; b == nil {
			return nil
		}
	}
	return b.leaves[i>>leafBits&slotMask].get(i & leafMask)
}

// get returns the value in a slot of the leaf, which may be nil, or nil.
func (l *leaf[V]) get(slot uint32) *V {
	if l == nil || l.used>>slot&1 == 0 {
		return nil
	}
	return &l.vals[slot]
}

// Set stores v under the number i.
func (a *Array[V]) Set(e Edit, i uint32, v V) {
	for a.shift == 0 || i>>a.shift >= fan {
		a.raise(e)
	}
	at := &a.root
	for shift := a.shift; ; shift -= slotBits {
		b := (*at).own(e, shift == leafBits)
		*at = b
		slot := i >> shift & slotMask
		b.used |= 1 << slot
		if shift > leafBits {
			at = &b.kids[slot]
			continue
		}
		l := b.leaves[slot].own(e)
		b.leaves[slot] = l
		l.vals[i&leafMask] = v
		if bit := uint8(1) << (i & leafMask); l.used&bit == 0 {
			l.used |= bit
			a.n++
			if l.used == leafFull {
				a.root.fill(a.shift, i)
			}
		}
		return
	}
}

// fill marks the leaf of the number i as full, and what is full by that.
func (b *branch[V]) fill(shift uint, i uint32) {
	slot := i >> shift & slotMask
	if shift > leafBits {
		kid := b.kids[slot]
		if kid.fill(shift-slotBits, i); kid.full != allFull {
			return
		}
	}
	b.full |= 1 << slot
}

// raise adds a level, whose first slot has what there was.
func (a *Array[V]) raise(e Edit) {
	if a.shift == 0 {
		a.shift = leafBits
		return
	}
	a.shift += slotBits
	if a.root == nil {
		return
	}
	root := newBranch[V](e, false)
	root.kids[0], root.used = a.root, 1
	if a.root.full == allFull {
		root.full = 1
	}
	a.root = root
}

// own returns b if it belongs to the batch, else a copy that does. If b is nil, that is empty.
func (b *branch[V]) own(e Edit, lowest bool) *branch[V] {
	if b != nil && b.edit == e {
		return b
	}
	c := newBranch[V](e, lowest)
	if b == nil {
		return c
	}
	c.used, c.full = b.used, b.full
	if lowest {
		*c.leaves = *b.leaves
	} else {
		*c.kids = *b.kids
	}
	return c
}

func (l *leaf[V]) own(e Edit) *leaf[V] {
	switch {
	case l == nil:
		return &leaf[V]{edit: e}
	case l.edit == e:
		return l
	}
	c := *l
	c.edit = e
	return &c
}

// Delete removes the value with that number, and reports whether there was one.
func (a *Array[V]) Delete(e Edit, i uint32) bool {
	if a.Get(i) == nil {
		return false
	}
	a.n--
	a.root = a.root.delete(e, a.shift, i)
	if a.root == nil {
		*a = Array[V]{}
	}
	// A level goes when only its first slot is in use.
	for a.shift > leafBits && a.root.used == 1 {
		a.root = a.root.kids[0]
		a.shift -= slotBits
	}
	return true
}

// delete returns the branch without the number i, which it has, or nil if nothing is left.
func (b *branch[V]) delete(e Edit, shift uint, i uint32) *branch[V] {
	b = b.own(e, shift == leafBits)
	slot := i >> shift & slotMask
	b.full &^= 1 << slot
	left := false
	if shift > leafBits {
		b.kids[slot] = b.kids[slot].delete(e, shift-slotBits, i)
		left = b.kids[slot] != nil
	} else {
		b.leaves[slot] = b.leaves[slot].delete(e, i&leafMask)
		left = b.leaves[slot] != nil
	}
	if !left {
		b.used &^= 1 << slot
	}
	if b.used == 0 {
		return nil
	}
	return b
}

func (l *leaf[V]) delete(e Edit, slot uint32) *leaf[V] {
	if l.used == 1<<slot {
		return nil
	}
	l = l.own(e)
	l.used &^= 1 << slot
	var zero V
	l.vals[slot] = zero // which else stays in memory
	return l
}

// Free returns the lowest number without a value.
func (a *Array[V]) Free() uint32 {
	if a.root == nil {
		return 0
	}
	if a.root.full == allFull {
		return fan << a.shift
	}
	b, i := a.root, uint32(0)
	for shift := a.shift; ; shift -= slotBits {
		slot := uint32(bits.TrailingZeros8(^b.full))
		i |= slot << shift
		if b.used>>slot&1 == 0 {
			return i
		}
		if shift == leafBits {
			return i | uint32(bits.TrailingZeros8(^b.leaves[slot].used))
		}
		b = b.kids[slot]
	}
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

func (b *branch[V]) each(shift uint, base uint32, yield func(uint32, *V) bool) bool {
	for m := b.used; m != 0; m &= m - 1 {
		slot := uint32(bits.TrailingZeros8(m))
		below := base | slot<<shift
		if shift > leafBits {
			if !b.kids[slot].each(shift-slotBits, below, yield) {
				return false
			}
			continue
		}
		l := b.leaves[slot]
		for i := range uint32(leafFan) {
			if v := l.get(i); v != nil && !yield(below|i, v) {
				return false
			}
		}
	}
	return true
}

// Diff iterates over the numbers whose values differ between two versions of an Array, in
// ascending order. A value is nil where there is none. Parts that the versions share are not
// visited; in others, same decides.
func Diff[V any](a, b Array[V], same func(old, new *V) bool, yield func(i uint32, old, new *V) bool) {
	// Both get as many levels. raise changes these copies only.
	for a.shift < b.shift {
		a.raise(0)
	}
	for b.shift < a.shift {
		b.raise(0)
	}
	d := differ[V]{same: same, yield: yield}
	d.noBranch.kids, d.noBranch.leaves = new([fan]*branch[V]), new([fan]*leaf[V])
	d.branches(a.root, b.root, a.shift, 0)
}

// differ has what all steps of a Diff share.
type differ[V any] struct {
	noBranch branch[V]
	same     func(old, new *V) bool
	yield    func(i uint32, old, new *V) bool
}

// branches compares two branches at the same place, each of which may be nil. It reports
// whether yield never returned false.
func (d *differ[V]) branches(old, new *branch[V], shift uint, base uint32) bool {
	if old == new { // equal pointers are equal trees: a published node never changes
		return true
	}
	if old == nil {
		old = &d.noBranch
	}
	if new == nil {
		new = &d.noBranch
	}
	for m := old.used | new.used; m != 0; m &= m - 1 {
		slot := uint32(bits.TrailingZeros8(m))
		below := base | slot<<shift
		if shift > leafBits {
			if !d.branches(old.kids[slot], new.kids[slot], shift-slotBits, below) {
				return false
			}
		} else if !d.leaves(old.leaves[slot], new.leaves[slot], below) {
			return false
		}
	}
	return true
}

// leaves is branches for leaves.
func (d *differ[V]) leaves(old, new *leaf[V], base uint32) bool {
	if old == new {
		return true
	}
	for i := range uint32(leafFan) {
		x, y := old.get(i), new.get(i)
		if x == nil && y == nil || x != nil && y != nil && d.same(x, y) {
			continue
		}
		if !d.yield(base|i, x, y) {
			return false
		}
	}
	return true
}
