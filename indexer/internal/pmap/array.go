package pmap

import (
	"math/bits"
	"sync/atomic"
	"unsafe"
)

const (
	// arrayBits is how many bits of a number one level of an [Array] uses up, and
	// arrayFan how many slots a node therefore has.
	arrayBits = 3
	arrayFan  = 1 << arrayBits

	// arrayDepth is more than the nodes above the leaf of any number. It is a power of two, so that
	// the compiler sees that an index is within bounds.
	arrayDepth = 16

	// NearBits is how many low bits of a number are its place in what [Array.Near] returns.
	NearBits = arrayBits

	// allFull is the mask of a node none of whose slots has room.
	allFull = 1<<arrayFan - 1

	// ownsKeys is the bit of a leaf's meta word that is set if the keys, too, belong to
	// the generation of the leaf.
	ownsKeys = 1 << arrayFan

	// arrayGen leaves the low bits of a meta word to the mask and to what is above.
	arrayGen = 2 * arrayFan
)

// Array is one immutable version of a set of values, each of which has a small number
// that it keeps. Add chooses the lowest number that is free, so the numbers stay dense.
// The zero value is empty. Copying an Array is how a version is kept.
//
// Beside its value a number has a key, which is for what stays when the value changes. The
// keys of eight neighbours, from a multiple of eight on, are one K, which Set does not copy. What
// is in it is up to the caller, who edits it after Add and Remove. It is nil in an array
// without keys.
//
// The root is part of the Array, for it is copied by each batch in any case.
type Array[V, K any] struct {
	kids [arrayFan]unsafe.Pointer // *arrayNode, or *arrayLeaf[V, K] if shift is arrayBits
	// shift is where in a number the bits of the root begin. 0 is that of an empty
	// Array, and means arrayBits.
	shift uint8
	full  uint8 // bit i: there is no free number below kids[i]
	n     uint32
}

// arrayNode is a node whose children are nodes or leaves; the level says which.
type arrayNode struct {
	meta uint64 // gen<<arrayGen | mask of the full children
	kids [arrayFan]unsafe.Pointer
}

// arrayLeaf holds the values of eight neighbouring numbers.
type arrayLeaf[V, K any] struct {
	meta uint64 // gen<<arrayGen | ownsKeys | mask of the numbers in use
	keys *K
	vals [arrayFan]V
}

// Len returns the number of values.
func (a *Array[V, K]) Len() int { return int(a.n) }

// Get returns the value with that number, which must be in use in this version.
func (a *Array[V, K]) Get(i uint32) V {
	shift := a.shift
	p := a.kids[i>>(shift&31)&(arrayFan-1)]
	for shift -= arrayBits; shift > 0; shift -= arrayBits {
		p = (*arrayNode)(p).kids[i>>(shift&31)&(arrayFan-1)]
	}
	return (*arrayLeaf[V, K])(p).vals[i&(arrayFan-1)]
}

// Near returns the value with that number, which must be in use in this version, among its
// neighbours, whose numbers differ only in the low [NearBits] bits: these are the places. One
// whose number is free is zero. The values belong to the array and must not be changed.
func (a *Array[V, K]) Near(i uint32) *[arrayFan]V { return &a.leaf(i).vals }

// Find returns the value with that number, and the keys of it and its neighbours, which must
// not be changed, and whether the number is in use in this version.
func (a *Array[V, K]) Find(i uint32) (v V, keys *K, used bool) {
	l := a.leaf(i)
	at := i & (arrayFan - 1)
	if l == nil || l.meta>>at&1 == 0 {
		return v, nil, false
	}
	return l.vals[at], l.keys, true
}

// Keys returns the keys of the number and its neighbours, or nil if none of them is in use
// in this version.
func (a *Array[V, K]) Keys(i uint32) *K {
	if l := a.leaf(i); l != nil {
		return l.keys
	}
	return nil
}

// Prefetch reads the leaf of a number, if there is one, into the caches of the processor,
// which goes on meanwhile. It is for a Set that is about to follow. Any number will do.
func (a *Array[V, K]) Prefetch(i uint32) {
	if l := a.leaf(i); l != nil {
		atomic.LoadUint64(&l.meta) // which the compiler leaves in
	}
}

// leaf returns the leaf of that number, or nil if there is none.
func (a *Array[V, K]) leaf(i uint32) *arrayLeaf[V, K] {
	if a.shift == 0 || uint64(i)>>(a.shift&31) >= arrayFan {
		return nil
	}
	p := a.kids[i>>(a.shift&31)&(arrayFan-1)]
	for shift := a.shift - arrayBits; p != nil && shift > 0; shift -= arrayBits {
		p = (*arrayNode)(p).kids[i>>(shift&31)&(arrayFan-1)]
	}
	return (*arrayLeaf[V, K])(p)
}

// Set puts v in the place of the value with that number, which must be in use, and
// returns the old one. For gen see [Trie.Put].
func (a *Array[V, K]) Set(gen uint64, i uint32, v V) (old V) {
	at := &a.kids[i>>(a.shift&31)&(arrayFan-1)]
	for shift := a.shift - arrayBits; shift > 0; shift -= arrayBits {
		n := (*arrayNode)(*at).own(gen)
		*at = unsafe.Pointer(n)
		at = &n.kids[i>>(shift&31)&(arrayFan-1)]
	}
	l := (*arrayLeaf[V, K])(*at).own(gen)
	*at = unsafe.Pointer(l)
	old, l.vals[i&(arrayFan-1)] = l.vals[i&(arrayFan-1)], v
	return old
}

// Edit is where an array has the keys of a number and its neighbours, for a batch to store
// others there.
type Edit[K any] struct {
	Keys **K
	Own  bool // the batch stored what is there, so it may also change that
}

// Add stores v under the lowest number that is free, and returns that. For gen see [Trie.Put].
func (a *Array[V, K]) Add(gen uint64, v V) (number uint32, keys Edit[K]) {
	switch {
	case a.shift == 0:
		a.shift = arrayBits
	case a.full == allFull:
		// One more level, whose first child is what there was.
		n := &arrayNode{meta: gen<<arrayGen | allFull, kids: a.kids}
		a.kids = [arrayFan]unsafe.Pointer{unsafe.Pointer(n)}
		a.full = 1
		a.shift += arrayBits
	}
	a.n++
	i := uint32(bits.TrailingZeros8(^a.full))
	number = i << (a.shift & 31)
	at := &a.kids[i]
	var path [arrayDepth]*arrayNode
	depth := 0
	for shift := a.shift - arrayBits; shift > 0; shift -= arrayBits {
		n := (*arrayNode)(*at)
		if n == nil || n.meta>>arrayGen != gen {
			n = n.own(gen)
			*at = unsafe.Pointer(n)
		}
		path[depth&(arrayDepth-1)] = n
		depth++
		i := uint32(bits.TrailingZeros8(^uint8(n.meta))) & (arrayFan - 1)
		number |= i << (shift & 31)
		at = &n.kids[i]
	}
	l := (*arrayLeaf[V, K])(*at)
	if l == nil || l.meta>>arrayGen != gen {
		l = l.own(gen)
		*at = unsafe.Pointer(l)
	}
	i = uint32(bits.TrailingZeros8(^uint8(l.meta))) & (arrayFan - 1)
	l.vals[i] = v
	l.meta |= 1 << i
	number |= i
	// The nodes above a leaf that has no room any more may have none either.
	full := uint8(l.meta) == allFull
	for shift := uint8(arrayBits); full; shift += arrayBits {
		bit := number >> (shift & 31) & (arrayFan - 1)
		if depth == 0 {
			a.full |= 1 << bit
			break
		}
		depth--
		n := path[depth&(arrayDepth-1)]
		n.meta |= 1 << bit
		full = uint8(n.meta) == allFull
	}
	return number, l.edit()
}

// Remove takes out the value with that number, which must be in use, and returns it.
// The number is free then. There are no keys to edit if none of the neighbours is in use
// any more. For gen see [Trie.Put].
func (a *Array[V, K]) Remove(gen uint64, i uint32) (old V, keys Edit[K]) {
	at := i >> (a.shift & 31) & (arrayFan - 1)
	old, keys = removeBelow[V, K](&a.kids[at], uint(a.shift)-arrayBits, gen, i)
	a.full &^= 1 << at
	a.n--
	if a.n == 0 {
		*a = Array[V, K]{}
		return old, keys
	}
	// The level that Add once put in between goes when only its first child is left.
	for a.shift > arrayBits && a.onlyFirst() {
		n := (*arrayNode)(a.kids[0])
		a.kids, a.full = n.kids, uint8(n.meta)
		a.shift -= arrayBits
	}
	return old, keys
}

// onlyFirst reports whether all numbers in use are below the first child of the root.
func (a *Array[V, K]) onlyFirst() bool {
	for _, k := range a.kids[1:] {
		if k != nil {
			return false
		}
	}
	return true
}

// removeBelow takes the value with number i out of what is below the slot at, and clears
// the slot if nothing is left.
func removeBelow[V, K any](at *unsafe.Pointer, shift uint, gen uint64, i uint32) (old V, keys Edit[K]) {
	if shift == 0 {
		var zero V
		l := (*arrayLeaf[V, K])(*at)
		i &= arrayFan - 1
		old = l.vals[i]
		if uint8(l.meta) == 1<<i {
			*at = nil
			return old, keys
		}
		l = l.own(gen)
		*at = unsafe.Pointer(l)
		l.vals[i] = zero // A slot that is out of use must not keep its value in memory.
		l.meta &^= 1 << i
		return old, l.edit()
	}
	n := (*arrayNode)(*at).own(gen)
	*at = unsafe.Pointer(n)
	k := i >> shift & (arrayFan - 1)
	old, keys = removeBelow[V, K](&n.kids[k], shift-arrayBits, gen, i)
	n.meta &^= 1 << k
	if n.kids == [arrayFan]unsafe.Pointer{} {
		*at = nil
	}
	return old, keys
}

// own returns n if the batch gen made it, and else a copy that belongs to gen, or a new one if n
// is nil.
func (n *arrayNode) own(gen uint64) *arrayNode {
	if n == nil {
		return &arrayNode{meta: gen << arrayGen}
	}
	if n.meta>>arrayGen == gen {
		return n
	}
	return &arrayNode{meta: gen<<arrayGen | n.meta&allFull, kids: n.kids}
}

// own returns l if the batch gen made it, and else a copy that belongs to gen, with keys
// that do not, or a new one if l is nil.
func (l *arrayLeaf[V, K]) own(gen uint64) *arrayLeaf[V, K] {
	if l == nil {
		return &arrayLeaf[V, K]{meta: gen << arrayGen}
	}
	if l.meta>>arrayGen == gen {
		return l
	}
	return &arrayLeaf[V, K]{meta: gen<<arrayGen | l.meta&allFull, keys: l.keys, vals: l.vals}
}

// edit returns where l, which the batch owns, has its keys. The batch owns what it stores there.
func (l *arrayLeaf[V, K]) edit() Edit[K] {
	own := l.meta&ownsKeys != 0
	l.meta |= ownsKeys
	return Edit[K]{&l.keys, own}
}

// Runs calls yield with the values in the order of their numbers, up to eight at a time, until
// it returns false, and reports whether it came to the end. The slices belong to the
// array: they must not be changed, and are valid as long as the version.
func (a *Array[V, K]) Runs(yield func([]V) bool) bool {
	if a.shift == 0 {
		return true
	}
	return arrayRuns[V, K](&a.kids, uint(a.shift)-arrayBits, yield)
}

// arrayRuns walks the children kids, which divide numbers from bit shift on.
func arrayRuns[V, K any](kids *[arrayFan]unsafe.Pointer, shift uint, yield func([]V) bool) bool {
	if shift > 0 {
		for _, k := range kids {
			if k != nil && !arrayRuns[V, K](&(*arrayNode)(k).kids, shift-arrayBits, yield) {
				return false
			}
		}
		return true
	}
	// The memory of all leaves is asked for before the first is used, so that the misses
	// do not come one after the other.
	var used uint64
	for _, k := range kids {
		if k != nil {
			used |= (*arrayLeaf[V, K])(k).meta
		}
	}
	if used == 0 {
		return true // never: there are no empty nodes
	}
	for _, k := range kids {
		if k != nil && !(*arrayLeaf[V, K])(k).runs(yield) {
			return false
		}
	}
	return true
}

// runs calls yield with each run of values that have no free number in between.
func (l *arrayLeaf[V, K]) runs(yield func([]V) bool) bool {
	if uint8(l.meta) == allFull {
		return yield(l.vals[:])
	}
	for used := uint8(l.meta); used != 0; {
		from := bits.TrailingZeros8(used)
		to := from + bits.TrailingZeros8(^(used >> from))
		if !yield(l.vals[from:to]) {
			return false
		}
		used &= allFull << to
	}
	return true
}

// ArrayDelta is what one number has in two versions of an [Array]: its value, the keys of it and its
// neighbours, which must not be changed, and whether it is in use in that version.
type ArrayDelta[V, K any] struct {
	Old, New         V
	OldKeys, NewKeys *K
	HasOld, HasNew   bool
}

// DiffArrays yields each number under which the versions may have different values or
// keys: those of the leaves that they do not share. It does not visit what they share, and
// reports whether yield never returned false.
func DiffArrays[V, K any](a, b Array[V, K], yield func(number uint32, d *ArrayDelta[V, K]) bool) bool {
	d := arrayDiffer[V, K]{yield: yield}
	// The levels must be equal for a comparison side by side. A level in between is what
	// Add would have put there.
	for a.shift < b.shift {
		a = a.raised()
	}
	for b.shift < a.shift {
		b = b.raised()
	}
	return a.shift == 0 || d.kids(&a.kids, &b.kids, uint(a.shift), 0)
}

// raised returns the same values in an array of one more level.
func (a Array[V, K]) raised() Array[V, K] {
	if a.shift == 0 {
		return Array[V, K]{shift: arrayBits}
	}
	r := Array[V, K]{shift: a.shift + arrayBits, n: a.n}
	if a.n > 0 {
		r.kids[0] = unsafe.Pointer(&arrayNode{kids: a.kids})
	}
	return r
}

// arrayDiffer holds what all steps of one DiffArrays share.
type arrayDiffer[V, K any] struct {
	yield func(number uint32, d *ArrayDelta[V, K]) bool
	delta ArrayDelta[V, K]
}

// kids compares the children a and b, which divide numbers from bit shift on; their
// numbers begin with the bits of number.
func (d *arrayDiffer[V, K]) kids(a, b *[arrayFan]unsafe.Pointer, shift uint, number uint32) bool {
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		number := number | uint32(i)<<shift
		if shift == arrayBits {
			if !d.leaf((*arrayLeaf[V, K])(a[i]), (*arrayLeaf[V, K])(b[i]), number) {
				return false
			}
			continue
		}
		m, n := (*arrayNode)(a[i]), (*arrayNode)(b[i])
		if m == nil {
			m = &arrayNode{}
		}
		if n == nil {
			n = &arrayNode{}
		}
		if !d.kids(&m.kids, &n.kids, shift-arrayBits, number) {
			return false
		}
	}
	return true
}

// leaf compares two leaves, of which one may be nil.
func (d *arrayDiffer[V, K]) leaf(l, m *arrayLeaf[V, K], number uint32) bool {
	for i := range uint32(arrayFan) {
		d.delta = ArrayDelta[V, K]{}
		if l != nil && l.meta>>i&1 != 0 {
			d.delta.Old, d.delta.OldKeys, d.delta.HasOld = l.vals[i], l.keys, true
		}
		if m != nil && m.meta>>i&1 != 0 {
			d.delta.New, d.delta.NewKeys, d.delta.HasNew = m.vals[i], m.keys, true
		}
		if !d.delta.HasOld && !d.delta.HasNew {
			continue
		}
		if !d.yield(number|i, &d.delta) {
			return false
		}
	}
	return true
}

// Each calls yield with each value, its number, and the keys of it and its neighbours, which must
// not be changed, in the order of the numbers, until it returns false. It reports whether it
// came to the end.
func (a *Array[V, K]) Each(yield func(number uint32, v V, keys *K) bool) bool {
	return DiffArrays(Array[V, K]{}, *a, func(number uint32, d *ArrayDelta[V, K]) bool {
		return yield(number, d.New, d.NewKeys)
	})
}

// Bytes returns the memory of the nodes of the array, without the Array itself, in the
// sizes that size returns for allocations, and that of the keys as keys returns it; nil stands
// for none. It takes a time proportional to their number.
func (a *Array[V, K]) Bytes(size func(n uintptr) int, keys func(*K) int) int {
	if a.shift == 0 {
		return 0
	}
	return arrayBytes[V, K](&a.kids, uint(a.shift)-arrayBits, size, keys)
}

func arrayBytes[V, K any](kids *[arrayFan]unsafe.Pointer, shift uint, size func(n uintptr) int, keys func(*K) int) (total int) {
	for _, k := range kids {
		switch {
		case k == nil:
		case shift == 0:
			total += size(unsafe.Sizeof(arrayLeaf[V, K]{}))
			if keys != nil {
				total += keys((*arrayLeaf[V, K])(k).keys)
			}
		default:
			total += size(unsafe.Sizeof(arrayNode{})) + arrayBytes[V, K](&(*arrayNode)(k).kids, shift-arrayBits, size, keys)
		}
	}
	return total
}
