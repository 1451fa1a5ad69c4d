package indexer

import (
	"iter"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/indexer/internal/pmap"
	"github.com/informerkit/informerkit/internal/object"
)

// ChangeType says what happened to an object: [Added], [Updated] or [Deleted]. Packages
// informer and deltafifo have the same type and constants, so their values compare. It
// prints as its name, also in JSON.
type ChangeType = object.ChangeType

// What can have happened to an object between two snapshots.
const (
	Added   = object.Added
	Updated = object.Updated
	Deleted = object.Deleted
)

// Change is one difference between two snapshots. Old is set unless the type is
// Added, New unless it is Deleted.
//
// An informer's Event is a Change and how it was found. A Delta of package deltafifo is a
// change as it was received, without the old state.
type Change[T Object] struct {
	Type     ChangeType
	Key      types.NamespacedName
	Old, New T
}

// Diff iterates over the changes from old to new: each key once, in no particular
// order. Versions in between are not seen; an object that was deleted and created
// again is Updated, with two UIDs. A nil snapshot counts as empty.
//
// Snapshots of one indexer share what did not change, and shared parts are
// skipped: the cost follows the difference, not the store. Snapshots of two
// indexers may be compared too, which visits every object.
func Diff[T Object](old, new *Snapshot[T]) iter.Seq[Change[T]] {
	return func(yield func(Change[T]) bool) {
		switch {
		case old == new:
		case old == nil || new == nil || old.shared != new.shared:
			// Another indexer has another hash seed, so the same key is at another place
			// in its trie and structures cannot be compared.
			diffSlow(old, new, yield)
		default:
			if diffKeys(old, new, yield) {
				diffObjects(old, new, yield)
			}
		}
	}
}

// diffKeys yields the keys that came, went, or have an object with another number: it was
// deleted and created again. It reports whether yield never returned false.
func diffKeys[T Object](old, new *Snapshot[T], yield func(Change[T]) bool) bool {
	sh := old.shared
	records := pmap.Compare[record]{
		Hash:    record.hashed,
		SameKey: func(a, b record) bool { return a.name == b.name },
		Equal:   func(a, b record) bool { return a.number == b.number },
	}
	// A bucket is copied by each batch that adds to its namespace or deletes from it. Its
	// trie says whether there is anything to compare below.
	buckets := pmap.Compare[*bucket]{
		Hash:    func(s *bucket) uint64 { return sh.hasher.str(s.name) },
		SameKey: func(a, b *bucket) bool { return a.name == b.name },
		Equal:   func(a, b *bucket) bool { return a.records.Same(b.records) },
	}
	return pmap.Diff(old.buckets, new.buckets, buckets, func(d pmap.Delta[*bucket]) bool {
		var a, b pmap.Trie[record]
		namespace := ""
		if d.HasOld {
			namespace, a = d.Old.name, d.Old.records
		}
		if d.HasNew {
			namespace, b = d.New.name, d.New.records
		}
		// A namespace that came or went is compared with an empty trie, so that each of
		// its objects is reported.
		return pmap.Diff(a, b, records, func(d pmap.Delta[record]) bool {
			c := Change[T]{Type: Updated, Key: types.NamespacedName{Namespace: namespace, Name: d.New.name}}
			switch {
			case !d.HasOld:
				c.Type = Added
			case !d.HasNew:
				c.Type, c.Key.Name = Deleted, d.Old.name
			}
			if d.HasOld {
				c.Old = old.objs.Get(d.Old.number).obj
			}
			if d.HasNew {
				c.New = new.objs.Get(d.New.number).obj
			}
			// The same object may have been deleted and stored again.
			return identical(c.Old, c.New) || yield(c)
		})
	})
}

// unchanged reports whether a and b have the same object.
func unchanged[T Object](a, b stored[T]) bool { return identical(a.obj, b.obj) }

// diffObjects yields the objects that have another version under the same number.
//
// Equality is identity of pointers. Comparing contents would visit the memory of every
// changed object, and a Set of another pointer is an update by definition.
func diffObjects[T Object](old, new *Snapshot[T], yield func(Change[T]) bool) {
	pmap.DiffArrays(old.objs, new.objs, unchanged, func(_ uint32, d pmap.Delta[stored[T]]) bool {
		if !d.HasOld || !d.HasNew {
			return true // diffKeys has yielded it
		}
		// A number that is free is given to another object: diffKeys has yielded both.
		key := object.KeyOf(d.New.obj)
		if key != object.KeyOf(d.Old.obj) {
			return true
		}
		return yield(Change[T]{Type: Updated, Key: key, Old: d.Old.obj, New: d.New.obj})
	})
}

// diffSlow compares snapshots that share nothing, with a look-up for each object.
func diffSlow[T Object](old, new *Snapshot[T], yield func(Change[T]) bool) {
	if old != nil {
		for o := range old.All() {
			key := object.KeyOf(o)
			c := Change[T]{Type: Deleted, Key: key, Old: o}
			if new != nil {
				if n, ok := new.Get(key); ok {
					if identical(o, n) {
						continue
					}
					c.Type, c.New = Updated, n
				}
			}
			if !yield(c) {
				return
			}
		}
	}
	if new == nil {
		return
	}
	for n := range new.All() {
		key := object.KeyOf(n)
		if old != nil {
			// Yielded above, as Updated, or not at all because it is the same pointer.
			if _, ok := old.Get(key); ok {
				continue
			}
		}
		if !yield(Change[T]{Type: Added, Key: key, New: n}) {
			return
		}
	}
}
