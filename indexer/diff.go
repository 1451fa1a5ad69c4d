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
			diffBuckets(old, new, yield)
		}
	}
}

// diffBuckets compares two snapshots of one indexer: first the namespaces, then the
// objects of those that differ.
func diffBuckets[T Object](old, new *Snapshot[T], yield func(Change[T]) bool) {
	sh := old.shared
	// Equality is identity of pointers. Comparing contents would visit the memory of
	// every changed object, and a Set of another pointer is an update by definition.
	objects := pmap.Compare[record[T]]{
		Hash:    sh.hashRecord,
		SameKey: func(a, b record[T]) bool { return a.name == b.name },
		Equal:   func(a, b record[T]) bool { return identical(a.obj, b.obj) },
	}
	// A bucket is copied by each batch that touches its namespace. Its trie says whether
	// there is anything to compare below.
	buckets := pmap.Compare[*bucket[T]]{
		Hash:    func(s *bucket[T]) uint64 { return sh.hasher.str(s.name) },
		SameKey: func(a, b *bucket[T]) bool { return a.name == b.name },
		Equal:   func(a, b *bucket[T]) bool { return a.objs.Same(b.objs) },
	}
	pmap.Diff(old.buckets, new.buckets, buckets, func(d pmap.Delta[*bucket[T]]) bool {
		var a, b pmap.Trie[record[T]]
		namespace := ""
		if d.HasOld {
			namespace, a = d.Old.name, d.Old.objs
		}
		if d.HasNew {
			namespace, b = d.New.name, d.New.objs
		}
		// A namespace that came or went is compared with an empty trie, so that each of
		// its objects is reported.
		return pmap.Diff(a, b, objects, func(d pmap.Delta[record[T]]) bool {
			c := Change[T]{Type: Updated, Old: d.Old.obj, New: d.New.obj}
			name := d.New.name
			switch {
			case !d.HasOld:
				c.Type = Added
			case !d.HasNew:
				c.Type, name = Deleted, d.Old.name
			}
			c.Key = types.NamespacedName{Namespace: namespace, Name: name}
			return yield(c)
		})
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
