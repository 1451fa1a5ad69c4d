package workqueue

import (
	"context"
	"errors"
)

// ErrDrainEnded is returned by [Queue.ShutDownWithDrain] when a plain
// [Queue.ShutDown] ended the wait although items were still queued or running.
var ErrDrainEnded = errors.New("workqueue: ShutDown ended the drain before the queue was empty")

// drain is one wait for the queue to become empty, shared by all its callers.
//
// The method that takes it off the queue, under the mutex, is the one that ends it: so
// done is closed once, though a Done and a ShutDown may compete.
type drain struct {
	done chan struct{}
	err  error // set before done is closed
}

// end unblocks the callers that wait for d, which may be nil.
func (d *drain) end() {
	if d != nil {
		close(d.done)
	}
}

// ShutDown makes the queue ignore all further adds, drops what is delayed or parked,
// and lets Get return false once nothing is queued. It does not wait; it ends the
// wait of any [Queue.ShutDownWithDrain].
func (q *Queue[T]) ShutDown() {
	q.mu.Lock()
	cancels := q.closeLocked()
	d := q.drain
	if d != nil {
		d.err = ErrDrainEnded
		q.drain = nil
	}
	q.unlock()
	cancelAll(cancels)
	d.end()
}

// ShutDownWithDrain is [Queue.ShutDown] that waits until every queued item has
// been handed out and every running one is done, including those that were
// added again before. Delayed and parked items are dropped and counted in [Stats].
// Workers have to go on calling Get and Done.
//
// It returns nil when the queue is empty, the context's cause when ctx is done
// before, and [ErrDrainEnded] when ShutDown is called before. In all cases the
// queue is shut down. Any number of callers may wait.
func (q *Queue[T]) ShutDownWithDrain(ctx context.Context) error {
	q.mu.Lock()
	cancels := q.closeLocked()
	if q.drain == nil {
		q.drain = &drain{done: make(chan struct{})}
	}
	d := q.drain
	// In a queue that is empty already no Done will come that ends the drain.
	drained := q.drainedLocked()
	q.unlock()
	cancelAll(cancels)
	drained.end()
	// If ctx is done as well, the result of the drain is worth more.
	select {
	case <-d.done:
		return d.err
	default:
	}
	select {
	case <-d.done:
		return d.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ShuttingDown reports whether the queue has been shut down.
func (q *Queue[T]) ShuttingDown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.shutDown
}

// close shuts the queue down like ShutDown, but leaves a drain to dropAll, which follows.
func (q *Queue[T]) close() {
	q.mu.Lock()
	cancels := q.closeLocked()
	q.unlock()
	cancelAll(cancels)
}

// closeLocked marks the queue as shut down and drops what is delayed or parked. It returns what
// cancels the conditions of the parks.
func (q *Queue[T]) closeLocked() (cancels []func()) {
	if q.shutDown {
		return nil
	}
	q.shutDown = true
	// If release has begun already, it will find nothing to do.
	if q.later.timer != nil {
		q.later.timer.Stop()
	}
	for _, d := range q.later.deadlines {
		if cancel := q.dropLaterLocked(d.entry); cancel != nil {
			cancels = append(cancels, cancel)
		}
	}
	q.later.deadlines = nil
	return cancels
}

// dropLaterLocked drops the request of a delayed or parked entry because of a shutdown,
// but for its deadline. It returns what cancels the condition of a park, which may be nil.
func (q *Queue[T]) dropLaterLocked(e *entry[T]) (cancel func()) {
	lost := true
	if e.is(parked) {
		p := q.later.endPark(e)
		cancel, lost = p.cancel, e.is(requested) || p.due < never
		if e.again() {
			q.dropAgainLocked(e)
		}
		e.states &^= requested
	}
	if lost {
		q.count.shutdownLosses++
	}
	e.place = 0
	if !e.is(running) { // else its Done discards it
		q.discardLocked(e)
	}
	return cancel
}

// drainedLocked returns the drain that has come to its end, if one has.
// What is delayed or parked does not count: the shutdown has dropped it.
func (q *Queue[T]) drainedLocked() *drain {
	if q.drain == nil || q.order.n > 0 || q.count.running > 0 {
		return nil
	}
	d := q.drain
	q.drain = nil
	return d
}

// dropAll drops every request from a queue that is shut down, as no worker is left to take
// it: Done does not queue a running item again. It returns how many were queued, and how many
// items are still running.
func (q *Queue[T]) dropAll() (dropped, running int) {
	q.mu.Lock()
	for q.order.n > 0 {
		e := q.order.pop(0)
		e.states &^= requested
		q.discardLocked(e)
		dropped++
	}
	for e := range q.running.each {
		if e.again() {
			q.dropAgainLocked(e)
			q.count.shutdownLosses++
		}
	}
	q.count.shutdownLosses += uint64(dropped)
	running = q.count.running
	drained := q.drainedLocked()
	q.unlock()
	drained.end()
	return dropped, running
}

// count1 adds one to a counter of the queue.
func (q *Queue[T]) count1(counter *uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	*counter++
}
