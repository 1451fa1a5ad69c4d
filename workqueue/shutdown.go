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
// The method that takes it off the engine, under the lock, is the one that ends it: so
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

// shutDown stops the queue from accepting anything, and ends a drain.
func (q *engine[T]) shutDown() {
	q.lock()
	c := q.closeLocked()
	d := q.drain
	if d != nil {
		d.err = ErrDrainEnded
		q.drain = nil
	}
	q.unlock()
	c.finish()
	d.end()
}

// shutDownTaking does the same, but leaves a drain to takeAll, which follows. It
// returns the delayed and the parked items, and those of paused groups, that this
// dropped.
func (q *engine[T]) shutDownTaking() (delayed, parked, paused []T) {
	// The drain stays: what waits for it is unblocked when takeAll has emptied the queue.
	q.lock()
	c := q.closeLocked()
	q.unlock()
	c.finish()
	return c.delayed, c.parked, c.paused
}

// shutDownWithDrain does the same and waits until everything was processed.
func (q *engine[T]) shutDownWithDrain(ctx context.Context) error {
	q.lock()
	c := q.closeLocked()
	if q.drain == nil {
		q.drain = &drain{done: make(chan struct{})}
	}
	d := q.drain
	// In a queue that is empty already no Done will come that ends the drain.
	drained := q.drainedLocked()
	q.unlock()
	c.finish()
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

// closing is what remains to do, without the lock, once a queue was shut down.
type closing[T comparable] struct {
	woken   *waiter  // linked through next
	cancels []func() // of the conditions of the parks
	// What was dropped.
	delayed, parked, paused []T
}

// finish wakes the waiters and cancels the conditions.
// It runs without the lock: cancel functions are user code.
func (c *closing[T]) finish() {
	for w := c.woken; w != nil; {
		next := w.next // w belongs to its goroutine again once it is woken
		w.next = nil
		w.wake()
		w = next
	}
	cancelAll(c.cancels)
}

// closeLocked marks the queue as shut down and drops what is delayed or parked, and
// what waits for a paused group.
func (q *engine[T]) closeLocked() (c closing[T]) {
	if q.shuttingDown.Load() {
		return c
	}
	q.shuttingDown.Store(true)
	// If release has begun already, it will find both wheels empty.
	if q.timer != nil {
		q.timer.Stop()
	}
	c.delayed = q.dropDelayedLocked()
	c.parked, c.cancels = q.dropParkedLocked()
	c.paused = q.dropAllPausedLocked()
	// Every waiter is woken, not one after the other: there may be no item whose
	// Get would signal the next.
	for q.waiters.head != nil {
		w := q.waiters.pop()
		w.next, c.woken = c.woken, w
	}
	return c
}

// dropDelayedLocked drops every delayed request and returns their items.
func (q *engine[T]) dropDelayedLocked() []T {
	items := make([]T, 0, q.delays.n)
	for handle := range q.delays.all {
		e := q.items.entries.at(handle)
		e.waits = waitsForNothing
		q.count.shutdownLosses++
		items = append(items, e.item)
		// A running one is discarded by its Done.
		if !e.running {
			q.discardLocked(e)
		}
	}
	q.delays.clear()
	return items
}

// drainedLocked returns the drain that has come to its end, if one has.
// What is delayed or parked does not count: the shutdown has dropped it.
func (q *engine[T]) drainedLocked() *drain {
	if q.drain == nil || q.order.n > 0 || q.count.running > 0 {
		return nil
	}
	d := q.drain
	q.drain = nil
	return d
}

// processors are the calls of ProcessWith that work on one queue. One that stops
// leaves the queue to the others; the last one shuts it down.
type processors struct {
	n    int    // at work
	last uint16 // number of the one that came last
}

// join counts one more ProcessWith and returns its number. Numbers are used
// again after 65,535 calls; they only have to differ among those at work.
func (q *engine[T]) join() uint16 {
	q.lock()
	defer q.unlock()
	q.processors.n++
	if q.processors.last++; q.processors.last == noHolder {
		q.processors.last++
	}
	return q.processors.last
}

// leave counts one less and reports whether it was the last.
func (q *engine[T]) leave() bool {
	q.lock()
	defer q.unlock()
	q.processors.n--
	return q.processors.n == 0
}

// takeAll removes everything that is queued from a queue that is shut down, and
// returns it together with the items that holder still holds, or that were taken
// by Get. Running items are not queued again. What another ProcessWith holds, that
// one returns; only the request to process it again is returned here, as queued.
func (q *engine[T]) takeAll(holder uint16) (queued, running []T) {
	q.lock()
	for q.order.n > 0 {
		e := q.order.pop(q.latest)
		queued = append(queued, e.item)
		q.count.shutdownLosses++
		q.discardLocked(e)
	}
	for e := range q.running.each {
		own := e.holder == holder || e.holder == noHolder
		if own {
			running = append(running, e.item)
		}
		// No ProcessWith is left to take the item, so Done must not queue it again.
		if e.again {
			e.again = false
			q.count.again--
			q.count.shutdownLosses++
			if !own {
				queued = append(queued, e.item)
			}
		}
	}
	drained := q.drainedLocked()
	q.unlock()
	drained.end()
	return queued, running
}

// heldBy returns the items that were handed out to holder and are not done.
func (q *engine[T]) heldBy(holder uint16) (running []T) {
	q.lock()
	defer q.unlock()
	for e := range q.running.each {
		if e.holder == holder {
			running = append(running, e.item)
		}
	}
	return running
}

// countDropped counts an item that ProcessWith dropped because of its failures.
func (q *engine[T]) countDropped() {
	q.lock()
	defer q.unlock()
	q.count.dropped++
}

// countShutdownLoss counts a request that came after the shutdown.
func (q *engine[T]) countShutdownLoss() {
	q.lock()
	defer q.unlock()
	q.count.shutdownLosses++
}
