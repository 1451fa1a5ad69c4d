package indexer

import (
	"slices"

	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/internal/pmap"
)

// smallGroup is how many objects a group keeps in a plain slice. Most values
// of most indexes (an owner, a claim, an address) belong to very few objects.
const smallGroup = 8

// group holds the objects that have one value in one index.
//
// Members are told apart by pointer, not by key: the writer always knows the
// version it replaces, and reading a key would touch the object's memory.
type group[T Object, K comparable] struct {
	key   K
	gen   uint64
	small []T          // if there are few
	objs  pmap.Trie[T] // if there are many
}

func (g *group[T, K]) len() int { return len(g.small) + g.objs.Len() }

func (g *group[T, K]) each(yield func(T) bool) bool {
	for _, o := range g.small {
		if !yield(o) {
			return false
		}
	}
	return g.objs.Each(yield)
}

// edit returns the group to edit in the batch gen, having put it in place.
func (t *indexTable[T, K]) edit(gen uint64, g *group[T, K], h uint64) *group[T, K] {
	if g.gen == gen {
		return g
	}
	c := *g
	c.gen = gen
	c.small = slices.Clone(g.small)
	t.put(gen, &c, h)
	return &c
}

func (t *indexTable[T, K]) put(gen uint64, g *group[T, K], h uint64) {
	t.groups.Put(gen, h, g, func(o *group[T, K]) bool { return o.key == g.key }, t.hashGroup)
}

func (t *indexTable[T, K]) hashGroup(g *group[T, K]) uint64 {
	return hashValue(t.state.shared.hasher, g.key)
}

// add puts an object into the group of k.
func (t *indexTable[T, K]) add(gen uint64, k K, e entry[T]) {
	g, h := t.find(k)
	if g == nil {
		t.put(gen, &group[T, K]{key: k, gen: gen, small: []T{e.obj}}, h)
		return
	}
	g = t.edit(gen, g, h)
	if g.objs.Len() == 0 {
		if len(g.small) < smallGroup {
			g.small = append(g.small, e.obj)
			return
		}
		for _, o := range g.small {
			g.objs.Put(gen, t.hashObject(o), o, never[T], t.hashObject)
		}
		g.small = nil
	}
	g.objs.Put(gen, e.hash, e.obj, never[T], t.hashObject)
}

// remove takes an object out of the group of k; it reports false if it is not there.
func (t *indexTable[T, K]) remove(gen uint64, k K, e entry[T]) bool {
	g, h := t.find(k)
	if g == nil {
		return false
	}
	i, ok := g.locate(e)
	switch {
	case !ok:
		return false
	case g.len() == 1:
		t.groups.Remove(gen, h, func(o *group[T, K]) bool { return o.key == k })
		return true
	}
	g = t.edit(gen, g, h)
	if i >= 0 {
		g.small = slices.Delete(g.small, i, i+1)
	} else {
		g.objs.Remove(gen, e.hash, e.is)
	}
	return true
}

// replace puts a new version in the place of an old one, in the group of k; it
// reports false if the old one is not there.
func (t *indexTable[T, K]) replace(gen uint64, k K, before, after entry[T]) bool {
	g, h := t.find(k)
	if g == nil {
		return false
	}
	i, ok := g.locate(before)
	if !ok {
		return false
	}
	g = t.edit(gen, g, h)
	if i >= 0 {
		g.small[i] = after.obj
	} else {
		g.objs.Put(gen, after.hash, after.obj, before.is, t.hashObject)
	}
	return true
}

// locate finds an object: its position in small, or -1 if it is in objs.
func (g *group[T, K]) locate(e entry[T]) (int, bool) {
	if i := slices.IndexFunc(g.small, e.is); i >= 0 {
		return i, true
	}
	_, ok := g.objs.Find(e.hash, e.is)
	return -1, ok
}

// removeSlow takes obj out of the group of k although the hash it was stored
// under is not known any more, by building the group anew.
func (t *indexTable[T, K]) removeSlow(gen uint64, k K, obj T) {
	g, h := t.find(k)
	c := &group[T, K]{key: k, gen: gen}
	if g.len()-1 > smallGroup {
		g.each(func(o T) bool {
			if !identical(o, obj) {
				c.objs.Put(gen, t.hashObject(o), o, never[T], t.hashObject)
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

func (t *indexTable[T, K]) hashObject(o T) uint64 {
	return t.state.shared.hasher.key(object.KeyOf(o))
}

func (e entry[T]) is(o T) bool { return identical(o, e.obj) }

func never[T Object](T) bool { return false }

func (t *indexTable[T, K]) each(s *Snapshot[T], k K, yield func(T) bool) {
	if t.state.index.kind == byNamespace {
		s.ByNamespace(any(k).(string))(yield)
		return
	}
	if g, _ := t.find(k); g != nil {
		g.each(yield)
	}
}

func (t *indexTable[T, K]) len(s *Snapshot[T], k K) int {
	if t.state.index.kind == byNamespace {
		return s.NamespaceLen(any(k).(string))
	}
	if g, _ := t.find(k); g != nil {
		return g.len()
	}
	return 0
}

func (t *indexTable[T, K]) eachValue(s *Snapshot[T], yield func(K) bool) {
	if t.state.index.kind == byNamespace {
		s.Namespaces()(func(ns string) bool { return yield(any(ns).(K)) })
		return
	}
	t.groups.Each(func(g *group[T, K]) bool { return yield(g.key) })
}
