package indexer

import (
	"errors"
	"fmt"
	"math/bits"

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
	listed := newKeySet(len(objs))
	for i, o := range objs {
		if object.IsNil(o) {
			errs = append(errs, fmt.Errorf("%w (number %d of the list)", ErrNilObject, i))
			continue
		}
		key := object.KeyOf(o)
		if key.Name == "" {
			errs = append(errs, fmt.Errorf("%w (namespace %q, number %d of the list)", ErrNoName, key.Namespace, i))
			continue
		}
		if before.one && key.Namespace != before.namespace {
			errs = append(errs, fmt.Errorf("indexer: %s is not in namespace %q (number %d of the list)", key, before.namespace, i))
			continue
		}
		listed.add(b.next.shared.hasher.key(key))
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
	res.Deleted = b.retain(objs, listed, before)
	return res, errors.Join(errs...)
}

// retain deletes what is in before and not in objs, and counts it. The hashes
// of the listed keys decide almost every case with a sixth of the memory that a
// set of keys would take, during a relist, when memory counts.
func (b *Batch[T]) retain(objs []T, listed keySet, before scope[T]) (deleted int) {
	for key := range before.all {
		if listed.has(b.next.shared.hasher.key(key)) {
			continue
		}
		if _, existed := b.Delete(key); existed {
			deleted++
		}
	}
	after := scope[T]{b.next, before.namespace, before.one}
	if after.len() == listed.n {
		return deleted
	}
	// Two keys have the same hash: compare the keys themselves.
	keys := make(map[types.NamespacedName]struct{}, len(objs))
	for _, o := range objs {
		if !object.IsNil(o) {
			keys[object.KeyOf(o)] = struct{}{}
		}
	}
	after.s = b.freeze()
	for key := range after.all {
		if _, ok := keys[key]; ok {
			continue
		}
		if _, existed := b.Delete(key); existed {
			deleted++
		}
	}
	return deleted
}

// scope is what a Replace is about: a whole snapshot or one namespace of it.
type scope[T Object] struct {
	s         *Snapshot[T]
	namespace string
	one       bool
}

// len returns the number of objects in the scope.
func (sc scope[T]) len() int {
	if sc.one {
		return sc.s.NamespaceLen(sc.namespace)
	}
	return sc.s.Len()
}

// all iterates over the keys under which objects are stored.
func (sc scope[T]) all(yield func(types.NamespacedName) bool) {
	each := func(nb *bucket[T]) bool {
		return nb.objs.Each(func(r record[T]) bool {
			return yield(types.NamespacedName{Namespace: nb.name, Name: r.name})
		})
	}
	if !sc.one {
		sc.s.buckets.Each(each)
	} else if nb, ok := sc.s.bucket(sc.namespace); ok {
		each(nb)
	}
}

// keySet is a set of hashes with open addressing; 0 marks a free place.
type keySet struct {
	slots []uint64
	n     int
}

func newKeySet(size int) keySet {
	return keySet{slots: make([]uint64, 1<<bits.Len(uint(size+size/2)))}
}

// find returns the place of h or the free one where it belongs.
func (k *keySet) find(h uint64) (place *uint64, stored uint64) {
	stored = max(h, 1)
	mask := uint64(len(k.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		if k.slots[i] == 0 || k.slots[i] == stored {
			return &k.slots[i], stored
		}
	}
}

func (k *keySet) has(h uint64) bool {
	place, _ := k.find(h)
	return *place != 0
}

// add adds h and counts it, unless it is there.
func (k *keySet) add(h uint64) {
	if place, stored := k.find(h); *place == 0 {
		*place = stored
		k.n++
	}
}
