package pmap

import "unsafe"

// Compare has the functions with which [Diff] compares values.
type Compare[V any] struct {
	Hash    func(V) uint64    // the hash the value is stored under
	SameKey func(a, b V) bool // a and b are versions of one value
	Equal   func(a, b V) bool // a and b are no difference
}

// Diff yields what distinguishes version b from version a: removed values (old
// only), added ones (new only), and changed ones (both). Subtrees that the two
// versions share are not visited, so the cost follows the difference. It
// reports whether yield never returned false.
//
// Both versions must stem from one trie or at least use the same hash.
func Diff[V any](a, b Trie[V], c Compare[V], yield func(d Delta[V]) bool) bool {
	d := differ[V]{a: a, b: b, c: c, yield: yield}
	switch {
	case a.root == b.root:
		return true
	case a.size&1 == 0 && b.size&1 == 0 && a.root != nil && b.root != nil:
		return d.inner(a.root, b.root, 0)
	case a.size&1 != 0 && b.size&1 != 0:
		return d.leaf((*leaf[V])(a.root), (*leaf[V])(b.root))
	default:
		// One root is a leaf and the other is not, or one trie is empty. A leaf has few
		// values, and so look-ups of all are proportional to the larger trie, most of
		// which is a difference.
		return a.Runs(d.gone) && b.Runs(d.come)
	}
}

// Delta is one difference between two versions of a [Trie].
type Delta[V any] struct {
	Old, New       V
	HasOld, HasNew bool
}

// differ holds what all steps of one Diff share: both tries as a whole, for the look-ups
// where their shapes differ.
type differ[V any] struct {
	a, b  Trie[V]
	c     Compare[V]
	yield func(Delta[V]) bool
}

// inner compares two nodes at the same place of the two tries.
func (d *differ[V]) inner(p, q unsafe.Pointer, base uint) bool {
	if base > topShift {
		// Two chains: the hashes of their values agree in all bits that the trie uses,
		// so there is nothing left but to look each value up.
		return eachRun(p, base, d.gone) && eachRun(q, base, d.come)
	}
	m, n := (*inner)(p), (*inner)(q)
	for i := uint64(0); i < fan; {
		mi, ni := m.isLeaf(i), n.isLeaf(i)
		if !mi && !ni {
			// Equal pointers mean equal subtrees, because a node never changes after its
			// batch. This comparison is what makes the cost follow the difference.
			if m.kids[i] != n.kids[i] && !d.inner(m.kids[i], n.kids[i], base+fanBits) {
				return false
			}
			i++
			continue
		}
		// At least one side is a leaf, which covers as many slots as, or more
		// than, whatever the other side has there.
		span := max(spanAt[V](m, i, base), spanAt[V](n, i, base))
		same := m.kids[i] == n.kids[i]
		switch {
		case same:
		case mi && ni && spanAt[V](m, i, base) == spanAt[V](n, i, base):
			if !d.leaf((*leaf[V])(m.kids[i]), (*leaf[V])(n.kids[i])) {
				return false
			}
		default:
			// The shapes differ: look each value up in the other version. One
			// side is a single leaf, so the cost still follows the difference.
			if !eachSlot(m, i, i+span, base, d.gone) || !eachSlot(n, i, i+span, base, d.come) {
				return false
			}
		}
		i += span
	}
	return true
}

// spanAt returns how many slots the child at slot i of n occupies.
func spanAt[V any](n *inner, i uint64, base uint) uint64 {
	if !n.isLeaf(i) {
		return 1
	}
	return fan >> ((*leaf[V])(n.kids[i]).prefix() - base)
}

// eachSlot visits the values below the slots [from, to) of n.
func eachSlot[V any](n *inner, from, to uint64, base uint, yield func([]V) bool) bool {
	for i := from; i < to; i += spanAt[V](n, i, base) {
		if n.isLeaf(i) {
			if !yield((*leaf[V])(n.kids[i]).values()) {
				return false
			}
		} else if !eachRun(n.kids[i], base+fanBits, yield) {
			return false
		}
	}
	return true
}

// leaf compares two leaves that cover the same hashes.
//
// Tags are compared before SameKey: a value of the other leaf with another tag has
// another hash, so its memory is not touched.
func (d *differ[V]) leaf(l, m *leaf[V]) bool {
	for i, v := range l.vals[:l.len()] {
		j := m.find(l.tag(i), func(w V) bool { return d.c.SameKey(v, w) })
		if j < 0 {
			if !d.yield(Delta[V]{Old: v, HasOld: true}) {
				return false
			}
		} else if w := m.vals[j]; !d.c.Equal(v, w) && !d.yield(Delta[V]{Old: v, HasOld: true, New: w, HasNew: true}) {
			return false
		}
	}
	for j, w := range m.vals[:m.len()] {
		if l.find(m.tag(j), func(v V) bool { return d.c.SameKey(v, w) }) < 0 && !d.yield(Delta[V]{New: w, HasNew: true}) {
			return false
		}
	}
	return true
}

// gone yields the removal or the change of values of the old version.
func (d *differ[V]) gone(vals []V) bool {
	for _, v := range vals {
		w, ok := d.b.Find(d.c.Hash(v), func(w V) bool { return d.c.SameKey(v, w) })
		if !ok {
			if !d.yield(Delta[V]{Old: v, HasOld: true}) {
				return false
			}
		} else if !d.c.Equal(v, w) && !d.yield(Delta[V]{Old: v, HasOld: true, New: w, HasNew: true}) {
			return false
		}
	}
	return true
}

// come yields values of the new version that the old one has not.
//
// Changes are left out: gone has yielded them, and a value must come once.
func (d *differ[V]) come(vals []V) bool {
	for _, w := range vals {
		if _, ok := d.a.Find(d.c.Hash(w), func(v V) bool { return d.c.SameKey(v, w) }); ok {
			continue
		}
		if !d.yield(Delta[V]{New: w, HasNew: true}) {
			return false
		}
	}
	return true
}
