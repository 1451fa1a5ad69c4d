package deltafifo

import (
	"context"
	"fmt"
	"slices"

	"github.com/informerkit/informerkit/internal/object"
	"k8s.io/apimachinery/pkg/types"
)

// DeltaFIFO is a queue of the changes of a collection, in the order in which they
// were written. A pop takes all of it.
//
//	producers ──▶ fill   Added web · Updated db · Replaced [web cron] @41 · Bookmark @57
//	               │
//	               │ Pop: fill and spare change places
//	               ▼
//	consumer  ◀── batch  Added db · Deleted web      cleared afterwards, it is the next spare
//	               │
//	               ├──▶ in the order of arrival:  what the informer applies
//	               └──▶ ByObject:                 db [Added], web [Deleted]
//
// A list is one change among the others, and so is a bookmark: everything before it is
// older, everything behind it is newer. What happened to each object, which deletions are one, and
// what a list lacks is found when the consumer asks for it. At that moment its store has all
// earlier batches, so those are questions about one sequence and one store, with nobody else
// at work on either.
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

	// What is pending, guarded by the mutex. Spare is the empty buffer that follows it, and
	// is for the consumer; nil while that has the other one in process. Two slices that
	// change places, so that a steady load allocates nothing.
	fill, spare Deltas[T]
	// batch is what the consumer has popped and not finished. It is guarded by the mutex, and
	// what is in it does not change.
	batch Deltas[T]

	// For Known, guarded by the mutex: the states in fill and in batch, and what it has
	// returned since the last write of each object; the latter only with a transform.
	fillStates, batchStates states[T]
	returned                map[types.NamespacedName]T

	initial initialState
}

// New returns an empty queue.
func New[T Object](opts Options[T]) *DeltaFIFO[T] {
	q := &DeltaFIFO[T]{known: opts.KnownObjects, transform: opts.Transform}
	q.init(opts.Limit)
	return q
}

// Add queues an Added delta. It waits while the queue is full. It fails with
// the context's error if ctx ends first, also if it has ended already, with
// [ErrClosed] after Close, with [ErrInvalidObject] for an object that is
// nil or has no name, and with the error of Transform. A write that fails leaves no
// trace.
func (q *DeltaFIFO[T]) Add(ctx context.Context, obj T) error {
	return q.write(ctx, "Add", Added, obj)
}

// Update queues an Updated delta; otherwise it is like Add. The queue does not
// distinguish additions from updates: the consumer, which owns the store, does.
func (q *DeltaFIFO[T]) Update(ctx context.Context, obj T) error {
	return q.write(ctx, "Update", Updated, obj)
}

// Delete queues a Deleted delta, whose obj is the last state of the object;
// otherwise it is like Add.
func (q *DeltaFIFO[T]) Delete(ctx context.Context, obj T) error {
	return q.write(ctx, "Delete", Deleted, obj)
}

// Replace queues one Replaced delta that states the whole collection as of
// resourceVersion: what is not in objs does not exist. An empty or nil list is a
// valid statement.
//
// The queue keeps objs until it has been processed; the caller must not touch
// the slice again. If one of the objects cannot be queued, nothing is, and the
// error says which. Of an object that is listed twice the later one is the newer
// one. Otherwise Replace is like Add: however long the list, it is one delta.
func (q *DeltaFIFO[T]) Replace(ctx context.Context, objs []T, resourceVersion string) error {
	if q.transform != nil {
		objs = slices.Clone(objs)
	}
	var none T
	noObject := any(none) // once: for each object it would take most of the time
	for i, obj := range objs {
		if q.transform == nil && any(obj) != noObject && obj.GetName() != "" {
			continue
		}
		obj, err := q.receive(ctx, "Replace", obj)
		if err != nil {
			return fmt.Errorf("%w (object %d of %d)", err, i+1, len(objs))
		}
		objs[i] = obj
	}
	return q.enqueue(ctx, Delta[T]{Type: Replaced, List: &List[T]{objs, resourceVersion}})
}

// Bookmark queues a Bookmark: the collection has not changed between the
// delta before it and resourceVersion. Otherwise it is like Add.
func (q *DeltaFIFO[T]) Bookmark(ctx context.Context, resourceVersion string) error {
	return q.enqueue(ctx, Delta[T]{Type: Bookmark, List: &List[T]{ResourceVersion: resourceVersion}})
}

// Resync queues a Sync delta, from which [Batch.ByObject] makes one for each known object
// that has not changed before it in the batch, so that the consumer looks at each again.
// Otherwise it is like Add.
func (q *DeltaFIFO[T]) Resync(ctx context.Context) error {
	return q.enqueue(ctx, Delta[T]{Type: Sync})
}

// AddIfNotPresent puts deltas of one object back that were popped and could not be
// processed, unless newer ones of it are pending: then nothing happens. A list that is
// pending is newer for each object. It may be called from within process, so it
// neither waits for room nor transforms. The slice is not kept.
func (q *DeltaFIFO[T]) AddIfNotPresent(deltas Deltas[T]) error {
	if err := checkPutBack(deltas); err != nil {
		return err
	}
	if err := q.lockIfOpen(); err != nil {
		return err
	}
	if _, newer := q.fillStates.newest(q.fill, deltas[0].Key()); newer {
		q.mu.Unlock()
		return nil
	}
	for _, d := range deltas {
		d.putBack = true
		q.append(d)
	}
	q.addedAndUnlock(len(deltas))
	return nil
}

// write queues a change of an object that comes from outside.
func (q *DeltaFIFO[T]) write(ctx context.Context, op string, typ DeltaType, obj T) error {
	obj, err := q.receive(ctx, op, obj)
	if err != nil {
		return err
	}
	return q.enqueue(ctx, Delta[T]{Type: typ, Object: obj})
}

// enqueue queues one delta behind all others.
func (q *DeltaFIFO[T]) enqueue(ctx context.Context, d Delta[T]) error {
	if err := q.lockWhenRoom(ctx); err != nil {
		return err
	}
	switch {
	case q.returned == nil: // without a transform, and most times with one
	case !d.aboutAll():
		delete(q.returned, d.Key())
	case d.Type == Replaced:
		q.returned = nil
	}
	q.append(d)
	q.addedAndUnlock(1)
	return nil
}

// append adds a delta to what is pending. The mutex must be locked.
func (q *DeltaFIFO[T]) append(d Delta[T]) {
	if n := len(q.fill); n == cap(q.fill) {
		// append would grow a large slice by a quarter, and copy each delta four
		// times on the way; doubling copies it once. Often the only one is a list.
		q.fill = slices.Grow(q.fill, max(n, 1))
	}
	q.fill = append(q.fill, d)
	q.initial.noteWrite(d.Type, d.Type == Replaced && d.aboutAll())
}

// Pop waits until something is pending, takes all of it, and calls process once with it.
// It returns what process returned. Process may call any method of the queue but Pop; a
// write may then wait for room that is never made, until its context ends.
//
// The batch is gone from the queue whatever process does with it: if process fails or
// panics, nothing is delivered again, and the next call gets what came later. What a consumer
// cannot deal with it may put back with [DeltaFIFO.AddIfNotPresent], from within process
// rather than later, as in between the queue does not know of the object. A panic propagates
// to the caller, and the queue stays usable.
//
// Pop returns the error of ctx without taking anything if ctx has ended or ends
// while it waits. After Close it delivers what remains and then returns
// [ErrClosed]. A call while another one is in progress gets [ErrConcurrentPop].
func (q *DeltaFIFO[T]) Pop(ctx context.Context, process func(batch Batch[T]) error) error {
	if process == nil {
		return errNoProcess
	}
	// Without the mutex, so that a second pop is refused while the first one waits.
	if !q.popping.CompareAndSwap(false, true) {
		return ErrConcurrentPop
	}
	defer q.popping.Store(false)
	if err := q.lockWhenPending(ctx); err != nil {
		return err
	}
	batch := q.fill
	q.fill, q.spare, q.batch = q.spare, nil, batch
	q.batchStates, q.fillStates = q.fillStates, states[T]{}
	q.pending = 0
	q.wakeProducers()
	q.mu.Unlock()

	// If process panics, the batch is left to the garbage collector, as the code
	// that recovers may still look at it. Without spare capacity, an append of the
	// consumer copies instead of writing where later changes will be.
	returned := false
	defer func() { q.finish(returned) }()
	err := process(Batch[T]{Deltas: batch[:len(batch):len(batch)], known: q.known})
	returned = true
	return err
}

// finish notes that nothing is in process any more. If reuse says so, the batch is cleared, so
// that it keeps no object alive, and becomes the spare buffer. One that is longer than the
// usual limit, or has used less than a quarter of its buffer, is left to the garbage
// collector. So a producer that stays ahead, whose batches are all as long as the limit, costs
// no new buffers: those would take several times as long as to queue the changes. And the
// buffers of a burst are released by the next two short batches; an informer gets those
// from the bookmarks of its server, about once a minute.
func (q *DeltaFIFO[T]) finish(reuse bool) {
	q.mu.Lock()
	batch := q.batch
	q.batch, q.batchStates = nil, states[T]{}
	q.initial.noteProcessed(len(batch))
	q.mu.Unlock()
	const minKept = 16 // too small to matter
	if n := len(batch); reuse && n <= defaultLimit && cap(batch) <= 4*max(n, minKept) {
		clear(batch)
		q.spare = batch[:0]
	}
}

// HasSynced reports whether the initial state has been processed: everything
// that was queued when the first Replace had been made or, as long as there is
// none, the first other write; a bookmark and a resync do not count. Within process it
// reports whether the batch is from after the initial state. Once true it stays true.
//
// A batch counts as processed when process has returned, with or without an
// error: one bad object does not keep all others from being in use.
func (q *DeltaFIFO[T]) HasSynced() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.initial.synced
}

// initialState notes when what a queue was first given has been processed. The mutex of
// the queue guards it.
type initialState struct {
	written, processed    uint64 // deltas, since the queue was made
	upTo                  uint64 // the value of written with the last initial one; if begun
	begun, listed, synced bool
}

func (s *initialState) noteWrite(typ DeltaType, list bool) {
	s.written++
	if s.synced || typ == Bookmark || typ == Sync {
		return
	}
	if !s.begun || list && !s.listed {
		s.upTo = s.written
	}
	s.begun, s.listed = true, s.listed || list
}

func (s *initialState) noteProcessed(n int) {
	s.processed += uint64(n)
	s.synced = s.synced || s.begun && s.processed >= s.upTo
}

// receive checks an object that comes from outside and transforms it, unless
// it is one of the queue's own that Known has returned. The mutex must not be
// locked: Transform is user code, and may be slow.
func (q *DeltaFIFO[T]) receive(ctx context.Context, op string, obj T) (T, error) {
	if object.IsNil(obj) {
		return obj, fmt.Errorf("deltafifo: %s: the object is nil: %w", op, ErrInvalidObject)
	}
	if obj.GetName() == "" {
		return obj, fmt.Errorf("deltafifo: %s: the object of type %T in namespace %q has no name: %w", op, obj, obj.GetNamespace(), ErrInvalidObject)
	}
	if q.transform == nil {
		return obj, nil
	}
	if err := ctx.Err(); err != nil {
		return obj, err // before the transform is run for nothing
	}
	key := object.KeyOf(obj)
	if q.isTransformed(key, obj) {
		return obj, nil
	}
	out, err := q.transform(obj)
	switch {
	case err != nil:
		err = fmt.Errorf("deltafifo: %s %s: transform: %w", op, key, err)
	case object.IsNil(out):
		err = fmt.Errorf("deltafifo: %s %s: transform returned nil: %w", op, key, ErrInvalidObject)
	case object.KeyOf(out) != key:
		err = fmt.Errorf("deltafifo: %s %s: transform returned %s, but must keep namespace and name: %w", op, key, object.KeyOf(out), ErrInvalidObject)
	}
	return out, err
}

// isTransformed reports whether obj is what Known has returned for its key: it
// was transformed when it was first received. A transform that is not idempotent
// would otherwise change an object that readers of the store share.
func (q *DeltaFIFO[T]) isTransformed(key types.NamespacedName, obj T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	returned, ok := q.returned[key]
	return ok && any(returned) == any(obj)
}

// checkPutBack returns why deltas from outside cannot be put back as those of one
// object, or nil.
func checkPutBack[T Object](deltas Deltas[T]) error {
	if len(deltas) == 0 {
		return fmt.Errorf("deltafifo: AddIfNotPresent: no deltas: %w", ErrInvalidObject)
	}
	for i := range deltas {
		switch d := &deltas[i]; {
		case d.aboutAll():
			return fmt.Errorf("deltafifo: AddIfNotPresent: delta %d, a %s, has no object: %w", i+1, d.Type, ErrInvalidObject)
		case d.Object.GetName() == "":
			return fmt.Errorf("deltafifo: AddIfNotPresent: the object of delta %d has no name: %w", i+1, ErrInvalidObject)
		case d.Key() != deltas[0].Key():
			return fmt.Errorf("deltafifo: AddIfNotPresent: deltas of %s and of %s: %w", deltas[0].Key(), d.Key(), ErrInvalidObject)
		}
	}
	return nil
}
