package indexer

import (
	"slices"

	"github.com/informerkit/informerkit/indexer/internal/pmap"
)

// smallGroup is how many objects a group keeps in a plain slice. Most values
// of most indexes (an owner, a claim, an address) belong to few objects.
const smallGroup = 32

// group holds the numbers of the objects that have one value in one index.
//
// An object keeps its number when it is updated, so that an update after which it has
// the same value leaves the group alone.
type group[K comparable] struct {
	key K
	gen uint64
	// At most smallGroup numbers in one allocation. A trie would cost a leaf for each
	// group.
	small []uint32          // if there are few
	many  pmap.Trie[uint32] // if there are many
}

func (g *group[K]) len() int { return len(g.small) + g.many.Len() }

// has reports whether the object with that number is in the group.
func (g *group[K]) has(number uint32) bool {
	if g.many.Len() == 0 {
		return slices.Contains(g.small, number)
	}
	_, ok := g.many.Find(hashNumber(number), is(number))
	return ok
}

// is returns the comparison for a search of that number in a trie.
func is(number uint32) func(uint32) bool { return func(n uint32) bool { return n == number } }

// newNumbers returns an empty slice with room for n numbers, and for four at least. Less
// than 16 bytes would share a block with other small allocations, and keep all of it.
func newNumbers(n int) []uint32 { return make([]uint32, 0, max(n, 4)) }

// eachOf calls yield for every object of the group until yield returns false, and
// reports whether it came to the end.
func eachOf[T Object, K comparable](s *Snapshot[T], g *group[K], yield func(T) bool) bool {
	run := func(numbers []uint32) bool { return s.yieldAll(numbers, yield) }
	return run(g.small) && g.many.Runs(run)
}

// edit returns the group of k for the batch gen to edit, or nil.
func (t *indexTable[T, K]) edit(gen uint64, k K, h uint64) *group[K] {
	at := t.groups.Edit(gen, h, func(g *group[K]) bool { return g.key == k })
	if at == nil {
		return nil
	}
	// A published group is read without a lock, so the struct and its slice are copied
	// once per batch. Both then belong to the batch and are edited in place.
	if g := *at; g.gen != gen {
		c := *g
		c.gen = gen
		if g.small != nil {
			c.small = append(newNumbers(len(g.small)), g.small...)
		}
		*at = &c
	}
	return *at
}

func (t *indexTable[T, K]) hashGroup(g *group[K]) uint64 {
	return hashValue(t.state.shared.hasher, g.key)
}

// has reports whether the object with that number is in the group of k.
func (t *indexTable[T, K]) has(k K, number uint32) bool {
	g := t.find(k)
	return g != nil && g.has(number)
}

// add puts an object into the group of k.
func (t *indexTable[T, K]) add(gen uint64, k K, number uint32) {
	h := hashValue(t.state.shared.hasher, k)
	g := t.edit(gen, k, h)
	switch {
	case g == nil:
		t.groups.Put(gen, h, &group[K]{key: k, gen: gen, small: append(newNumbers(1), number)}, never, t.hashGroup)
		return
	case g.many.Len() == 0 && len(g.small) < smallGroup:
		g.small = append(g.small, number)
		return
	}
	// One more than fit. A group that shrinks again stays a trie: one whose size varies
	// around the limit would otherwise be converted back and forth.
	for _, n := range g.small {
		g.many.Put(gen, hashNumber(n), n, never, hashNumber)
	}
	g.small = nil
	g.many.Put(gen, hashNumber(number), number, never, hashNumber)
}

// remove takes an object out of the group of k; it reports false if it is not there.
func (t *indexTable[T, K]) remove(gen uint64, k K, number uint32) bool {
	h := hashValue(t.state.shared.hasher, k)
	g := t.edit(gen, k, h)
	if g == nil {
		return false
	}
	if i := slices.Index(g.small, number); i >= 0 {
		g.small = slices.Delete(g.small, i, i+1)
	} else if _, ok := g.many.Remove(gen, hashNumber(number), is(number)); !ok {
		return false
	}
	if g.len() == 0 {
		t.groups.Remove(gen, h, func(o *group[K]) bool { return o.key == k })
	}
	return true
}

// never is the comparison for a Put of a value that is certainly new.
func never[V any](V) bool { return false }

// len returns how many objects have the value k.
func (t *indexTable[T, K]) len(k K) int {
	if g := t.find(k); g != nil {
		return g.len()
	}
	return 0
}
