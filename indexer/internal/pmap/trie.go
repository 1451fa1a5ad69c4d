package pmap

import "unsafe"

// Trie is one immutable version of a set of values, addressed by hash. The zero
// value is empty. Copying a Trie is how a version is kept: it costs two words.
//
// A Trie has no keys. The caller passes the hash of a value and a test for
// equality; see the package documentation for why.
type Trie[V any] struct {
	root unsafe.Pointer // nil, *leaf[V] or *inner
	// The flag is in size rather than in a node, so that a Trie stays at two words and a
	// search knows the type of the root without loading it.
	size uint64 // number of values<<1 | 1 if root is a leaf
}

// Len returns the number of values.
func (t Trie[V]) Len() int { return int(t.size >> 1) }

// Same reports whether t and o are the same version, so that there is nothing
// to compare. Two versions with equal content may still differ.
func (t Trie[V]) Same(o Trie[V]) bool { return t.root == o.root }

// Near returns the values whose place in the trie is that of hash h, and a mask: bit 8i+7
// is set where values[i] may have that hash, or all is true if any may have it. It is what
// [Trie.Find] does without a function, which takes longer to call than to carry out.
func (t Trie[V]) Near(h uint64) (values []V, mask uint64, all bool) {
	p := t.root
	if p == nil {
		return nil, 0, false
	}
	if t.size&1 == 0 {
		for shift := topShift; ; shift -= fanBits {
			if shift < 0 {
				return (*chain[V])(p).vals, 0, true
			}
			n := (*inner)(p)
			i := h >> uint(shift) & (fan - 1)
			p = n.kids[i]
			if n.isLeaf(i) {
				break
			}
		}
	}
	l := (*leaf[V])(p)
	return l.vals[:], l.candidates(tagOf(h)), false
}

// Find returns the value with hash h that eq accepts. It allocates nothing.
func (t Trie[V]) Find(h uint64, eq func(V) bool) (v V, ok bool) {
	p := t.root
	if p == nil {
		return v, false
	}
	if t.size&1 == 0 {
		// No eq is called on the way down: the bits of the hash alone lead to the only
		// leaf or chain that can have the value.
		for shift := topShift; ; shift -= fanBits {
			if shift < 0 {
				return (*chain[V])(p).find(eq)
			}
			n := (*inner)(p)
			i := h >> uint(shift) & (fan - 1)
			p = n.kids[i]
			if n.isLeaf(i) {
				break
			}
		}
	}
	l := (*leaf[V])(p)
	if i := l.find(tagOf(h), eq); i >= 0 {
		return l.vals[i], true
	}
	return v, false
}

// find returns the value that eq accepts.
func (c *chain[V]) find(eq func(V) bool) (v V, ok bool) {
	for _, v := range c.vals {
		if eq(v) {
			return v, true
		}
	}
	return v, false
}

// Each calls yield for every value, in an order that is arbitrary but the same
// each time, until yield returns false. It reports whether it came to the end.
func (t Trie[V]) Each(yield func(V) bool) bool {
	return t.Runs(func(vals []V) bool {
		for i := range vals {
			if !yield(vals[i]) {
				return false
			}
		}
		return true
	})
}

// Runs is [Trie.Each] for a caller that takes a few values at a time, which
// saves a call per value. The slices belong to the trie: they must not be
// changed, and are valid as long as the version.
func (t Trie[V]) Runs(yield func([]V) bool) bool {
	switch {
	case t.root == nil:
		return true
	case t.size&1 != 0:
		return yield((*leaf[V])(t.root).values())
	default:
		return eachRun(t.root, 0, yield)
	}
}

func (l *leaf[V]) values() []V { return l.vals[:l.len():l.len()] }

// eachRun walks the node p whose slots divide the hash from bit base on.
func eachRun[V any](p unsafe.Pointer, base uint, yield func([]V) bool) bool {
	if base > topShift {
		return yield((*chain[V])(p).vals)
	}
	n := (*inner)(p)
	if n.fetch() == 0 {
		return true // never: a generation is not 0
	}
	for i := uint64(0); i < fan; {
		if !n.isLeaf(i) {
			if !eachRun(n.kids[i], base+fanBits, yield) {
				return false
			}
			i++
			continue
		}
		l := (*leaf[V])(n.kids[i])
		if !yield(l.values()) {
			return false
		}
		// A leaf that covers several slots is visited at the first of them only.
		i += fan >> (l.prefix() - base)
	}
	return true
}
