package workqueue

// waiter is a goroutine waiting in Get.
type waiter struct {
	signal     chan struct{} // capacity 1, so that waking never blocks
	next, prev *waiter
	signalled  bool // taken off the list and about to receive the signal
}

// wake unblocks w, which may be nil. It is called after the lock was released, so
// that the goroutine does not wake up only to wait for the lock.
func (w *waiter) wake() {
	if w != nil {
		w.signal <- struct{}{}
	}
}

// waiters is the stack of goroutines that found the queue empty. The last to
// come is woken first: its stack and caches are still warm.
//
// Signalling a waiter does not hand it the item: the goroutine that holds the lock next may
// take the item, which saves a switch of goroutines when workers are busy
// anyway. At most one signal is on its way at a time, and a woken goroutine
// signals the next if items are left. That avoids a thundering herd: a burst of
// adds does not wake every idle worker for what the first ones will have done by then.
//
// What must hold whenever the lock is free: if there are queued entries and
// waiters, then a signal is on its way.
type waiters struct {
	head     *waiter
	onTheWay int // signalled, and not yet back under the lock
	free     *waiter
	nFree    int
}

// maxFreeWaiters is how many waiters are kept for reuse.
const maxFreeWaiters = 64

// next takes off the waiter to wake, given the number of queued entries.
func (l *waiters) next(queued int) *waiter {
	if l.head == nil || queued == 0 || l.onTheWay > 0 {
		return nil
	}
	return l.pop()
}

// pop takes off the waiter that came last; there must be one. The caller wakes it.
func (l *waiters) pop() *waiter {
	w := l.head
	l.remove(w)
	w.signalled = true
	l.onTheWay++
	return w
}

// push adds a waiter that came just now.
func (l *waiters) push(w *waiter) {
	w.next, w.prev = l.head, nil
	if l.head != nil {
		l.head.prev = w
	}
	l.head = w
}

// remove takes off a waiter that is on the stack, for example as its context ended.
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
	l.onTheWay--
}

// get returns a waiter for a goroutine that is about to wait.
//
// The free list is not a sync.Pool: a channel that was made in a testing/synctest
// bubble must not be used outside, and a pool would carry it from one test to another.
func (l *waiters) get() *waiter {
	w := l.free
	if w == nil {
		return &waiter{signal: make(chan struct{}, 1)}
	}
	l.free, l.nFree = w.next, l.nFree-1
	w.next = nil
	return w
}

// put keeps a waiter whose signal was received, or can never come.
func (l *waiters) put(w *waiter) {
	if l.nFree < maxFreeWaiters {
		w.next = l.free
		l.free, l.nFree = w, l.nFree+1
	}
}
