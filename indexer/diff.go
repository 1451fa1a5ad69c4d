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
			if moved, more := diffOld(old, new, yield); more {
				diffAdded(old, new, moved, yield)
			}
		}
	}
}

// diffOld yields what became of the objects of old: the changes of type Updated and
// Deleted. It returns the numbers in new of objects that had another before, and whether
// yield never returned false.
//
// Equality is identity of pointers. Comparing contents would visit the memory of every
// changed object, and a Set of another pointer is an update by definition.
func diffOld[T Object](old, new *Snapshot[T], yield func(Change[T]) bool) (moved map[uint32]struct{}, more bool) {
	more = pmap.DiffArrays(old.objs, new.objs, func(number uint32, d *pmap.ArrayDelta[T, keys]) bool {
		if !d.HasOld {
			return true
		}
		key := d.OldKeys.key(number)
		now := d.New
		if !d.HasNew || !d.OldKeys.same(d.NewKeys, number) {
			// It was deleted. It may have been created again, and has another number then.
			n, obj, found := new.search(&key, new.shared.hasher.key(&key))
			if !found {
				return yield(Change[T]{Type: Deleted, Key: key, Old: d.Old})
			}
			if moved == nil {
				moved = map[uint32]struct{}{}
			}
			moved[n] = struct{}{}
			now = obj
		}
		return identical(d.Old, now) || yield(Change[T]{Type: Updated, Key: key, Old: d.Old, New: now})
	})
	return moved, more
}

// diffAdded yields the objects of new whose key is not in old. What has a number that was
// free, or belonged to another object, is one of those, unless it had another number.
func diffAdded[T Object](old, new *Snapshot[T], moved map[uint32]struct{}, yield func(Change[T]) bool) {
	pmap.DiffArrays(old.objs, new.objs, func(number uint32, d *pmap.ArrayDelta[T, keys]) bool {
		if !d.HasNew || d.HasOld && d.NewKeys.same(d.OldKeys, number) {
			return true
		}
		if _, had := moved[number]; had {
			return true
		}
		return yield(Change[T]{Type: Added, Key: d.NewKeys.key(number), New: d.New})
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
