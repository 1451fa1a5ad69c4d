package deltafifo

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
)

// DeltaFIFO is a queue of objects that have changed, each with the list of its
// changes.
//
//	keys   web → db → cron          items  web  ▶ [Added Updated Updated]
//	       │                               db   ▶ [Deleted Added]
//	       └─ Pop takes web                cron ▶ [Sync]
//	          and all its deltas
//
// An object is in the queue once, however often it changes; changes to an
// object that is queued join its list and do not move it. So a consumer that
// falls behind sees each object once, with everything that happened to it, and
// the order across objects is that of their first unseen change.
//
// Any number of goroutines may call any method, except that one consumer at a
// time calls [DeltaFIFO.Pop]. No lock is held while it processes. What the queue
// promises is numbered in the package documentation.
//
// Create it with [New].
type DeltaFIFO[T Object] struct {
	bounded
	known     KnownObjects[T]
	transform func(T) (T, error)

	line line[T]

	// inProcess is the object that the consumer has popped and not finished, or nil.
	// Between its removal from the line and its arrival in the store the object
	// would otherwise be unknown to Delete and Replace.
	inProcess *item[T]

	// returned is what Known has returned since the last write of each object,
	// for isTransformed; nil without a transform.
	returned map[types.NamespacedName]T

	initial initialState
}

// New returns an empty queue.
func New[T Object](opts Options[T]) *DeltaFIFO[T] {
	q := &DeltaFIFO[T]{
		known:     opts.KnownObjects,
		transform: opts.Transform,
		line:      newLine[T](),
		initial:   initialState{synced: make(chan struct{})},
	}
	q.init(opts.Limit)
	return q
}

// Add appends an Added delta to the object's list. It waits while the queue is
// full. It fails with the context's error if ctx ends first, also if it has
// ended already, with [ErrClosed] after Close, with [ErrInvalidObject] for an
// object that is nil or has no name, and with the error of Transform. A write
// that fails leaves no trace.
func (q *DeltaFIFO[T]) Add(ctx context.Context, obj T) error {
	return q.write(ctx, "Add", kindAdded, obj)
}

// Update appends an Updated delta to the object's list; otherwise it is like
// Add.
func (q *DeltaFIFO[T]) Update(ctx context.Context, obj T) error {
	return q.write(ctx, "Update", kindUpdated, obj)
}

// Delete appends a Deleted delta, whose obj is the last state of the object, to
// the object's list; otherwise it is like Add.
//
// It does nothing for an object that is neither queued, nor in process, nor
// known: the consumer has not seen it, so it does not need its end. Of two
// Deleted in a row one is kept: the first, unless that is a tombstone.
func (q *DeltaFIFO[T]) Delete(ctx context.Context, obj T) error {
	return q.write(ctx, "Delete", kindDeleted, obj)
}

// DeleteFinalStateUnknown appends a Deleted delta for an object that is known
// to be gone although its deletion was not observed. The object of a tombstone
// is not transformed, as it was when it was first received. Otherwise it is
// like Delete.
func (q *DeltaFIFO[T]) DeleteFinalStateUnknown(ctx context.Context, tombstone DeletedFinalStateUnknown[T]) error {
	if err := tombstone.check(); err != nil {
		return err
	}
	return q.enqueue(ctx, tombstone.Key, pendingDelta[T]{tombstone.Object, kindTombstone})
}

// Bookmark does nothing but to fail where Add would fail for ctx or Close. A
// queue that orders by object has no place that means "everything up to here":
// see [BatchFIFO] for one that does.
func (q *DeltaFIFO[T]) Bookmark(ctx context.Context, _ string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := q.lockIfOpen(); err != nil {
		return err
	}
	q.mu.Unlock()
	return nil
}

// write queues a change of an object that comes from outside.
func (q *DeltaFIFO[T]) write(ctx context.Context, op string, kind *deltaKind, obj T) error {
	if err := ctx.Err(); err != nil {
		return err // before the transform is run for nothing
	}
	key, obj, err := q.receive(op, obj)
	if err != nil {
		return err
	}
	return q.enqueue(ctx, key, pendingDelta[T]{obj, kind})
}

// enqueue queues one delta, unless it deletes what does not exist.
func (q *DeltaFIFO[T]) enqueue(ctx context.Context, key types.NamespacedName, d pendingDelta[T]) error {
	if err := q.lockWhenRoom(ctx); err != nil {
		return err
	}
	n := 0
	defer func() { q.countAndUnlock(n) }() // also if KnownObjects panics
	if d.kind.typ != Deleted || q.exists(key) {
		n = q.append(key, d)
	}
	delete(q.returned, key)
	q.noteWrite(false)
	return nil
}

// append adds one delta to those of its object and returns by how many the number of
// deltas has grown. The mutex must be locked.
func (q *DeltaFIFO[T]) append(key types.NamespacedName, d pendingDelta[T]) int {
	pushed, n := q.line.append(key, d)
	if pushed {
		q.initial.pushed++
	}
	return n
}

// Len returns the number of pending deltas, of all objects. What is being
// processed does not count.
func (q *DeltaFIFO[T]) Len() int { return q.len() }

// Close ends writing: writes that wait for room and later writes fail with
// [ErrClosed]. What is pending can still be popped. Close may be called more
// than once, and from anywhere.
func (q *DeltaFIFO[T]) Close() { q.close() }
