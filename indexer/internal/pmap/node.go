package pmap

import (
	"math/bits"
	"unsafe"
)

const (
	// fanBits is how many hash bits one inner node consumes, fan how many
	// slots it therefore has. The package documentation compares widths.
	fanBits = 3
	fan     = 1 << fanBits

	// leafCap is how many values one leaf holds. A leaf that would exceed it is
	// split by one more bit of the hash.
	leafCap = 6

	// mergeAt is the number of values at or below which two sibling leaves
	// become one. It is below leafCap so that a value that comes and goes does
	// not split and merge the same leaf again and again.
	mergeAt = 4

	// topShift moves the first fanBits of a hash to the bottom. Hashes are
	// consumed from the top, so the trie is in numeric order of the hashes.
	topShift = 64 - fanBits

	// genShift leaves the low bits of meta to the node; 48 bits count batches.
	genShift = 16
)

// inner is a node whose slots lead on: bit i of meta says whether slot i holds
// a *leaf or something deeper (an *inner, or a *chain once the hash is used up).
//
// A leaf that is not yet divided by all fanBits of this node occupies several
// neighbouring slots, each with the same pointer. That is what makes leaves
// split in two rather than in eight, and keeps them two thirds full.
//
// The pointers are unsafe because a slot holds one of three types. An interface would
// double their size; unsafe.Pointer is traced by the garbage collector like any other
// pointer.
type inner struct {
	meta uint64 // gen<<16 | leaf mask
	kids [fan]unsafe.Pointer
}

// leaf holds up to leafCap values whose hashes begin with the same bits. tags
// has one byte of each value's hash, so that looking for one value touches the
// memory of one value.
//
// In meta, n counts up to leafCap and the prefix up to 63, so a byte is enough for each.
type leaf[V any] struct {
	meta uint64 // gen<<16 | prefix<<8 | n
	tags uint64 // byte i belongs to vals[i]; there are fewer than eight
	vals [leafCap]V
}

// chain holds the values whose hashes agree in every bit that the trie uses.
// With a good hash there is none; with a bad one the trie is slow, not wrong.
type chain[V any] struct {
	gen  uint64
	vals []V
}

func (n *inner) isLeaf(i uint64) bool { return n.meta>>i&1 != 0 }

// put makes p the child of the slots [start, start+span).
func (n *inner) put(start, span uint64, p unsafe.Pointer, leaf bool) {
	for i := start; i < start+span; i++ {
		n.kids[i] = p
	}
	// One bit per slot: the leaf mask must agree with what the pointers point to, since
	// the type of a child is known from it and the level alone.
	mask := (uint64(1)<<span - 1) << start
	n.meta &^= mask
	if leaf {
		n.meta |= mask
	}
}

// fetch reads the first word of each child, so that the memory of all of them
// is on its way when an iteration comes to the first. Without it the misses come
// one after the other: how many values a leaf has is known only when it has
// arrived, and cannot be predicted.
func (n *inner) fetch() (all uint64) {
	for _, k := range n.kids {
		all |= *(*uint64)(k) // inner, leaf and chain begin with a word that is not 0
	}
	return all
}

// own returns n if the batch gen made it, and else a copy that belongs to gen.
func (n *inner) own(gen uint64) *inner {
	if n.meta>>genShift == gen {
		return n
	}
	c := *n
	c.meta = gen<<genShift | n.meta&(1<<genShift-1)
	return &c
}

// newLeaf returns an empty leaf that belongs to the batch gen, for hashes that share
// their first prefix bits.
func newLeaf[V any](gen uint64, prefix uint) *leaf[V] {
	return &leaf[V]{meta: gen<<genShift | uint64(prefix)<<8}
}

// own returns l if the batch gen made it, and else a copy that belongs to gen.
func (l *leaf[V]) own(gen uint64) *leaf[V] {
	if l.meta>>genShift == gen {
		return l
	}
	c := *l
	c.meta = gen<<genShift | l.meta&(1<<genShift-1)
	return &c
}

func (l *leaf[V]) len() int { return int(l.meta & 0xff) }

// prefix is the number of leading hash bits that all values of l share.
func (l *leaf[V]) prefix() uint { return uint(l.meta>>8) & 0xff }

func (l *leaf[V]) setPrefix(p uint) { l.meta = l.meta&^0xff00 | uint64(p)<<8 }

// find returns the position of the value with that tag that eq accepts, or -1.
func (l *leaf[V]) find(tag uint64, eq func(V) bool) int {
	for m := l.candidates(tag); m != 0; m &= m - 1 {
		if i := bits.TrailingZeros64(m) >> 3; eq(l.vals[i]) {
			return i
		}
	}
	return -1
}

// candidates has bit 8i+7 set where vals[i] may have that tag. Comparing
// eight tags at once may name a tag too many, never one too few.
func (l *leaf[V]) candidates(tag uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	x := l.tags ^ tag*ones
	// A byte of x is 0 where the tag is right. Subtracting 1 from each byte borrows at a
	// 0 and sets its top bit; &^ x drops bytes whose top bit was set anyway. A borrow
	// may spill into the next byte, which is the tag too many.
	m := (x - ones) &^ x & highs
	// Only the first n bytes are tags of values.
	return m & (1<<(8*(l.meta&0xff)) - 1)
}

// tagOf takes the byte of h that the trie consumes last. Bit 0 is not consumed
// at all and therefore left out: the values of a chain share their tag.
func tagOf(h uint64) uint64 { return h >> 1 & 0xff }

// add puts v, whose hash has that tag, behind the last value. There must be room.
func (l *leaf[V]) add(tag uint64, v V) {
	i := l.meta & 0xff
	l.vals[i] = v
	l.tags = l.tags&^(0xff<<(8*i)) | tag<<(8*i)
	l.meta++
}

func (l *leaf[V]) tag(i int) uint64 { return l.tags >> (8 * i) & 0xff }

// remove fills the gap at i with the last value.
func (l *leaf[V]) remove(i int) {
	last := l.len() - 1
	tag := l.tag(last)
	l.vals[i] = l.vals[last]
	l.tags = l.tags&^(0xff<<(8*i)) | tag<<(8*i)
	// A slot that is out of use must not keep its value in memory.
	var zero V
	l.vals[last] = zero
	l.meta--
}
