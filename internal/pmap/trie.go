package pmap

import "unsafe"

// Trie is one immutable version of a set of values, addressed by hash. The zero
// value is empty. Copying a Trie is how a version is kept: it costs two words.
//
// A Trie knows no keys. Whoever looks for a value brings its hash and a test
// for equality; see the package documentation for why.
type Trie[V any] struct {
	root unsafe.Pointer // nil, *leaf[V] or *inner
	size uint64         // number of values<<1 | 1 if root is a leaf
}

// Len returns the number of values.
func (t Trie[V]) Len() int { return int(t.size >> 1) }

// Same reports whether t and o are the same version, so that there is nothing
// to compare. Two versions with equal content may still differ.
func (t Trie[V]) Same(o Trie[V]) bool { return t.root == o.root }

// Find returns the value with hash h that eq accepts. It allocates nothing.
func (t Trie[V]) Find(h uint64, eq func(V) bool) (v V, ok bool) {
	p := t.root
	if p == nil {
		return v, false
	}
	if t.size&1 == 0 {
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
	switch {
	case t.root == nil:
		return true
	case t.size&1 != 0:
		return (*leaf[V])(t.root).each(yield)
	default:
		return eachInner(t.root, 0, yield)
	}
}

func (l *leaf[V]) each(yield func(V) bool) bool {
	for i := range l.vals[:l.len()] {
		if !yield(l.vals[i]) {
			return false
		}
	}
	return true
}

// eachInner walks the node p whose slots divide the hash from bit base on.
func eachInner[V any](p unsafe.Pointer, base uint, yield func(V) bool) bool {
	if base > topShift {
		for _, v := range (*chain[V])(p).vals {
			if !yield(v) {
				return false
			}
		}
		return true
	}
	n := (*inner)(p)
	for i := uint64(0); i < fan; {
		if !n.isLeaf(i) {
			if !eachInner(n.kids[i], base+fanBits, yield) {
				return false
			}
			i++
			continue
		}
		l := (*leaf[V])(n.kids[i])
		if !l.each(yield) {
			return false
		}
		i += fan >> (l.prefix() - base)
	}
	return true
}
