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
	from, to := orEmpty(old, new), orEmpty(new, old)
	return func(yield func(Change[T]) bool) {
		switch {
		case from == to:
		case from.shared == to.shared:
			diffByNumber(from, to, yield)
		default: // another indexer has other numbers for the same keys
			diffByKey(from, to, yield)
		}
	}
}

// orEmpty returns s or, if that is nil, an empty snapshot of the same indexer as the other one.
func orEmpty[T Object](s, other *Snapshot[T]) *Snapshot[T] {
	if s == nil && other != nil {
		return &Snapshot[T]{shared: other.shared}
	}
	return s
}

// diffByNumber compares two snapshots of one indexer.
func diffByNumber[T Object](old, new *Snapshot[T], yield func(Change[T]) bool) {
	diffRecords(old, new, func(_ uint32, was, now *record[T]) bool {
		if was != nil && now != nil && was.key == now.key {
			return yield(Change[T]{Type: Updated, Key: was.key, Old: was.obj, New: now.obj})
		}
		// Here the object with a number went, or one came, or both. One that was deleted and
		// created again has another number now: both are a difference, and the old one counts.
		return (was == nil || diffOld(was, new, yield)) && (now == nil || diffNew(old, now, yield))
	})
}

// diffRecords calls yield for each number that has another record in new than in old, until
// it returns false.
//
// Equality is identity of pointers. Comparing contents would visit the memory of every
// changed object, and a Set of another pointer is an update by definition.
func diffRecords[T Object](old, new *Snapshot[T], yield func(number uint32, was, now *record[T]) bool) {
	pmap.Diff(old.objects, new.objects, func(a, b *record[T]) bool { return identical(a.obj, b.obj) && a.key == b.key }, yield)
}

// diffByKey compares snapshots that share nothing, with a look-up for each object.
func diffByKey[T Object](old, new *Snapshot[T], yield func(Change[T]) bool) {
	for was := range old.records() {
		if !diffOld(was, new, yield) {
			return
		}
	}
	for now := range new.records() {
		if !diffNew(old, now, yield) {
			return
		}
	}
}

// diffOld yields what became of an object of the old snapshot, if anything.
func diffOld[T Object](was *record[T], new *Snapshot[T], yield func(Change[T]) bool) bool {
	now, _ := new.lookup(was.key)
	switch {
	case now == nil:
		return yield(Change[T]{Type: Deleted, Key: was.key, Old: was.obj})
	case identical(was.obj, now.obj):
		return true
	default:
		return yield(Change[T]{Type: Updated, Key: was.key, Old: was.obj, New: now.obj})
	}
}

// diffNew yields an object of the new snapshot that the old one does not have.
func diffNew[T Object](old *Snapshot[T], now *record[T], yield func(Change[T]) bool) bool {
	if was, _ := old.lookup(now.key); was != nil {
		return true // diffOld is about it
	}
	return yield(Change[T]{Type: Added, Key: now.key, New: now.obj})
}
