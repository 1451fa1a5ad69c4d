package deltafifo

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
)

// bounded is where producers wait for room and the consumer waits for work. The queue is
// a bounded plus what its mutex guards.
//
//	producer                                    consumer
//	lockWhenRoom ─ add ─ countAndUnlock(+n)     lockWhenPending ─ take ─ countAndUnlock(-n)
//	     ▲ room ◀─────────────────┼───────────────────────────────────────┘
//	                              └───────────▶ work ▲
//
// The two channels hold at most one token each. A token means "look again", and
// countAndUnlock puts it in, with the mutex locked: that of work when something is
// pending for the first time again, as the consumer waits only if nothing is; that of
// room whenever there is some and a producer waits. So a wake-up cannot be lost, and a
// stale token costs one extra look. A producer that has used a token and left room
// passes it on.
//
// A sync.Cond has no select, so that a context cannot end its Wait; with
// context.AfterFunc to wake it, each wait would allocate. A buffered channel of
// deltas has select, but cannot hand over all that it holds at once.
type bounded struct {
	mu      sync.Mutex
	limit   int // positive; 0 in a queue that was not made by New
	pending int // deltas that wait for the consumer
	waiting int // producers that wait for room
	closed  bool

	room    chan struct{} // token: pending is less than limit
	work    chan struct{} // token: something is pending
	closing chan struct{} // closed by close: everything that waits looks again

	popping atomic.Bool // a pop is in progress
}

// init makes the queue usable.
func (b *bounded) init(limit int) {
	switch {
	case limit == 0:
		limit = DefaultLimit
	case limit < 0:
		limit = math.MaxInt
	}
	b.limit = limit
	b.room, b.work, b.closing = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{})
}

// lockWhenRoom waits until one write may be made, and returns with the mutex
// locked. If it returns an error the mutex is not locked.
func (b *bounded) lockWhenRoom(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := b.lockIfOpen(); err != nil {
		return err
	}
	for b.pending >= b.limit {
		b.waiting++
		b.mu.Unlock()
		err := b.wait(ctx, b.room)
		b.mu.Lock()
		b.waiting--
		if err == nil && b.closed {
			err = ErrClosed
		}
		if err != nil {
			b.mu.Unlock()
			return err
		}
	}
	return nil
}

// lockIfOpen locks the mutex for a write that does not wait for room. If it
// returns an error, as the queue takes no more writes, the mutex is not locked.
func (b *bounded) lockIfOpen() error {
	b.mu.Lock()
	switch {
	case b.limit == 0:
		b.mu.Unlock()
		return errNotMade
	case b.closed:
		b.mu.Unlock()
		return ErrClosed
	}
	return nil
}

// lockWhenPending waits until something is pending, and returns with the mutex
// locked. If it returns an error the mutex is not locked. A closed queue still
// has what was pending when it was closed.
func (b *bounded) lockWhenPending(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	for b.pending == 0 {
		closed, made := b.closed, b.limit != 0
		b.mu.Unlock()
		switch {
		case closed:
			return ErrClosed
		case !made:
			return errNotMade
		}
		if err := b.wait(ctx, b.work); err != nil {
			return err
		}
		b.mu.Lock()
	}
	return nil
}

// wait returns when it is time to look again, as there is a token or the queue is
// closing, or with the error of ctx. The mutex must not be locked.
func (b *bounded) wait(ctx context.Context, token <-chan struct{}) error {
	select {
	case <-token:
	case <-b.closing:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// countAndUnlock accounts for n deltas that were added, or taken if n is
// negative, wakes what waits for that, and unlocks the mutex.
func (b *bounded) countAndUnlock(n int) {
	wasEmpty := b.pending == 0
	b.pending += n
	if wasEmpty && b.pending > 0 {
		put(b.work)
	}
	if b.waiting > 0 && b.pending < b.limit {
		put(b.room)
	}
	b.mu.Unlock()
}

// put puts a token in, unless there is one.
func put(token chan<- struct{}) {
	select {
	case token <- struct{}{}:
	default:
	}
}

// Len returns the number of pending deltas. What is being processed does not
// count.
func (b *bounded) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pending
}

// Close ends writing: writes that wait for room and later writes fail with
// [ErrClosed]. What is pending can still be popped. Close may be called more
// than once, and from anywhere.
func (b *bounded) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed && b.limit != 0 {
		b.closed = true
		close(b.closing)
	}
}
