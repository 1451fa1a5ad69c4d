package deltafifo

import (
	"github.com/informerkit/informerkit/internal/object"
	"k8s.io/apimachinery/pkg/types"
)

// Batch is everything that was pending when it was popped. It can be read in two
// ways: in the order of arrival, as the informer does, or by object.
//
//	Deltas    Added web · Added db · Replaced [web cron] @41 · Deleted cron · Bookmark @57
//
//	ByObject  web   [Added, Replaced @41]
//	          db    [Added, Deleted(tombstone)]
//	          cron  [Replaced @41, Deleted]
//
// It must not be modified, and its memory is used again after process has returned. The
// objects in it, and a [List], may be kept.
type Batch[T Object] struct {
	// Deltas are all changes, in the order of arrival. Whatever part of it from
	// the beginning a consumer applies, it has the collection as it was at one point
	// in time. That of a deletion may be of an object that it has not seen.
	Deltas Deltas[T]
	known  KnownObjects[T]
}

// ByObject returns the changes of each object, as one list: objects in the order of
// their first change, and each change of an object in the order of arrival. It turns
// what is about the whole collection into what that means for each object:
//
//	Replaced  ▶ Replaced for each listed object, also behind a Deleted: it was created again;
//	            Deleted, as a tombstone, for each other one that is known or earlier in the batch
//	Sync      ▶ Sync for each known object that is not earlier in the batch
//	Bookmark  ▶ nothing
//
// What is new in the list comes in its order, then tombstones in the order of the
// store. A Deleted of an object that the consumer has not seen is left out. Of two in a
// row one is kept: the first, unless that is a tombstone.
//
// It looks into KnownObjects, so it is called before any of the batch is applied.
func (b Batch[T]) ByObject() []Deltas[T] {
	g := grouping[T]{known: b.known, place: make(map[types.NamespacedName]int, len(b.Deltas))}
	for i := range b.Deltas {
		switch d := &b.Deltas[i]; {
		case !d.aboutAll():
			g.add(b.Deltas[i : i+1 : i+1])
		case d.Type == Replaced:
			g.replace(d.List)
		case d.Type == Sync:
			g.addKnown(Delta[T]{Type: Sync})
		}
	}
	return g.lists
}

// grouping is a ByObject in progress.
type grouping[T Object] struct {
	known KnownObjects[T]
	lists []Deltas[T]
	place map[types.NamespacedName]int // of an object, in lists
}

// add adds one change of an object. It is given as a slice without spare capacity, so
// that an object with one change needs no other memory.
func (g *grouping[T]) add(one Deltas[T]) {
	d := &one[0]
	key := d.Key()
	i, found := g.place[key]
	switch {
	case !found && d.Type == Deleted && !d.putBack && !g.isKnown(key):
	case !found:
		g.place[key] = len(g.lists)
		g.lists = append(g.lists, one)
	case d.Type == Deleted && g.lists[i].Newest().Type == Deleted:
		if last := len(g.lists[i]) - 1; g.lists[i][last].FinalStateUnknown {
			g.lists[i] = append(g.lists[i][:last:last], *d)
		}
	default:
		g.lists[i] = append(g.lists[i], *d)
	}
}

// isKnown reports whether the consumer's store has the object. Without a store, the
// consumer remembers nothing.
func (g *grouping[T]) isKnown(key types.NamespacedName) bool {
	if g.known == nil {
		return false
	}
	_, ok := g.known.Get(key)
	return ok
}

// replace adds what a list says about each object.
func (g *grouping[T]) replace(list *List[T]) {
	replaced := make(Deltas[T], len(list.Objects))
	for i, obj := range list.Objects {
		replaced[i] = Delta[T]{Type: Replaced, Object: obj, List: list}
		g.add(replaced[i : i+1 : i+1])
	}
	for i, deltas := range g.lists {
		newest := deltas.Newest()
		if listed := newest.Type == Replaced && newest.List == list; !listed && newest.Type != Deleted {
			g.lists[i] = append(deltas, Delta[T]{Type: Deleted, FinalStateUnknown: true, Object: newest.Object})
		}
	}
	g.addKnown(Delta[T]{Type: Deleted, FinalStateUnknown: true})
}

// addKnown adds a change like d of each known object that has none yet.
func (g *grouping[T]) addKnown(d Delta[T]) {
	if g.known == nil {
		return
	}
	for obj := range g.known.All() {
		if object.IsNil(obj) {
			continue
		}
		d.Object = obj
		key := d.Key()
		if _, found := g.place[key]; !found {
			g.place[key] = len(g.lists)
			g.lists = append(g.lists, Deltas[T]{d})
		}
	}
}
