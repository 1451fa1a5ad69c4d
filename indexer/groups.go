package indexer

import (
	"iter"
	"math/bits"

	"github.com/informerkit/informerkit/indexer/internal/pmap"
)

// groups is one version of a map from values to the objects that have them. The objects are there by
// number, so that an update of one changes nothing here as long as its values stay.
type groups[K comparable] struct{ set pmap.Set[groupAt[K]] }

// group holds the numbers of the objects that have one value. There is no empty one.
type group[K comparable] struct {
	edit pmap.Edit
	// value is a slice of one, which all objects with no other value share.
	value   []K
	numbers pmap.Set[number]
}

// groupAt is a group and the hash of its value.
type groupAt[K comparable] struct {
	hash uint32
	*group[K]
}

// Hash implements [pmap.Element].
func (g groupAt[K]) Hash() uint32 { return g.hash }

// LeafCap implements [pmap.Element].
func (groupAt[K]) LeafCap() int { return 16 }

// number is the number of an object.
type number uint32

// Hash implements [pmap.Element]. Numbers are dense, and nobody can choose them. As the factor is
// odd, no two have the same hash. Its best bits are the upper ones, and a set begins with the lower.
func (n number) Hash() uint32 { return bits.RotateLeft32(uint32(n)*0x9e3779b1, 16) }

// LeafCap implements [pmap.Element]. The objects that have one value are often a hundred, such as the
// pods of a node: then they are one piece of memory.
func (number) LeafCap() int { return 128 }

// find returns the group of k, which is nil if no object has it.
func (gs *groups[K]) find(sh *shared, k K) groupAt[K] {
	h := hash(sh, k)
	for _, g := range gs.set.Find(h) {
		if g.hash == h && g.value[0] == k {
			return g
		}
	}
	return groupAt[K]{hash: h}
}

// numbers returns the objects that have the value k.
func (gs *groups[K]) numbers(sh *shared, k K) *pmap.Set[number] {
	if g := gs.find(sh, k); g.group != nil {
		return &g.numbers
	}
	return &pmap.Set[number]{}
}

// values iterates over the values that at least one object has.
func (gs *groups[K]) values() iter.Seq[K] {
	return func(yield func(K) bool) {
		gs.set.All()(func(g groupAt[K]) bool { return yield(g.value[0]) })
	}
}

// add adds an object, which must not be there, to the group of k, and returns that.
func (gs *groups[K]) add(e pmap.Edit, sh *shared, k K, n number) *group[K] {
	g := gs.find(sh, k)
	if g.group == nil {
		g.group = &group[K]{edit: e, value: []K{k}}
		gs.set.Add(e, g)
	} else {
		g = gs.own(e, g)
	}
	g.numbers.Add(e, n)
	return g.group
}

// remove removes an object, which must be there, from the group of k.
func (gs *groups[K]) remove(e pmap.Edit, sh *shared, k K, n number) {
	g := gs.find(sh, k)
	if g.numbers.Len() == 1 {
		gs.set.Delete(e, g)
		return
	}
	g = gs.own(e, g)
	g.numbers.Delete(e, n)
}

// own returns a group to edit: g itself if it belongs to the batch, else a copy in its place.
func (gs *groups[K]) own(e pmap.Edit, g groupAt[K]) groupAt[K] {
	if g.edit == e {
		return g
	}
	c := *g.group
	c.edit = e
	own := groupAt[K]{g.hash, &c}
	gs.set.Replace(e, g, own)
	return own
}
