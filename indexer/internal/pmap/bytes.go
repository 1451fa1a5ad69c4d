package pmap

import "unsafe"

// Bytes returns the memory of the nodes of the trie, in the sizes that size
// returns for allocations. It takes a time proportional to their number.
func (t Trie[V]) Bytes(size func(n uintptr) int) int {
	switch {
	case t.root == nil:
		return 0
	case t.size&1 != 0:
		return size(unsafe.Sizeof(leaf[V]{}))
	default:
		return bytesOf[V](t.root, 0, size)
	}
}

// bytesOf returns the memory below the node p, whose slots divide the hash from bit base
// on.
func bytesOf[V any](p unsafe.Pointer, base uint, size func(n uintptr) int) int {
	if base > topShift {
		c := (*chain[V])(p)
		var v V
		return size(unsafe.Sizeof(*c)) + size(uintptr(cap(c.vals))*unsafe.Sizeof(v))
	}
	n := (*inner)(p)
	total := size(unsafe.Sizeof(*n))
	for i := uint64(0); i < fan; {
		if !n.isLeaf(i) {
			total += bytesOf[V](n.kids[i], base+fanBits, size)
			i++
			continue
		}
		l := (*leaf[V])(n.kids[i])
		total += size(unsafe.Sizeof(*l))
		// Once per leaf, though several slots may point to it.
		i += fan >> (l.prefix() - base)
	}
	return total
}
