package deltafifo

import (
	"context"
	"fmt"
	"slices"
)

// BatchFIFO is the batch queue: a queue of changes in arrival order across all
// objects, emptied as a whole.
//
//	producers ──▶ fill  [ Added web · Updated db · Replaced [web cron] @41 · Bookmark @57 ]
//	                                          PopBatch:  fill ⇄ spare
//	consumer  ◀── batch [ Added db · Deleted web · · ]   cleared, it is the next spare
//
// Any number of goroutines may write; the changes of each are kept in its order.
// One consumer at a time calls [BatchFIFO.PopBatch]. No lock is held while it
// processes, so that producers never wait for a consumer's work, only for room.
//
// It knows no store, and so nothing of what a [DeltaFIFO] finds out there: which
// objects are missing from a list, which deletion is of an unknown object, what
// is known, and when the store is synced. The owner of the store knows.
//
// Create it with [NewBatch].
type BatchFIFO[T Object] struct {
	bounded
	// fill has the pending changes, and is guarded by the mutex. Spare is the empty
	// buffer that follows it, and is for the consumer; nil while that has the other
	// one in process. Two slices that change places instead of a new one for each
	// batch, so that a steady load allocates nothing.
	fill  []Change[T]
	spare []Change[T]

	processing bool          // a batch was taken and process has not returned; guarded by the mutex
	idle       chan struct{} // not nil: handed out by Idle, and to be closed; guarded by the mutex
}

// NewBatch returns an empty queue.
func NewBatch[T Object](opts BatchOptions) *BatchFIFO[T] {
	q := &BatchFIFO[T]{}
	q.init(opts.Limit)
	return q
}

// Add queues an Added change. It waits while the queue is full. It fails with
// the context's error if ctx ends first, also if it has ended already, with
// [ErrClosed] after Close, and with [ErrInvalidObject] for an object that is
// nil or has no name; a write that fails leaves no trace.
func (q *BatchFIFO[T]) Add(ctx context.Context, obj T) error {
	return q.write(ctx, "Add", Added, obj)
}

// Update queues an Updated change; otherwise it is like Add. The queue does not
// know which objects exist, so it does not distinguish additions from updates:
// the consumer, which owns the store, does.
func (q *BatchFIFO[T]) Update(ctx context.Context, obj T) error {
	return q.write(ctx, "Update", Updated, obj)
}

// Delete queues a Deleted change whose obj is the last state of the object;
// otherwise it is like Add. A Delete of an object that the consumer has never
// seen is delivered like any other.
func (q *BatchFIFO[T]) Delete(ctx context.Context, obj T) error {
	return q.write(ctx, "Delete", Deleted, obj)
}

// write queues a change of an object that comes from outside.
func (q *BatchFIFO[T]) write(ctx context.Context, op string, typ DeltaType, obj T) error {
	if err := check(op, obj); err != nil {
		return err
	}
	return q.enqueue(ctx, Change[T]{Type: typ, Object: obj})
}

// Replace queues one Replaced change that states the whole collection as of
// resourceVersion: whatever is not in objs does not exist. An empty or nil
// list is a valid statement.
//
// The queue keeps objs until it has been processed; the caller must not touch
// the slice again. If one of the objects cannot be queued, nothing is, and the
// error says which. An object that is listed twice is delivered twice; the
// later one is the newer one. Otherwise Replace is like Add, and however long
// the list, it counts as one change.
func (q *BatchFIFO[T]) Replace(ctx context.Context, objs []T, resourceVersion string) error {
	if i := firstInvalid(objs); i >= 0 {
		return fmt.Errorf("%w (object %d of %d)", check("Replace", objs[i]), i+1, len(objs))
	}
	return q.enqueue(ctx, Change[T]{Type: Replaced, Collection: &Collection[T]{objs, resourceVersion}})
}

// Bookmark queues a Bookmark: the collection has not changed between the
// change before it and resourceVersion. Otherwise it is like Add.
func (q *BatchFIFO[T]) Bookmark(ctx context.Context, resourceVersion string) error {
	return q.enqueue(ctx, Change[T]{Type: Bookmark, Collection: &Collection[T]{ResourceVersion: resourceVersion}})
}

// enqueue queues one change behind all others.
func (q *BatchFIFO[T]) enqueue(ctx context.Context, c Change[T]) error {
	if err := q.lockWhenRoom(ctx); err != nil {
		return err
	}
	if n := len(q.fill); n == cap(q.fill) {
		// append would grow a large slice by a quarter, and copy each change four
		// times on the way; doubling copies it once. Often the only one is a list.
		q.fill = slices.Grow(q.fill, max(n, 1))
	}
	q.fill = append(q.fill, c)
	q.countAndUnlock(1)
	return nil
}

// PopBatch waits until something is pending, takes all of it, and calls process
// once with it, in arrival order. It returns what process returned.
//
// The slice belongs to process until process returns; then its memory is used
// for later changes. The objects in it, and a Collection, may be kept. Process may call any method of the queue but PopBatch; a write may then
// wait for room that is never made, until its context ends.
//
// The batch is gone from the queue whatever process does with it: if process
// fails or panics, nothing is delivered again, and the next call gets what came
// later. A consumer that cannot deal with one change of a batch should note that
// and go on. A panic propagates to the caller, and the queue stays usable.
//
// PopBatch returns the error of ctx without taking anything if ctx has ended or
// ends while it waits. After Close it delivers what remains and then returns
// [ErrClosed]. A call while another one is in progress gets [ErrConcurrentPop].
func (q *BatchFIFO[T]) PopBatch(ctx context.Context, process func(batch []Change[T]) error) error {
	if err := q.beginPop(process != nil); err != nil {
		return err
	}
	defer q.endPop()
	if err := q.lockWhenPending(ctx); err != nil {
		return err
	}
	batch := q.fill
	q.fill, q.spare = q.spare, nil
	q.processing = true
	q.countAndUnlock(-len(batch))
	defer q.processed() // also if process panics

	// If process panics, the batch is left to the garbage collector, as the code
	// that recovers may still look at it. Without spare capacity, an append of the
	// consumer copies instead of writing where later changes will be.
	err := process(batch[:len(batch):len(batch)])
	q.recycle(batch)
	return err
}

// processed notes that no batch is in process, and unblocks what waits for that.
func (q *BatchFIFO[T]) processed() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.processing = false
	if q.pending == 0 && q.idle != nil {
		close(q.idle)
		q.idle = nil
	}
}

// Idle returns a channel that is closed once nothing is pending and nothing is in
// process: the consumer has dealt with every write that returned before. It may
// be closed already. A producer that waits for it sees the effect of its own
// writes; while others write, the queue may never be idle. It is not closed if the
// consumer stops popping, so also wait for the end of that.
func (q *BatchFIFO[T]) Idle() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.pending == 0 && !q.processing {
		return closedChannel
	}
	if q.idle == nil {
		q.idle = make(chan struct{})
	}
	return q.idle
}

// closedChannel is what Idle returns when there is nothing to wait for.
var closedChannel = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// recycle clears the batch, so that it keeps no object alive, and makes it the
// spare buffer. One that is longer than the usual limit, or has used less than a
// quarter of its buffer, is left to the garbage collector. So a producer that
// stays ahead, whose batches are all as long as the limit, costs no new buffers:
// those would take several times as long as to queue the changes. And the buffers
// of a burst are released by the next two short batches; an informer gets those
// from the bookmarks of its server, about once a minute.
func (q *BatchFIFO[T]) recycle(batch []Change[T]) {
	const minKept = 16 // too small to matter
	if n := len(batch); n <= DefaultLimit && cap(batch) <= 4*max(n, minKept) {
		clear(batch)
		q.spare = batch[:0]
	}
}

// Len returns the number of pending changes. What is being processed does not
// count.
func (q *BatchFIFO[T]) Len() int { return q.len() }

// Close ends writing: writes that wait for room and later writes fail with
// [ErrClosed]. What is pending can still be popped. Close may be called more
// than once, and from anywhere.
func (q *BatchFIFO[T]) Close() { q.close() }
