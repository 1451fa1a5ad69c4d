package workqueue

import (
	"context"
	"errors"
)

var errDrainEnded = errors.New("workqueue: ShutDown ended the drain before the queue was empty")

// drain is one wait for the queue to become empty, shared by all its callers.
type drain struct {
	done chan struct{}
	err  error // set before done is closed
}

// endDrainLocked ends the wait of the callers of ShutDownWithDrain, if there are any.
func (q *Queue[T]) endDrainLocked(err error) {
	if d := q.drain; d != nil {
		q.drain, d.err = nil, err
		close(d.done)
	}
}

// ShutDown makes the queue ignore all further adds, drops what is delayed or parked,
// and lets Get return false once nothing is queued. It does not wait; it ends the
// wait of any [Queue.ShutDownWithDrain].
func (q *Queue[T]) ShutDown() {
	q.mu.Lock()
	defer q.unlock()
	q.closeLocked()
	q.endDrainLocked(errDrainEnded)
}

// ShutDownWithDrain is [Queue.ShutDown] that waits until every queued item has
// been handed out and every running one is done, including those that were
// added again before. Delayed and parked items are dropped and counted in [Stats].
// Workers have to go on calling Get and Done.
//
// It returns nil when the queue is empty, the context's cause when ctx is done
// before, and another error when ShutDown is called before. In all cases the
// queue is shut down. Any number of callers may wait.
func (q *Queue[T]) ShutDownWithDrain(ctx context.Context) error {
	q.mu.Lock()
	q.closeLocked()
	if q.drain == nil {
		q.drain = &drain{done: make(chan struct{})}
	}
	d := q.drain
	q.unlock() // ends it if the queue is empty, as other operations do that make it so
	select {
	case <-d.done:
		return d.err
	case <-ctx.Done():
	}
	select {
	case <-d.done: // as well: that is worth more
		return d.err
	default:
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
	defer q.unlock()
	q.closeLocked()
}

// closeLocked marks the queue as shut down and drops what is delayed or parked.
func (q *Queue[T]) closeLocked() {
	if q.shutDown {
		return
	}
	q.shutDown = true
	// If release has begun already, it will find nothing to do.
	if q.later.timer != nil {
		q.later.timer.Stop()
	}
	for _, d := range q.later.deadlines {
		q.dropLaterLocked(d.entry)
	}
	q.later.deadlines = nil
}

// dropLaterLocked drops the request of a delayed or parked entry because of a shutdown,
// but for its deadline.
func (q *Queue[T]) dropLaterLocked(e *entry[T]) {
	lost := true
	if e.is(parked) {
		p := q.endParkLocked(e)
		lost = e.is(requested) || p.due < never
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
}

// dropAll drops every request from a queue that is shut down, as no worker is left to take
// it: Done does not queue a running item again. It returns how many were queued, and how many
// items are still running.
func (q *Queue[T]) dropAll() (dropped, running int) {
	q.mu.Lock()
	defer q.unlock()
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
	return dropped, q.count.running
}

// count1 adds one to a counter of the queue.
func (q *Queue[T]) count1(counter *uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	*counter++
}
