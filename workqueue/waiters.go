package workqueue

import (
	"context"
	"slices"
)

// waiter is a goroutine waiting in Get. The channel has room for one signal, so that
// waking never blocks.
type waiter chan struct{}

// wake unblocks w, which may be nil. It is called after the mutex was released, so
// that the goroutine does not wake up only to wait for it.
func (w waiter) wake() {
	if w != nil {
		w <- struct{}{}
	}
}

// waiters is the stack of goroutines that found nothing queued. The last to
// come is woken first: its stack and caches are still warm.
//
// Signalling a waiter does not hand it the item: the goroutine that takes the mutex next
// may take the item, which saves a switch of goroutines when workers are busy
// anyway. At most one signal is on its way at a time, and a woken goroutine
// signals the next if items are left. That avoids a thundering herd: a burst of
// adds does not wake every idle worker for what the first ones will have done by then.
//
// Whenever the mutex is free: if there are queued entries and waiters, then a signal is
// on its way.
type waiters struct {
	stack    []waiter
	onTheWay int      // signalled, and not yet back with the mutex held
	free     []waiter // to be used again
}

// maxFreeWaiters is how many waiters are kept for reuse.
const maxFreeWaiters = 64

// next takes off the waiter to wake, given the number of queued entries.
func (l *waiters) next(queued int) waiter {
	if len(l.stack) == 0 || queued == 0 || l.onTheWay > 0 {
		return nil
	}
	w := l.stack[len(l.stack)-1]
	l.stack = l.stack[:len(l.stack)-1]
	l.onTheWay++
	return w
}

// all takes off every waiter.
func (l *waiters) all() []waiter {
	all := l.stack
	l.stack = nil
	l.onTheWay += len(all)
	return all
}

// get returns a waiter for a goroutine that is about to wait.
//
// The free list is not a sync.Pool: a channel that was made in a testing/synctest
// bubble must not be used outside, and a pool would carry it from one test to another.
func (l *waiters) get() waiter {
	n := len(l.free)
	if n == 0 {
		return make(waiter, 1)
	}
	w := l.free[n-1]
	l.free = l.free[:n-1]
	return w
}

// put keeps a waiter whose signal was received, or can never come.
func (l *waiters) put(w waiter) {
	if len(l.free) < maxFreeWaiters {
		l.free = append(l.free, w)
	}
}

// waitLocked releases the mutex while it waits. It returns true when an entry is queued,
// false when ctx is done, or when nothing is queued and the queue is shut down.
func (q *Queue[T]) waitLocked(ctx context.Context) bool {
	l := &q.waiters
	w := l.get()
	defer func() { l.put(w) }()
	// Another goroutine may have taken the item before this one got the mutex.
	for q.order.n == 0 && !q.shutDown {
		l.stack = append(l.stack, w)
		q.unlock()
		select {
		case <-w:
			q.mu.Lock()
			l.onTheWay--
		case <-ctx.Done():
			q.mu.Lock()
			if i := slices.Index(l.stack, w); i >= 0 {
				l.stack = slices.Delete(l.stack, i, i+1)
				return false
			}
			// A signal is on its way; the next unlock passes it on to another waiter.
			<-w
			l.onTheWay--
			return false
		}
	}
	return q.order.n > 0
}
