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
//	lockWhenRoom ─ add ─ addedAndUnlock(n)      lockWhenPending ─ take all ─ wakeProducers ─ unlock
//	     ▲ room ◀─────────────────┼──────────────────────────────────────────────┘
//	                              └───────────▶ work ▲
//
// What is woken looks again, and both are woken with the mutex locked. So a wake-up cannot be
// lost, and a stale one costs one extra look. The consumer is one, so a token in a channel wakes
// it. Producers may be many, and all of them are woken when there is room, as a pop makes as
// much as there can be.
//
// A sync.Cond has no select, so that a context cannot end its Wait; with
// context.AfterFunc to wake it, each wait would allocate. A buffered channel of
// deltas has select, but cannot hand over all that it holds at once.
type bounded struct {
	mu      sync.Mutex
	limit   int // positive; 0 in a queue that was not made by New
	pending int // deltas that wait for the consumer
	closed  bool

	work chan struct{} // token: something is pending, or the queue is closed; nil before the first wait
	room chan struct{} // closed when there is room, or the queue is closed; nil while no producer waits

	popping atomic.Bool // a pop is in progress
}

// init makes the queue usable.
func (b *bounded) init(limit int) {
	switch {
	case limit == 0:
		limit = defaultLimit
	case limit < 0:
		limit = math.MaxInt
	}
	b.limit = limit
}

// lockWhenRoom waits until one write may be made, and returns with the mutex
// locked. If it returns an error the mutex is not locked.
func (b *bounded) lockWhenRoom(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := b.lockIfOpen(); err != nil {
			return err
		}
		if b.pending < b.limit {
			return nil
		}
		if b.room == nil {
			b.room = make(chan struct{})
		}
		b.unlockAndWait(ctx, b.room)
	}
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
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		b.mu.Lock()
		switch {
		case b.pending > 0:
			return nil
		case b.closed:
			b.mu.Unlock()
			return ErrClosed
		case b.limit == 0:
			b.mu.Unlock()
			return errNotMade
		}
		if b.work == nil {
			b.work = make(chan struct{}, 1)
		}
		b.unlockAndWait(ctx, b.work)
	}
}

// unlockAndWait unlocks the mutex, and waits for a wake-up or the end of ctx.
func (b *bounded) unlockAndWait(ctx context.Context, woken <-chan struct{}) {
	b.mu.Unlock()
	select {
	case <-woken:
	case <-ctx.Done():
	}
}

// addedAndUnlock accounts for n deltas that were added, and unlocks the mutex.
func (b *bounded) addedAndUnlock(n int) {
	if b.pending == 0 {
		b.wakeConsumer()
	}
	b.pending += n
	b.mu.Unlock()
}

// wakeConsumer wakes the consumer if it waits. The mutex must be locked.
func (b *bounded) wakeConsumer() {
	select {
	case b.work <- struct{}{}:
	default: // there is a token, or nothing has ever waited
	}
}

// wakeProducers wakes all producers that wait. The mutex must be locked.
func (b *bounded) wakeProducers() {
	if b.room != nil {
		close(b.room)
		b.room = nil
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
	b.closed = b.limit != 0
	b.wakeConsumer()
	b.wakeProducers()
}
