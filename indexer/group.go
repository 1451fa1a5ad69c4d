package indexer

import (
	"slices"

	"github.com/informerkit/informerkit/indexer/internal/pmap"
	"github.com/informerkit/informerkit/internal/object"
)

// smallGroup is how many objects a group keeps in a plain slice. Most values
// of most indexes (an owner, a claim, an address) belong to very few objects.
const smallGroup = 8

// group holds the objects that have one value in one index.
//
// Objects are compared by pointer, not by key: the writer always knows the
// version it replaces, and reading a key would touch the object's memory.
type group[T Object, K comparable] struct {
	key K
	gen uint64
	// At most smallGroup pointers in one allocation. A trie would cost a leaf for each
	// group.
	small []T          // if there are few
	objs  pmap.Trie[T] // if there are many
}

func (g *group[T, K]) len() int { return len(g.small) + g.objs.Len() }

// each calls yield for every object until yield returns false, and reports whether it
// came to the end.
func (g *group[T, K]) each(yield func(T) bool) bool {
	for _, o := range g.small {
		if !yield(o) {
			return false
		}
	}
	return g.objs.Each(yield)
}

// edit returns the group of k for the batch gen to edit, or nil.
func (t *indexTable[T, K]) edit(gen uint64, k K, h uint64) *group[T, K] {
	at := t.groups.Edit(gen, h, func(g *group[T, K]) bool { return g.key == k })
	if at == nil {
		return nil
	}
	// A published group is read without a lock, so the struct and its slice are copied
	// once per batch. Both then belong to the batch and are edited in place.
	if g := *at; g.gen != gen {
		c := *g
		c.gen = gen
		c.small = slices.Clone(g.small)
		*at = &c
	}
	return *at
}

func (t *indexTable[T, K]) put(gen uint64, g *group[T, K], h uint64) {
	t.groups.Put(gen, h, g, func(o *group[T, K]) bool { return o.key == g.key }, t.hashGroup)
}

func (t *indexTable[T, K]) hashGroup(g *group[T, K]) uint64 {
	return hashValue(t.state.shared.hasher, g.key)
}

// add puts an object into the group of k.
func (t *indexTable[T, K]) add(gen uint64, k K, e entry[T]) {
	h := hashValue(t.state.shared.hasher, k)
	g := t.edit(gen, k, h)
	switch {
	case g == nil:
		t.put(gen, &group[T, K]{key: k, gen: gen, small: []T{e.obj}}, h)
		return
	case g.objs.Len() == 0 && len(g.small) < smallGroup:
		g.small = append(g.small, e.obj)
		return
	}
	// The ninth object. A group that shrinks again stays a trie: one whose size varies
	// around the limit would otherwise be converted back and forth.
	for _, o := range g.small {
		g.objs.Put(gen, t.hashObject(o), o, never, t.hashObject)
	}
	g.small = nil
	g.objs.Put(gen, e.hash, e.obj, never, t.hashObject)
}

// remove takes an object out of the group of k; it reports false if it is not there.
func (t *indexTable[T, K]) remove(gen uint64, k K, e entry[T]) bool {
	h := hashValue(t.state.shared.hasher, k)
	g := t.edit(gen, k, h)
	if g == nil {
		return false
	}
	if i := slices.IndexFunc(g.small, e.is); i >= 0 {
		// slices.Delete clears the slot behind the last element. Without that the array
		// would keep the removed object in memory.
		g.small = slices.Delete(g.small, i, i+1)
	} else if _, ok := g.objs.Remove(gen, e.hash, e.is); !ok {
		return false
	}
	if g.len() == 0 {
		t.groups.Remove(gen, h, func(o *group[T, K]) bool { return o.key == k })
	}
	return true
}

// replace puts a new version in the place of an old one, in the group of k; it
// reports false if the old one is not there.
func (t *indexTable[T, K]) replace(gen uint64, k K, before, after entry[T]) bool {
	g := t.edit(gen, k, hashValue(t.state.shared.hasher, k))
	if g == nil {
		return false
	}
	if i := slices.IndexFunc(g.small, before.is); i >= 0 {
		// In place: edit has made the slice the batch's own.
		g.small[i] = after.obj
		return true
	}
	// Both versions have the same key and hash, so the new one belongs in the same slot.
	at := g.objs.Edit(gen, before.hash, before.is)
	if at == nil {
		return false
	}
	*at = after.obj
	return true
}

// removeSlow takes obj out of the group of k although the hash it was stored
// under is not known any more, by building the group from scratch.
func (t *indexTable[T, K]) removeSlow(gen uint64, k K, obj T) {
	h := hashValue(t.state.shared.hasher, k)
	g := t.find(k)
	// Filtering by pointer needs no hash of obj, whose key may have been modified. The
	// cost is proportional to the group, which is acceptable for a repair.
	c := &group[T, K]{key: k, gen: gen}
	if g.len()-1 > smallGroup {
		g.each(func(o T) bool {
			if !identical(o, obj) {
				c.objs.Put(gen, t.hashObject(o), o, never, t.hashObject)
			}
			return true
		})
	} else {
		g.each(func(o T) bool {
			if !identical(o, obj) {
				c.small = append(c.small, o)
			}
			return true
		})
	}
	if c.len() == 0 {
		t.groups.Remove(gen, h, func(o *group[T, K]) bool { return o.key == k })
		return
	}
	t.put(gen, c, h)
}

// hashObject reads the object for its key. It is needed only when a leaf is divided or a
// group becomes a trie; look-ups get the hash from the writer.
func (t *indexTable[T, K]) hashObject(o T) uint64 {
	return t.state.shared.hasher.key(object.KeyOf(o))
}

func (e entry[T]) is(o T) bool { return identical(o, e.obj) }

// never is the comparison for a Put of a value that is certainly new.
func never[V any](V) bool { return false }

// len returns how many objects have the value k.
func (t *indexTable[T, K]) len(k K) int {
	if g := t.find(k); g != nil {
		return g.len()
	}
	return 0
}
