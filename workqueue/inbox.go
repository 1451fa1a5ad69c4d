package workqueue

import "sync/atomic"

// inbox takes adds while the queue is locked, so that a producer need not wait for the
// lock: its holder adds what is in the inbox.
//
// An Add that finds the lock taken puts its request here and returns; the item then counts
// as added. Two rules, in lock and unlock, make that true:
//
//   - An operation that has taken the lock empties the inbox before anything else. So one that
//     begins after an Add has returned finds the item added, and items are in the order of their adds.
//   - An operation that has released the lock looks into the inbox afterwards, as an Add does
//     after it has put its request there. If there is one, and the lock is free, it takes the
//     lock once more. If the lock is not free, its holder has yet to look. So nothing stays behind.
//
// No operation adds for others without end: after inboxTurn requests the inbox has no room until
// another operation has taken the lock. Until then producers wait for the lock.
//
// The inbox has a lock of its own, which is held for no longer than it takes to append a
// request or to exchange two slices.
type inbox[T comparable] struct {
	some atomic.Bool // whether there are requests; changed under mu

	mu       mutex
	requests []timedRequest[T]
	spare    []timedRequest[T] // empty, to exchange requests for
	spent    int               // how many were taken since an operation gave room; changed under both locks
}

// timedRequest is a request with the time at which it was made.
type timedRequest[T comparable] struct {
	request[T]
	at int64
}

const (
	// inboxSize is how many requests an inbox has room for at a time. Its slices take ten
	// kilobytes in a queue whose producers and workers have met at the lock, none in others.
	inboxSize = 64

	// inboxTurn is how many requests, and at most inboxSize more, are taken before another
	// operation must have taken the lock: work of some ten microseconds. So one Add in some
	// hundreds does that for others, or waits for it.
	inboxTurn = 256
)

func newInbox[T comparable]() *inbox[T] {
	return &inbox[T]{
		requests: make([]timedRequest[T], 0, inboxSize),
		spare:    make([]timedRequest[T], 0, inboxSize),
	}
}

// put takes r, and reports whether there was room for it. It takes the lock of the inbox alone.
func (in *inbox[T]) put(r *request[T], at int64) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.requests) == inboxSize || in.spent >= inboxTurn {
		return false
	}
	in.requests = append(in.requests, timedRequest[T]{*r, at})
	in.some.Store(true)
	return true
}

// take returns all requests, in their order. It is called with the lock of the queue held; the
// caller clears what it got before it releases that. With room, the next inboxTurn may come.
func (in *inbox[T]) take(room bool) []timedRequest[T] {
	in.mu.Lock()
	defer in.mu.Unlock()
	taken := in.requests
	in.requests, in.spare = in.spare, taken[:0]
	in.some.Store(false)
	in.spent += len(taken)
	if room {
		in.spent = 0
	}
	return taken
}

// lock takes the lock and empties the inbox.
func (q *engine[T]) lock() {
	q.mu.Lock()
	if q.inbox.Load() != nil {
		q.receiveLocked(true)
	}
}

// lockOrPut takes the lock as lock does, or returns false: the lock is taken, and the request in
// the inbox. Then emptyInbox has to follow.
//
// An add that is recorded waits for the lock: it is noted what the item was when it was added.
func (q *engine[T]) lockOrPut(r *request[T], at int64) bool {
	in := q.inbox.Load()
	// Where there are requests, the lock is taken. Not to try leaves it to its holder's core.
	if busy := in != nil && in.some.Load(); !busy && q.mu.TryLock() {
		if in != nil {
			q.receiveLocked(true)
		}
		return true
	}
	if q.recording == nil && q.inboxOrNew().put(r, at) {
		return false
	}
	q.lock()
	return true
}

// inboxOrNew returns the inbox, which the first Add that finds the lock taken makes.
func (q *engine[T]) inboxOrNew() *inbox[T] {
	if in := q.inbox.Load(); in != nil {
		return in
	}
	q.inbox.CompareAndSwap(nil, newInbox[T]())
	return q.inbox.Load()
}

// receiveLocked adds what is in the inbox. With room, inboxTurn more may come; only an operation
// that has taken the lock for nothing but the inbox gives none.
func (q *engine[T]) receiveLocked(room bool) {
	in := q.inbox.Load()
	if in == nil || !in.some.Load() && (!room || in.spent == 0) {
		return
	}
	received := in.take(room)
	for i := range received {
		q.addLocked(&received[i].request, received[i].at)
	}
	clear(received) // an item may be all that keeps a large string
}

// unlock releases the lock, wakes a goroutine that waits for an item if there is one, and
// empties the inbox.
func (q *engine[T]) unlock() {
	w := q.waiters.next(q.order.n)
	q.mu.Unlock()
	w.wake()
	if q.inbox.Load() != nil {
		q.emptyInbox()
	}
}

// emptyInbox adds what is in the inbox, unless the lock has a holder, who will.
func (q *engine[T]) emptyInbox() {
	for in := q.inbox.Load(); in != nil && in.some.Load() && q.mu.TryLock(); {
		q.receiveLocked(false)
		w := q.waiters.next(q.order.n)
		q.mu.Unlock()
		w.wake()
	}
}
