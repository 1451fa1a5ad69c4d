package indexer

import (
	"errors"
	"fmt"

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
	if b.next == nil {
		return ReplaceResult{}, ErrBatchEnded
	}
	return b.replace(objs, scope[T]{s: b.freeze()})
}

// ReplaceNamespace is [Batch.Replace] for the objects of one namespace; objects
// of others are left out and reported. It lets one store follow several lists.
func (b *Batch[T]) ReplaceNamespace(namespace string, objs []T) (ReplaceResult, error) {
	if b.next == nil {
		return ReplaceResult{}, ErrBatchEnded
	}
	return b.replace(objs, scope[T]{b.freeze(), namespace, true})
}

// replace first stores what is listed and new, then deletes what is not listed: an
// object that stays is never missing in between. before is the state to compare with.
func (b *Batch[T]) replace(objs []T, before scope[T]) (ReplaceResult, error) {
	var res ReplaceResult
	var errs []error
	// The keys of the list decide what is deleted, including those of unchanged objects.
	listed := make(map[types.NamespacedName]struct{}, len(objs))
	for i, o := range objs {
		if object.IsNil(o) {
			errs = append(errs, fmt.Errorf("%w (number %d of the list)", errNilObject, i))
			continue
		}
		key := object.KeyOf(o)
		if err := checkKey(key); err != nil {
			errs = append(errs, fmt.Errorf("%w (number %d of the list)", err, i))
			continue
		}
		if before.one && key.Namespace != before.namespace {
			errs = append(errs, fmt.Errorf("indexer: %s is not in namespace %q (number %d of the list)", key, before.namespace, i))
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
	res.Deleted = b.retain(listed, before)
	return res, errors.Join(errs...)
}

// retain deletes what is in before and not listed, and counts it.
func (b *Batch[T]) retain(listed map[types.NamespacedName]struct{}, before scope[T]) (deleted int) {
	// The iteration is over a frozen state: Delete edits nodes of this batch only.
	for key := range before.all {
		if _, ok := listed[key]; ok {
			continue
		}
		if _, existed := b.Delete(key); existed {
			deleted++
		}
	}
	return deleted
}

// scope is what a Replace is about: a whole snapshot or one namespace of it.
//
// Keys are taken from the records rather than from the objects: they are right even if
// an object was modified after Set.
type scope[T Object] struct {
	s         *Snapshot[T]
	namespace string
	one       bool
}

// all iterates over the keys under which objects are stored.
func (sc scope[T]) all(yield func(types.NamespacedName) bool) {
	each := func(number uint32, _ T, keys *keys) bool { return yield(keys.key(number)) }
	if !sc.one {
		sc.s.objs.Each(each)
	} else if nb, ok := sc.s.bucket(sc.namespace); ok {
		nb.runs(func(run []uint32) bool {
			for _, n := range run {
				if !yield(sc.s.objs.Keys(n).key(n)) {
					return false
				}
			}
			return true
		})
	}
}
