package pmap

import "unsafe"

// Edit returns the place of the value with hash h that eq accepts, for the
// batch to overwrite, or nil if there is none. The new value must have the same
// hash. The place belongs to the batch until it ends. For gen see [Trie.Put].
//
// Inner nodes on the way are copied before it is known whether the value exists, a leaf
// only when it does. A copy that turns out to be unneeded costs memory, and has the same
// content.
func (t *Trie[V]) Edit(gen, h uint64, eq func(V) bool) *V {
	if t.root == nil {
		return nil
	}
	if t.size&1 != 0 {
		l := (*leaf[V])(t.root)
		i := l.find(tagOf(h), eq)
		if i < 0 {
			return nil
		}
		l = l.own(gen)
		t.root = unsafe.Pointer(l)
		return &l.vals[i]
	}
	n := (*inner)(t.root).own(gen)
	t.root = unsafe.Pointer(n)
	for base := uint(0); ; {
		i := h >> (topShift - base) & (fan - 1)
		if n.isLeaf(i) {
			l := (*leaf[V])(n.kids[i])
			at := l.find(tagOf(h), eq)
			if at < 0 {
				return nil
			}
			// setLeaf stores the copy in every slot that the leaf covers: a slot that
			// was left out would lead to the old version of the leaf.
			own := l.own(gen)
			setLeaf(n, i, base, own)
			return &own.vals[at]
		}
		base += fanBits
		if base > topShift {
			c := (*chain[V])(n.kids[i]).own(gen)
			n.kids[i] = unsafe.Pointer(c)
			for at := range c.vals {
				if eq(c.vals[at]) {
					return &c.vals[at]
				}
			}
			return nil
		}
		next := (*inner)(n.kids[i]).own(gen)
		n.kids[i] = unsafe.Pointer(next)
		n = next
	}
}

// Put stores v in place of the value with hash h that eq accepts, or adds it,
// and returns what it replaced. hash computes the hash of any value; it is
// called when a full leaf has to be divided.
//
// gen names the batch: nodes that this batch made are edited in place, all
// others are copied. It must be greater than that of every earlier batch on
// this version and its ancestors, and below 1<<48; versions that should stay as
// they are must not be handed out before their batch has ended.
func (t *Trie[V]) Put(gen, h uint64, v V, eq func(V) bool, hash func(V) uint64) (old V, replaced bool) {
	switch {
	case t.root == nil:
		l := newLeaf[V](gen, 0)
		l.add(tagOf(h), v)
		t.root, t.size = unsafe.Pointer(l), 1<<1|1
		return old, false
	case t.size&1 != 0:
		l := (*leaf[V])(t.root)
		i := l.find(tagOf(h), eq)
		if i >= 0 || l.len() < leafCap {
			l = l.own(gen)
			t.root = unsafe.Pointer(l)
			return t.putLeaf(l, i, h, v)
		}
		// The root is a full leaf. It becomes the child of a new inner node, in all of
		// its slots, and the loop below divides it there like any other.
		n := &inner{meta: gen << genShift}
		n.put(0, fan, t.root, true)
		t.root, t.size = unsafe.Pointer(n), t.size&^1
	}
	n := (*inner)(t.root).own(gen)
	t.root = unsafe.Pointer(n)
	for base := uint(0); ; {
		i := h >> (topShift - base) & (fan - 1)
		if n.isLeaf(i) {
			l := (*leaf[V])(n.kids[i])
			at := l.find(tagOf(h), eq)
			if at >= 0 || l.len() < leafCap {
				own := l.own(gen)
				setLeaf(n, i, base, own)
				return t.putLeaf(own, at, h, v)
			}
			// Back to the same slot: all values may have gone to the same half, which is
			// still full then. Each turn uses up a bit of the hash, so the loop ends, in
			// a chain at worst.
			deepen(n, l, i, base, gen, hash)
			continue
		}
		base += fanBits
		if base > topShift {
			return t.putChain(n, i, gen, v, eq)
		}
		next := (*inner)(n.kids[i]).own(gen)
		n.kids[i] = unsafe.Pointer(next)
		n = next
	}
}

// setLeaf makes l the leaf in slot i of n and in the neighbours it covers.
func setLeaf[V any](n *inner, i uint64, base uint, l *leaf[V]) {
	p := unsafe.Pointer(l)
	if n.kids[i] == p {
		return
	}
	// A leaf whose prefix is p bits long covers all slots that agree in the first p-base
	// bits of the slot number. These are neighbours, and start at a multiple of their
	// number.
	span := uint64(fan) >> (l.prefix() - base)
	start := i &^ (span - 1)
	for j := start; j < start+span; j++ {
		// The mask changes nothing. It shows the compiler that the index is in bounds.
		n.kids[j&(fan-1)] = p
	}
}

// putLeaf stores v in l, which the batch owns: in place of the value at position at,
// or behind the last one if at is negative. l must have room then.
func (t *Trie[V]) putLeaf(l *leaf[V], at int, h uint64, v V) (old V, replaced bool) {
	if at >= 0 {
		old, l.vals[at] = l.vals[at], v
		return old, true
	}
	// The lowest bit of size says what the root is, hence a count in steps of two.
	l.add(tagOf(h), v)
	t.size += 1 << 1
	return old, false
}

// putChain stores v in the chain at slot i of n, which the batch owns.
func (t *Trie[V]) putChain(n *inner, i, gen uint64, v V, eq func(V) bool) (old V, replaced bool) {
	c := (*chain[V])(n.kids[i]).own(gen)
	n.kids[i] = unsafe.Pointer(c)
	for at := range c.vals {
		if eq(c.vals[at]) {
			old, c.vals[at] = c.vals[at], v
			return old, true
		}
	}
	c.vals = append(c.vals, v)
	t.size += 1 << 1
	return old, false
}

// own returns c if the batch gen made it, and else a copy that belongs to gen, with
// room for one more value.
func (c *chain[V]) own(gen uint64) *chain[V] {
	if c.gen == gen {
		return c
	}
	return &chain[V]{gen: gen, vals: append(make([]V, 0, len(c.vals)+1), c.vals...)}
}

// deepen makes room below slot i of n, which holds the full leaf l: it divides
// l by its next bit, or puts a level (or a chain) in between if n has no bit left.
func deepen[V any](n *inner, l *leaf[V], i uint64, base uint, gen uint64, hash func(V) uint64) {
	prefix := l.prefix()
	if prefix < base+fanBits {
		span := uint64(fan) >> (prefix - base)
		start := i &^ (span - 1)
		// Half the slots go to each of the two new leaves. l itself is unchanged,
		// because other versions may have it.
		lo, hi := divide(l, prefix, gen, hash)
		n.put(start, span/2, unsafe.Pointer(lo), true)
		n.put(start+span/2, span/2, unsafe.Pointer(hi), true)
		return
	}
	// All 63 bits are used up, and the hashes are as good as equal: no level can divide
	// them.
	if prefix > topShift {
		c := &chain[V]{gen: gen, vals: append(make([]V, 0, leafCap+1), l.vals[:l.len()]...)}
		n.put(i, 1, unsafe.Pointer(c), false)
		return
	}
	// One more level, of which l is at first the only child, and fills all slots. The
	// caller's loop descends into it and divides l by its next bit.
	m := &inner{meta: gen << genShift}
	m.put(0, fan, unsafe.Pointer(l), true)
	n.put(i, 1, unsafe.Pointer(m), false)
}

// divide splits l by the hash bit after its prefix.
//
// The hashes are computed again, since the leaf keeps only a byte of each. The tags are
// copied: they are of bits that do not depend on the level.
func divide[V any](l *leaf[V], prefix uint, gen uint64, hash func(V) uint64) (lo, hi *leaf[V]) {
	lo, hi = newLeaf[V](gen, prefix+1), newLeaf[V](gen, prefix+1)
	for i, v := range l.vals[:l.len()] {
		if hash(v)>>(63-prefix)&1 == 0 {
			lo.add(l.tag(i), v)
		} else {
			hi.add(l.tag(i), v)
		}
	}
	return lo, hi
}

// Remove takes out the value with hash h that eq accepts and returns it. If
// there is none, nothing is copied. For gen see [Trie.Put].
func (t *Trie[V]) Remove(gen, h uint64, eq func(V) bool) (old V, ok bool) {
	// The extra search is what lets the code below copy nodes without asking whether it
	// must.
	if old, ok = t.Find(h, eq); !ok {
		return old, false
	}
	t.size -= 1 << 1
	if t.Len() == 0 {
		// Back to the zero value, so that an empty trie holds no memory.
		*t = Trie[V]{}
		return old, true
	}
	if t.size&1 != 0 {
		l := (*leaf[V])(t.root).own(gen)
		l.remove(l.find(tagOf(h), eq))
		t.root = unsafe.Pointer(l)
		return old, true
	}
	n := (*inner)(t.root).own(gen)
	t.root = unsafe.Pointer(n)
	removeInner(n, 0, gen, h, eq)
	// The inverse of what Put does with a full root: a small trie is a single leaf
	// again.
	if l := wholeLeaf[V](n, 0); l != nil {
		t.root, t.size = unsafe.Pointer(l), t.size|1
	}
	return old, true
}

// removeInner takes the value out of n, which the batch owns, and draws
// together what has become sparse.
func removeInner[V any](n *inner, base uint, gen, h uint64, eq func(V) bool) {
	i := h >> (topShift - base) & (fan - 1)
	switch {
	case n.isLeaf(i):
		l := (*leaf[V])(n.kids[i])
		own := l.own(gen)
		own.remove(own.find(tagOf(h), eq))
		setLeaf(n, i, base, own)
	case base+fanBits > topShift:
		c := (*chain[V])(n.kids[i]).own(gen)
		c.remove(eq)
		if len(c.vals) > mergeAt {
			n.kids[i] = unsafe.Pointer(c)
			return
		}
		l := newLeaf[V](gen, base+fanBits)
		for _, v := range c.vals {
			l.add(tagOf(h), v) // all bits that the trie uses agree, the tag's included
		}
		n.put(i, 1, unsafe.Pointer(l), true)
	default:
		child := (*inner)(n.kids[i]).own(gen)
		n.kids[i] = unsafe.Pointer(child)
		removeInner(child, base+fanBits, gen, h, eq)
		l := wholeLeaf[V](child, base+fanBits)
		if l == nil {
			return
		}
		n.put(i, 1, unsafe.Pointer(l), true)
	}
	merge[V](n, i, base, gen)
}

// remove fills the gap of the value that eq accepts with the last one.
func (c *chain[V]) remove(eq func(V) bool) {
	for i := range c.vals {
		if eq(c.vals[i]) {
			last := len(c.vals) - 1
			c.vals[i] = c.vals[last]
			// The slot behind the end must not keep a removed value in memory.
			var zero V
			c.vals[last] = zero
			c.vals = c.vals[:last]
			return
		}
	}
}

// wholeLeaf returns the leaf that fills all slots of n, if there is one: n is
// then a level too many.
func wholeLeaf[V any](n *inner, base uint) *leaf[V] {
	if n.isLeaf(0) {
		if l := (*leaf[V])(n.kids[0]); l.prefix() == base {
			return l
		}
	}
	return nil
}

// merge joins the leaf at slot i of n with its sibling while the two are small.
//
// Each turn makes the prefix one bit shorter and the leaf twice as wide. It stops where
// the leaf fills the node; the level above then puts it in the place of the node.
func merge[V any](n *inner, i uint64, base uint, gen uint64) {
	for {
		l := (*leaf[V])(n.kids[i])
		prefix := l.prefix()
		if prefix == base {
			return
		}
		span := uint64(fan) >> (prefix - base)
		start := i &^ (span - 1)
		// The sibling is the other half of the range that the two came from when a leaf
		// was divided. Where it leads deeper, its values were too many for one leaf.
		if !n.isLeaf(start ^ span) {
			return
		}
		sib := (*leaf[V])(n.kids[start^span])
		if sib.prefix() != prefix || l.len()+sib.len() > mergeAt {
			return
		}
		l = l.own(gen)
		// There is room: mergeAt is below leafCap. sib stays as it is, for other
		// versions.
		for j, v := range sib.vals[:sib.len()] {
			l.add(sib.tag(j), v)
		}
		l.setPrefix(prefix - 1)
		i = start &^ span
		n.put(i, 2*span, unsafe.Pointer(l), true)
	}
}
