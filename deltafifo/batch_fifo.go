package deltafifo

import (
	"context"
	"fmt"
)

// BatchFIFO is the batch face: a queue of changes in arrival order across all
// objects, emptied as a whole.
//
// Any number of goroutines may write; the changes of each are kept in its order.
// One consumer at a time calls [BatchFIFO.PopBatch]. No lock is held while it
// processes, so that producers never wait for a consumer's work, only for room.
//
// It knows no store, so a reflector that writes to it cannot ask what is known.
// The package documentation says what that costs at a relist, and how to add it.
//
// Create it with [NewBatch].
type BatchFIFO[T Object] struct {
	gate
	buf        buffers[T]
	everListed bool // Replace has been called
	listed     bool // a Replaced is among the pending deltas
	written    bool // an Added, Updated, Deleted or Replaced is among them
}

// NewBatch returns an empty queue.
func NewBatch[T Object](opts BatchOptions) *BatchFIFO[T] {
	q := &BatchFIFO[T]{}
	q.init(opts.Limit)
	return q
}

// Add queues an Added delta. It waits while the queue is full. It fails with
// the context's error if ctx ends first, also if it has ended already, with
// [ErrClosed] after Close, and with [ErrInvalidObject] for an object that is
// nil or has no name; a write that fails leaves no trace.
func (q *BatchFIFO[T]) Add(ctx context.Context, obj T) error {
	return q.write(ctx, "Add", Added, obj)
}

// Update queues an Updated delta; otherwise it is like Add. The queue does not
// know which objects exist, so it does not tell additions from updates: the
// consumer, which owns the store, does.
func (q *BatchFIFO[T]) Update(ctx context.Context, obj T) error {
	return q.write(ctx, "Update", Updated, obj)
}

// Delete queues a Deleted delta whose obj is the last state of the object;
// otherwise it is like Add. A Delete of an object that the consumer has never
// seen is handed over like any other.
func (q *BatchFIFO[T]) Delete(ctx context.Context, obj T) error {
	return q.write(ctx, "Delete", Deleted, obj)
}

// DeleteFinalStateUnknown queues a Deleted delta for an object that is known to
// be gone although its deletion was not observed; otherwise it is like Delete.
func (q *BatchFIFO[T]) DeleteFinalStateUnknown(ctx context.Context, tombstone DeletedFinalStateUnknown[T]) error {
	if err := tombstone.check(); err != nil {
		return err
	}
	if err := q.enter(ctx); err != nil {
		return err
	}
	d := q.buf.next()
	d.Type, d.Key, d.Object, d.FinalStateUnknown = Deleted, tombstone.Key, tombstone.Object, true
	q.written = true
	q.leave(1)
	return nil
}

// Replace queues one Replaced delta that states the whole collection as of
// resourceVersion: whatever is not in objs does not exist. An empty or nil
// list is a valid statement.
//
// The queue keeps objs until it has been processed; the caller must not touch
// the slice again. If one of the objects cannot be queued, nothing is, and the
// error says which. An object that is listed twice is handed over twice; the
// later one is the newer one. Otherwise Replace is like Add, and however long
// the list, it counts as one delta.
func (q *BatchFIFO[T]) Replace(ctx context.Context, objs []T, resourceVersion string) error {
	for i, obj := range objs {
		if _, err := keyOf("Replace", obj); err != nil {
			return fmt.Errorf("%w (object %d of %d)", err, i+1, len(objs))
		}
	}
	if err := q.enter(ctx); err != nil {
		return err
	}
	d := q.buf.next()
	d.Type, d.Objects, d.ResourceVersion = Replaced, objs, resourceVersion
	q.everListed, q.listed, q.written = true, true, true
	q.leave(1)
	return nil
}

// Bookmark queues a Bookmark delta: the collection has not changed between the
// delta before it and resourceVersion. Otherwise it is like Add.
func (q *BatchFIFO[T]) Bookmark(ctx context.Context, resourceVersion string) error {
	if err := q.enter(ctx); err != nil {
		return err
	}
	d := q.buf.next()
	d.Type, d.ResourceVersion = Bookmark, resourceVersion
	q.leave(1)
	return nil
}

func (q *BatchFIFO[T]) write(ctx context.Context, op string, typ DeltaType, obj T) error {
	key, err := keyOf(op, obj)
	if err != nil {
		return err
	}
	if err := q.enter(ctx); err != nil {
		return err
	}
	d := q.buf.next()
	d.Type, d.Object, d.Key = typ, obj, key
	q.written = true
	q.leave(1)
	return nil
}

// PopBatch waits until something is pending, takes all of it, and calls process
// once with it, in arrival order. It returns what process returned.
//
// The slice belongs to process until process returns; then its memory is used
// for later deltas. The objects in it, and the Objects of a Replaced, may be
// kept. Process may call any method of the queue but PopBatch; a write may then
// wait for room that nobody makes, until its context ends.
//
// The batch is gone from the queue whatever process does with it: if process
// fails or panics, nothing is handed over again, and the next call gets what
// came later. A consumer that cannot deal with one delta of a batch should
// note that and go on; an error means that the batch as a whole failed, and it
// does not count for [BatchFIFO.HasSynced]. A panic goes through to the caller,
// and the queue stays usable.
//
// PopBatch returns the error of ctx without taking anything if ctx has ended or
// ends while it waits. After Close it hands over what remains and then returns
// [ErrClosed]. A call while another one is in progress gets [ErrConcurrentPop].
func (q *BatchFIFO[T]) PopBatch(ctx context.Context, process func(batch []Delta[T]) error) error {
	if process == nil {
		return errNoProcess
	}
	if !q.popping.CompareAndSwap(false, true) {
		return ErrConcurrentPop
	}
	defer q.popping.Store(false)

	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	if err := q.await(ctx, q.buf.large(), q.buf.trim); err != nil {
		return err
	}
	batch := q.buf.take()
	listed, written := q.listed, q.written
	q.listed, q.written = false, false
	q.taken(len(batch))
	q.mu.Unlock()

	// If process panics, the batch is left to the garbage collector, as whoever
	// recovers may still look at it.
	err := process(batch[:len(batch):len(batch)])
	q.buf.recycle(batch)
	if err == nil && written && !q.hasSynced() {
		q.processed(listed)
	}
	return err
}

// processed notes that a batch of changes was processed without error. The
// first one with a list completes the initial state. As long as no list has
// come, the producer may be one that never lists, and then the state is
// complete from the beginning.
func (q *BatchFIFO[T]) processed(listed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if listed || !q.everListed {
		close(q.synced)
	}
}

// HasSynced reports whether the initial state has been processed: whether
// process has returned without error from a batch with a Replaced or, as long
// as no Replaced has ever been queued, from any change at all. A Bookmark is no
// change. Once true it stays true.
func (q *BatchFIFO[T]) HasSynced() bool { return q.hasSynced() }

// Synced returns a channel that is closed when HasSynced becomes true.
func (q *BatchFIFO[T]) Synced() <-chan struct{} { return q.synced }

// Len returns the number of pending deltas. What is being processed does not
// count.
func (q *BatchFIFO[T]) Len() int { return q.len() }

// Close ends writing: writes that wait for room and later writes fail with
// [ErrClosed]. What is pending can still be popped. Close may be called more
// than once, and from anywhere.
func (q *BatchFIFO[T]) Close() { q.close() }
