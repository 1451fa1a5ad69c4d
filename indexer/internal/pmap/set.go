package pmap

import (
	"iter"
	"slices"
)

// Element is what a [Set] has.
type Element interface {
	comparable
	// Hash must not change, and equal elements have the same.
	Hash() uint32
	// LeafCap is how many elements a leaf has at most, as long as bits are left to divide them: the
	// same for all elements of a type. A change copies a leaf, and to iterate over few of them is
	// faster. So it is some 256 to 512 bytes of elements.
	LeafCap() int
}

// Set is one immutable version of a set of elements. The zero value is empty. Copying a Set keeps the
// version.
//
// A look-up gets all elements with a hash, and a few others, and chooses among them. So an
// element may be anything that leads to what is looked for.
type Set[E Element] struct{ root *node[E] }

// node is a leaf, with elements, or has the nodes of the next level. Those are within the same
// allocation, see inner.
type node[E Element] struct {
	edit  Edit
	n     int            // elements in or below the node
	kids  *[fan]*node[E] // nil in a leaf
	elems []E            // of a leaf, in no order
}

// inner is the memory of a node that is no leaf.
type inner[E Element] struct {
	node[E]
	slots [fan]*node[E]
}

func newInner[E Element](e Edit, n int) *node[E] {
	in := &inner[E]{node: node[E]{edit: e, n: n}}
	in.kids = &in.slots
	return &in.node
}

// lastShift is where no bits for another level are left.
const lastShift = 32 / slotBits * slotBits

// Len returns the number of elements.
func (s *Set[E]) Len() int {
	if s.root == nil {
		return 0
	}
	return s.root.n
}

// Find returns the elements among which are all that have this hash. They must not be changed.
func (s *Set[E]) Find(hash uint32) []E {
	n := s.root
	for ; n != nil; hash >>= slotBits {
		if n.kids == nil {
			return n.elems
		}
		n = n.kids[hash&slotMask]
	}
	return nil
}

// All iterates over the elements. The order is the same for the same version, and no other.
func (s *Set[E]) All() iter.Seq[E] {
	root := s.root
	return func(yield func(E) bool) { root.each(yield) }
}

func (n *node[E]) each(yield func(E) bool) bool {
	if n == nil {
		return true
	}
	for _, x := range n.elems {
		if !yield(x) {
			return false
		}
	}
	if n.kids != nil {
		for _, kid := range n.kids {
			if !kid.each(yield) {
				return false
			}
		}
	}
	return true
}

// Add adds x, which the set must not have.
func (s *Set[E]) Add(e Edit, x E) { s.root = s.root.add(e, 0, x) }

// add returns the node with x: n itself if it belongs to the batch, else a copy. n may be nil.
func (n *node[E]) add(e Edit, shift uint, x E) *node[E] {
	if n == nil {
		return &node[E]{edit: e, n: 1, elems: append(make([]E, 0, 2), x)}
	}
	n = n.own(e)
	if n.kids == nil && (n.n < x.LeafCap() || shift == lastShift) {
		n.n++
		n.elems = append(n.elems, x)
		return n
	}
	if n.kids == nil {
		n = n.divide(e, shift)
	}
	n.n++
	n.addBelow(e, shift, x)
	return n
}

func (n *node[E]) addBelow(e Edit, shift uint, x E) {
	slot := x.Hash() >> shift & slotMask
	n.kids[slot] = n.kids[slot].add(e, shift+slotBits, x)
}

// divide returns a node with leaves in the place of a leaf.
func (n *node[E]) divide(e Edit, shift uint) *node[E] {
	in := newInner[E](e, n.n)
	for _, x := range n.elems {
		in.addBelow(e, shift, x)
	}
	return in
}

func (n *node[E]) own(e Edit) *node[E] {
	if n.edit == e {
		return n
	}
	if n.kids != nil {
		c := newInner[E](e, n.n)
		*c.kids = *n.kids
		return c
	}
	return &node[E]{edit: e, n: n.n, elems: append(make([]E, 0, len(n.elems)+1), n.elems...)}
}

// Replace puts y, which has the same hash, in the place of x, which the set must have.
func (s *Set[E]) Replace(e Edit, x, y E) {
	s.root = s.root.own(e)
	n := s.root
	for hash := x.Hash(); n.kids != nil; hash >>= slotBits {
		slot := hash & slotMask
		n.kids[slot] = n.kids[slot].own(e)
		n = n.kids[slot]
	}
	n.elems[slices.Index(n.elems, x)] = y
}

// Delete removes x, which the set must have.
func (s *Set[E]) Delete(e Edit, x E) { s.root = s.root.delete(e, 0, x) }

// delete returns the node without x, or nil if nothing is left.
func (n *node[E]) delete(e Edit, shift uint, x E) *node[E] {
	if n.n == 1 {
		return nil
	}
	n = n.own(e)
	n.n--
	if n.kids == nil {
		// The last element fills the gap.
		last := len(n.elems) - 1
		n.elems[slices.Index(n.elems, x)] = n.elems[last]
		clear(n.elems[last:])
		n.elems = n.elems[:last]
		return n
	}
	slot := x.Hash() >> shift & slotMask
	n.kids[slot] = n.kids[slot].delete(e, shift+slotBits, x)
	// Merged well below the size at which a leaf divides: a set whose size varies around one
	// number should not do both all the time.
	if n.n <= x.LeafCap()/2 {
		elems := make([]E, 0, n.n)
		n.each(func(x E) bool { elems = append(elems, x); return true })
		return &node[E]{edit: e, n: n.n, elems: elems}
	}
	return n
}
