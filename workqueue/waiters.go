package workqueue

import (
	"context"
	"time"
)

// waiter is a goroutine waiting in Get.
type waiter struct {
	signal     chan struct{} // capacity 1, so that waking never blocks
	next, prev *waiter
	signalled  bool // taken off the list and about to receive the signal
}

// wake lets w run; nil is nobody. It is called after the lock was released, so
// that the goroutine does not wake up only to wait for the lock.
func (w *waiter) wake() {
	if w != nil {
		w.signal <- struct{}{}
	}
}

// waiters is the stack of goroutines that found the queue empty. The last to
// come is woken first: its stack and caches are still warm.
//
// A wake-up is an invitation, not a hand-over: whoever holds the lock next may
// take the item, which saves a switch of goroutines when workers are busy
// anyway. At most one invitation is on its way at a time, and whoever accepts
// it invites the next if items are left, so that a burst of adds does not stir
// up every idle worker for work that the first ones will have done by then.
//
// What must hold whenever the lock is free: if there are queued entries and
// waiters, then an invitation is on its way.
type waiters struct {
	head     *waiter
	inviting int // signalled, and not yet back under the lock
	free     *waiter
	nFree    int
}

// maxFreeWaiters is how many waiters are kept for reuse.
const maxFreeWaiters = 64

// next takes off the waiter to wake, given the number of queued entries.
func (l *waiters) next(queued int) *waiter {
	if l.head == nil || queued == 0 || l.inviting > 0 {
		return nil
	}
	return l.pop()
}

func (l *waiters) pop() *waiter {
	w := l.head
	l.remove(w)
	w.signalled = true
	l.inviting++
	return w
}

func (l *waiters) push(w *waiter) {
	w.next, w.prev = l.head, nil
	if l.head != nil {
		l.head.prev = w
	}
	l.head = w
}

func (l *waiters) remove(w *waiter) {
	if w.prev == nil {
		l.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	}
	w.next, w.prev = nil, nil
}

// arrived is to be called by a woken waiter once it holds the lock.
func (l *waiters) arrived(w *waiter) {
	w.signalled = false
	l.inviting--
}

func (l *waiters) get() *waiter {
	w := l.free
	if w == nil {
		return &waiter{signal: make(chan struct{}, 1)}
	}
	l.free, l.nFree = w.next, l.nFree-1
	w.next = nil
	return w
}

func (l *waiters) put(w *waiter) {
	if l.nFree < maxFreeWaiters {
		w.next = l.free
		l.free, l.nFree = w, l.nFree+1
	}
}

// get hands out the next item to holder, waiting for one if need be. It returns
// false when ctx is done, or the queue is shut down and has nothing queued.
func (q *engine[T]) get(ctx context.Context, holder uint16) (item T, ok bool) {
	if ctx.Err() != nil {
		return item, false
	}
	now := q.timeIfKept()
	q.mu.Lock()
	if q.order.n == 0 {
		if q.shuttingDown || !q.wait(ctx) {
			q.mu.Unlock()
			return item, false
		}
		now = q.timeIfKept()
	}
	e := q.takeLocked(now, holder)
	item = e.item // e may be recycled as soon as the lock is released
	queuedAt := e.queuedAt
	w := q.waiters.next(q.order.n)
	q.mu.Unlock()
	w.wake()
	if q.opts.Metrics != nil {
		q.opts.Metrics.Started(time.Duration(max(0, now-queuedAt)))
	}
	return item, true
}

// wait is called, and returns, with the lock held. It returns true when an
// entry is queued, false when ctx is done or the queue empty and shut down.
func (q *engine[T]) wait(ctx context.Context) bool {
	w := q.waiters.get()
	for q.order.n == 0 && !q.shuttingDown {
		q.waiters.push(w)
		q.mu.Unlock()
		select {
		case <-w.signal:
			q.mu.Lock()
			q.waiters.arrived(w)
		case <-ctx.Done():
			q.mu.Lock()
			if !w.signalled {
				q.waiters.remove(w)
				q.waiters.put(w)
				return false
			}
			// The invitation is on its way and goes to somebody else. The
			// waiter is not reused, its signal may come any time.
			q.waiters.arrived(w)
			next := q.waiters.next(q.order.n)
			q.mu.Unlock()
			next.wake()
			q.mu.Lock()
			return false
		}
	}
	q.waiters.put(w)
	return q.order.n > 0
}
