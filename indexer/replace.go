package indexer

import (
	"errors"
	"fmt"
	"iter"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/object"
)

// ReplaceResult counts what a Replace did.
type ReplaceResult struct {
	Added, Updated, Deleted, Unchanged int
}

// Replace makes the batch hold exactly objs. Objects of which the same version
// (UID and resourceVersion) is stored keep their pointer and cost only a look-up.
// An object that is nil or has no name is left out and reported; the error joins
// all of those, and everything else has been replaced nevertheless. If a key
// occurs twice, the last one wins.
func (b *Batch[T]) Replace(objs []T) (ReplaceResult, error) {
	return b.replace(objs, func(string) bool { return true }, (*Snapshot[T]).records)
}

// ReplaceNamespace is [Batch.Replace] for the objects of one namespace; objects
// of others are left out and reported. It lets one store follow several lists.
func (b *Batch[T]) ReplaceNamespace(namespace string, objs []T) (ReplaceResult, error) {
	return b.replace(objs, func(ns string) bool { return ns == namespace },
		func(s *Snapshot[T]) iter.Seq[*record[T]] {
			return s.recordsOf(s.namespaces.numbers(s.shared, namespace))
		})
}

// replace first stores what is listed and new, then deletes what is not listed: an
// object that stays is never missing in between. It is about all namespaces or about one, whose
// objects the function stored returns.
func (b *Batch[T]) replace(objs []T, about func(namespace string) bool, stored func(*Snapshot[T]) iter.Seq[*record[T]]) (res ReplaceResult, err error) {
	if b.next == nil {
		return res, errBatchEnded
	}
	// The keys of the list decide what is deleted, including those of unchanged objects.
	listed := make(map[types.NamespacedName]struct{}, len(objs))
	var errs []error
	for i, o := range objs {
		key, err := keyOf(o)
		if err == nil && !about(key.Namespace) {
			err = fmt.Errorf("indexer: %s is not in the namespace to replace", key)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%w (number %d of the list)", err, i))
			continue
		}
		listed[key] = struct{}{}
		// Equal UID and resourceVersion mean equal content. Keeping the old pointer
		// keeps nodes, index groups and what readers hold, and the new copy becomes
		// garbage at once. A relist after a broken watch thus changes little, and often
		// publishes nothing.
		if old, ok := b.next.Get(key); ok && (identical(old, o) || object.SameVersion(old, o)) {
			res.Unchanged++
			continue
		}
		if _, existed := b.set(key, o); existed {
			res.Updated++
		} else {
			res.Added++
		}
	}
	// The iteration is over a frozen state: Delete edits nodes of this batch only.
	for r := range stored(b.freeze()) {
		if _, ok := listed[r.key]; !ok {
			b.Delete(r.key)
			res.Deleted++
		}
	}
	return res, errors.Join(errs...)
}
