package deltafifo

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
)

// Pop waits until an object is queued, removes the first one, and calls process
// with all its deltas. It returns what process returned.
//
// The deltas belong to process and may be kept. Process may call any method of
// the queue but Pop; a write may then wait for room that nobody makes, until
// its context ends.
//
// The object is gone from the queue whatever process does: if process fails,
// the caller may put the deltas back with [DeltaFIFO.AddIfNotPresent], from
// within process rather than later, as in between the queue does not know of
// the object. A panic goes through to the caller, and the queue stays usable.
//
// Pop returns the error of ctx without taking anything if ctx has ended or ends
// while it waits. After Close it hands over what remains and then returns
// [ErrClosed]. A call while another one is in progress gets [ErrConcurrentPop].
func (q *DeltaFIFO[T]) Pop(ctx context.Context, process func(deltas Deltas[T]) error) error {
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
	if err := q.await(ctx, q.size > idleSlots, q.trim); err != nil {
		return err
	}
	deltas := q.shift()
	q.mu.Unlock()

	defer q.landed()
	return process(deltas)
}

// shift removes the first object and notes that it is in process.
func (q *DeltaFIFO[T]) shift() Deltas[T] {
	key := q.queue.pop()
	deltas := q.items[key]
	delete(q.items, key)
	if len(q.items) == 0 {
		// One that was made for a burst is replaced when it has turned out to be
		// far too large for what came since.
		if q.size > idleSlots && q.peak < q.size/4 {
			q.trim()
		}
		q.peak = 0
	}
	q.inFlight, q.flying = deltas.Newest(), true
	q.taken(len(deltas))
	return deltas
}

// trim replaces the map, which must be empty: a map never shrinks. The ring of
// keys does, with each pop.
func (q *DeltaFIFO[T]) trim() {
	q.items, q.size = map[types.NamespacedName]Deltas[T]{}, 0
}

// landed notes that process is done with the object.
func (q *DeltaFIFO[T]) landed() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.inFlight, q.flying = Delta[T]{}, false
	q.processed++
	q.checkSynced()
}
