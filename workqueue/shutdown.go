package workqueue

import (
	"context"
	"errors"
)

// ErrDrainEnded is returned by [Queue.ShutDownWithDrain] when a plain
// [Queue.ShutDown] ended the wait although items were still queued or running.
var ErrDrainEnded = errors.New("workqueue: ShutDown ended the drain before the queue was empty")

// drain is one wait for the queue to become empty, shared by all who wait.
type drain struct {
	done chan struct{}
	err  error // set before done is closed
}

// end releases those who wait; nil is nobody.
func (d *drain) end() {
	if d != nil {
		close(d.done)
	}
}

// shutDown stops the queue from accepting anything.
func (q *engine[T]) shutDown() {
	q.mu.Lock()
	woken := q.closeLocked()
	d := q.drain
	if d != nil {
		d.err = ErrDrainEnded
		q.drain = nil
	}
	q.mu.Unlock()
	wakeAll(woken)
	d.end()
}

// shutDownWithDrain does the same and waits until everything was processed.
func (q *engine[T]) shutDownWithDrain(ctx context.Context) error {
	q.mu.Lock()
	woken := q.closeLocked()
	if q.drain == nil {
		q.drain = &drain{done: make(chan struct{})}
	}
	d := q.drain
	drained := q.drainedLocked()
	q.mu.Unlock()
	wakeAll(woken)
	drained.end()
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

// closeLocked marks the queue as shut down, drops what is delayed and returns
// the waiters to wake, linked through next.
func (q *engine[T]) closeLocked() *waiter {
	if q.shuttingDown {
		return nil
	}
	q.shuttingDown = true
	if q.timer != nil {
		q.timer.Stop()
	}
	q.dropDelayedLocked(nil)
	var woken *waiter
	for q.waiters.head != nil {
		w := q.waiters.pop()
		w.next, woken = woken, w
	}
	return woken
}

// wakeAll wakes the waiters that closeLocked has returned. It is called without the
// lock.
func wakeAll(w *waiter) {
	for w != nil {
		next := w.next // w belongs to its goroutine again once it is woken
		w.next = nil
		w.wake()
		w = next
	}
}

// dropDelayedLocked drops every delayed request, telling each unless nil.
func (q *engine[T]) dropDelayedLocked(each func(T)) {
	for _, d := range q.delays.items {
		e := d.entry
		e.heapPos = noHeapPos
		q.count.shutdownLosses++
		if each != nil {
			each(e.item)
		}
		if !e.running {
			q.discardLocked(e)
		}
	}
	q.delays.items = nil
}

// drainedLocked returns the drain that has come to its end, if one has.
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
	q.mu.Lock()
	defer q.mu.Unlock()
	q.processors.n++
	if q.processors.last++; q.processors.last == nobody {
		q.processors.last++
	}
	return q.processors.last
}

// leave counts one less and reports whether it was the last.
func (q *engine[T]) leave() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.processors.n--
	return q.processors.n == 0
}

// shutDownTakingDelayed is ShutDown that returns the delayed items it drops.
func (q *engine[T]) shutDownTakingDelayed() []T {
	var delayed []T
	q.mu.Lock()
	q.dropDelayedLocked(func(item T) { delayed = append(delayed, item) })
	woken := q.closeLocked()
	q.mu.Unlock()
	wakeAll(woken)
	return delayed
}

// takeAll removes everything that is queued from a queue that is shut down, and
// returns it together with the items that holder still holds, or that were taken
// by Get. Running items are not queued again. What another ProcessWith holds, that
// one returns; only the request to process it again is returned here, as queued.
func (q *engine[T]) takeAll(holder uint16) (queued, running []T) {
	q.mu.Lock()
	for q.order.n > 0 {
		e := q.order.pop(q.latest)
		queued = append(queued, e.item)
		q.count.shutdownLosses++
		q.discardLocked(e)
	}
	for e := range q.running.each {
		own := e.holder == holder || e.holder == nobody
		if own {
			running = append(running, e.item)
		}
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
	q.mu.Unlock()
	drained.end()
	return queued, running
}

// heldBy returns the items that were handed out to holder and are not done.
func (q *engine[T]) heldBy(holder uint16) (running []T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for e := range q.running.each {
		if e.holder == holder {
			running = append(running, e.item)
		}
	}
	return running
}

// countDropped counts an item that ProcessWith dropped because of its failures.
func (q *engine[T]) countDropped() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.count.dropped++
}

// countShutdownLoss counts a request that came after the shutdown.
func (q *engine[T]) countShutdownLoss() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.count.shutdownLosses++
}
