package deltafifo

import (
	"context"
	"fmt"

	"github.com/informerkit/informerkit/internal/object"
	"k8s.io/apimachinery/pkg/types"
)

// Replace states the whole collection, as the result of a list: it appends a
// Replaced delta for each object in objs and, for each object that is queued,
// in process or known but not in objs, a Deleted tombstone with the last state
// that was seen. All of it becomes visible to the consumer at once.
//
//	listed              ▶ Replaced, also behind a queued Deleted: it was created again
//	queued, not listed  ▶ Deleted(tombstone of the newest delta), unless that is a Deleted
//	in process, "       ▶ the same
//	known, "            ▶ Deleted(tombstone of the known object)
//
// Objects come in the order of the list, then tombstones: queued ones in queue
// order, known ones in the order of the store. The slice objs is not kept. If
// one of its objects cannot be queued, nothing is, and the error says which.
// Otherwise Replace is like Add.
func (q *DeltaFIFO[T]) Replace(ctx context.Context, objs []T, resourceVersion string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	replaced := &deltaKind{typ: Replaced, listResourceVersion: resourceVersion}
	deltas := make([]keyedDelta[T], len(objs))
	listed := make(map[types.NamespacedName]struct{}, len(objs))
	for i, obj := range objs {
		key, obj, err := q.receive("Replace", obj)
		if err != nil {
			return fmt.Errorf("%w (object %d of %d)", err, i+1, len(objs))
		}
		deltas[i] = keyedDelta[T]{key, pendingDelta[T]{obj, replaced}}
		listed[key] = struct{}{}
	}

	if err := q.lockWhenRoom(ctx); err != nil {
		return err
	}
	n := 0
	defer func() { q.countAndUnlock(n) }()
	// KnownObjects is user code: whatever it does, it does before the first
	// delta is queued.
	deltas = q.addTombstones(deltas, listed)
	for _, d := range deltas {
		n += q.append(d.key, d.pendingDelta)
	}
	q.returned = nil
	q.noteWrite(true)
	return nil
}

// addTombstones appends a tombstone to deltas for each missing object: one that
// exists for the consumer, or will when it has caught up, and is not listed. The
// mutex must be locked.
func (q *DeltaFIFO[T]) addTombstones(deltas []keyedDelta[T], listed map[types.NamespacedName]struct{}) []keyedDelta[T] {
	addIfMissing := func(key types.NamespacedName, last T) {
		if _, ok := listed[key]; !ok {
			deltas = append(deltas, keyedDelta[T]{key, pendingDelta[T]{last, kindTombstone}})
		}
	}
	for it := range q.line.all {
		if !it.isDeleted() {
			addIfMissing(it.key, it.last().object)
		}
	}
	if q.known == nil {
		return deltas
	}
	// What is in process and queued again has been looked at.
	if it := q.inProcess; it != nil && !it.isDeleted() && !q.line.has(it.key) {
		addIfMissing(it.key, it.last().object)
	}
	for obj := range q.onlyKnown() {
		addIfMissing(object.KeyOf(obj), obj)
	}
	return deltas
}

// Resync appends a Sync delta for each known object of which nothing is queued
// or in process, so that the consumer looks at each object again. It does
// nothing without KnownObjects. Otherwise it is like Add.
func (q *DeltaFIFO[T]) Resync(ctx context.Context) error {
	if q.known == nil {
		return q.Bookmark(ctx, "") // neither waits nor queues anything
	}
	if err := q.lockWhenRoom(ctx); err != nil {
		return err
	}
	n := 0
	defer func() { q.countAndUnlock(n) }()
	var deltas []keyedDelta[T] // all of them first, as in Replace
	for obj := range q.onlyKnown() {
		deltas = append(deltas, keyedDelta[T]{object.KeyOf(obj), pendingDelta[T]{obj, kindSync}})
	}
	for _, d := range deltas {
		n += q.append(d.key, d.pendingDelta)
	}
	return nil
}
