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
			q.discard(e)
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
