package deltafifo

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// DeltaFIFO is the classic face: a queue of objects that have changed, each
// with the list of its changes.
//
//	items   web ▶ [Added Updated Updated]      queue   web → db → cron
//	        db  ▶ [Deleted Added]                      │
//	        cron▶ [Sync]                               └─ Pop takes web and all its deltas
//
// An object is in the queue once, however often it changes; changes to an
// object that is queued join its list and do not move it. So a consumer that
// falls behind sees each object once, with everything that happened to it, and
// the order across objects is that of their first unseen change.
//
// Any number of goroutines may call any method, except that one consumer at a
// time calls [DeltaFIFO.Pop]. No lock is held while it processes.
//
// Create it with [New].
type DeltaFIFO[T Object] struct {
	gate
	known     KnownObjects[T]
	transform func(T) (T, error)

	items map[types.NamespacedName]Deltas[T] // no list is empty
	queue keyring                            // the keys of items
	size  int                                // the most keys in items since it was made
	peak  int                                // the most keys in items since it was empty

	// inFlight is the newest delta of the object in process, if flying. Between
	// its removal from items and its appearance in the store the object would
	// otherwise be unknown to Delete, Replace and Resync.
	inFlight Delta[T]
	flying   bool

	// returned is what Known has returned since the last write of each object,
	// for isTransformed; nil without a transform.
	returned map[types.NamespacedName]T

	// The initial state is what is queued when the first list has come, or the
	// first other write if no list has. As no object jumps the line, it has
	// been processed when as many objects have been popped as had been pushed.
	pushed, processed uint64
	initial           uint64
	populated, listed bool
}

// New returns an empty queue.
func New[T Object](opts Options[T]) *DeltaFIFO[T] {
	q := &DeltaFIFO[T]{
		known:     opts.KnownObjects,
		transform: opts.Transform,
		items:     map[types.NamespacedName]Deltas[T]{},
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
	return q.write(ctx, "Add", Added, obj)
}

// Update appends an Updated delta to the object's list; otherwise it is like
// Add.
func (q *DeltaFIFO[T]) Update(ctx context.Context, obj T) error {
	return q.write(ctx, "Update", Updated, obj)
}

// Delete appends a Deleted delta, whose obj is the last state of the object, to
// the object's list; otherwise it is like Add.
//
// It does nothing for an object that is neither queued, nor in process, nor
// known: the consumer has not heard of it, so it need not hear of its end. Of
// two Deleted in a row one is kept: the first, unless that is a tombstone.
func (q *DeltaFIFO[T]) Delete(ctx context.Context, obj T) error {
	return q.write(ctx, "Delete", Deleted, obj)
}

// DeleteFinalStateUnknown appends a Deleted delta for an object that is known
// to be gone although its deletion was not observed. The object of a tombstone
// is not transformed, as it was when it was first received. Otherwise it is
// like Delete.
func (q *DeltaFIFO[T]) DeleteFinalStateUnknown(ctx context.Context, tombstone DeletedFinalStateUnknown[T]) error {
	if err := tombstone.check(); err != nil {
		return err
	}
	return q.enqueue(ctx, Delta[T]{Type: Deleted, Key: tombstone.Key, Object: tombstone.Object, FinalStateUnknown: true})
}

// Bookmark does nothing but to fail where Add would fail for ctx or Close. A
// queue that orders by object has no place that means "everything up to here":
// see [BatchFIFO] for one that does.
func (q *DeltaFIFO[T]) Bookmark(ctx context.Context, _ string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := q.open(); err != nil {
		return err
	}
	q.mu.Unlock()
	return nil
}

// AddIfNotPresent puts deltas back that were popped and could not be processed,
// unless the object has been queued again in the meantime: then there is newer
// news, and nothing happens. It may be called from within process, so it
// neither waits for room nor transforms. The deltas must be of one object.
func (q *DeltaFIFO[T]) AddIfNotPresent(deltas Deltas[T]) error {
	if err := deltas.check(); err != nil {
		return err
	}
	if err := q.open(); err != nil {
		return err
	}
	n := 0
	key := deltas[0].Key
	if _, queued := q.items[key]; !queued {
		q.items[key] = slices.Clone(deltas)
		q.push(key)
		n = len(deltas)
	}
	q.populate(false)
	q.leave(n)
	return nil
}

func (q *DeltaFIFO[T]) write(ctx context.Context, op string, typ DeltaType, obj T) error {
	if err := ctx.Err(); err != nil {
		return err // before the transform is run for nothing
	}
	key, obj, err := q.receive(op, obj)
	if err != nil {
		return err
	}
	return q.enqueue(ctx, Delta[T]{Type: typ, Key: key, Object: obj})
}

// enqueue queues one delta, unless it deletes what does not exist.
func (q *DeltaFIFO[T]) enqueue(ctx context.Context, d Delta[T]) error {
	if err := q.enter(ctx); err != nil {
		return err
	}
	n := 0
	defer func() { q.leave(n) }() // also if KnownObjects panics
	if d.Type != Deleted || q.exists(d.Key) {
		n = q.append(d)
	}
	delete(q.returned, d.Key)
	q.populate(false)
	return nil
}

// exists reports whether the consumer has, or is going to have, the object.
func (q *DeltaFIFO[T]) exists(key types.NamespacedName) bool {
	if _, queued := q.items[key]; queued {
		return true
	}
	if q.known == nil {
		return false
	}
	if q.flying && q.inFlight.Key == key {
		return q.inFlight.Type != Deleted
	}
	_, ok := q.known.Get(key)
	return ok
}

// append adds one delta to the list of its object and returns by how many the
// number of deltas has grown.
func (q *DeltaFIFO[T]) append(d Delta[T]) int {
	deltas, queued := q.items[d.Key]
	if last := len(deltas) - 1; last >= 0 && d.Type == Deleted && deltas[last].Type == Deleted {
		if deltas[last].FinalStateUnknown {
			deltas[last] = d
		}
		return 0
	}
	q.items[d.Key] = append(deltas, d)
	if !queued {
		q.push(d.Key)
	}
	return 1
}

// push puts the key of a new item in line.
func (q *DeltaFIFO[T]) push(key types.NamespacedName) {
	q.queue.push(key)
	q.pushed++
	q.peak = max(q.peak, q.queue.len)
	q.size = max(q.size, q.peak)
}

// populate notes a write that has been queued; see the fields it sets.
func (q *DeltaFIFO[T]) populate(list bool) {
	if q.hasSynced() {
		return
	}
	if !q.populated || list && !q.listed {
		q.initial = q.pushed
	}
	q.populated = true
	q.listed = q.listed || list
	q.checkSynced()
}

func (q *DeltaFIFO[T]) checkSynced() {
	if q.populated && q.processed >= q.initial && !q.hasSynced() {
		close(q.synced)
	}
}

// HasSynced reports whether the initial state has been processed: everything
// that was queued when the first Replace had been made or, as long as there is
// none, the first other write. It is true at once if there is nothing to
// process, as after an empty Replace. Within process it tells whether the
// deltas in hand are from after the initial state. Once true it stays true.
//
// An object counts as processed when process has returned, with or without an
// error: one bad object does not keep all others from being in use.
func (q *DeltaFIFO[T]) HasSynced() bool { return q.hasSynced() }

// Synced returns a channel that is closed when HasSynced becomes true.
func (q *DeltaFIFO[T]) Synced() <-chan struct{} { return q.synced }

// Len returns the number of pending deltas, of all objects. What is being
// processed does not count.
func (q *DeltaFIFO[T]) Len() int { return q.len() }

// Close ends writing: writes that wait for room and later writes fail with
// [ErrClosed]. What is pending can still be popped. Close may be called more
// than once, and from anywhere.
func (q *DeltaFIFO[T]) Close() { q.close() }
