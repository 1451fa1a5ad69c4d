package deltafifo

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// gate is where producers wait for room and the consumer waits for work. Both
// faces are a gate plus a data structure that its mutex guards.
//
// Waiting uses channels instead of a sync.Cond so that a context can end it.
// Each channel holds at most one token; a token means "look again", never more,
// so a stale one costs one extra look and a lost one cannot occur: whoever
// changes what others wait for posts a token while holding the mutex, and
// whoever waits has said so under the same mutex.
type gate struct {
	mu      sync.Mutex
	limit   int // positive; 0 in a queue that was not made by its constructor
	pending int // deltas that wait for the consumer
	closed  bool

	closing chan struct{} // closed by Close: everybody looks again
	room    chan struct{} // token for one blocked producer, which passes it on; nil until one was
	blocked int           // producers that wait for room
	ready   chan struct{} // token for the consumer
	waiting bool          // the consumer waits for work
	idle    *time.Timer   // of the consumer; nil until there was a burst

	popping atomic.Bool   // a pop is in progress
	synced  chan struct{} // closed once the initial state has been processed
}

func (g *gate) init(limit int) {
	switch {
	case limit == 0:
		limit = DefaultLimit
	case limit < 0:
		limit = math.MaxInt
	}
	g.limit = limit
	g.closing = make(chan struct{})
	g.ready = make(chan struct{}, 1)
	g.synced = make(chan struct{})
}

// enter waits until one write may be made, whatever its size, and returns with
// the mutex locked. If it returns an error the mutex is not locked.
//
// A write is admitted as a whole as soon as there is room for one delta. So a
// large Replace may overshoot the limit, but can never wait for more room than
// there is.
func (g *gate) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g.mu.Lock()
	for g.pending >= g.limit && !g.closed {
		if g.limit == 0 {
			g.mu.Unlock()
			return errNotMade
		}
		if g.room == nil {
			g.room = make(chan struct{}, 1)
		}
		room := g.room
		g.blocked++
		g.mu.Unlock()
		var err error
		select {
		case <-room:
		case <-g.closing:
		case <-ctx.Done():
			err = ctx.Err()
		}
		g.mu.Lock()
		g.blocked--
		if err != nil {
			g.mu.Unlock()
			return err
		}
	}
	if g.closed {
		g.mu.Unlock()
		return ErrClosed
	}
	return nil
}

// open locks the mutex for a call that never waits, or says why the queue takes
// nothing. If it returns an error the mutex is not locked.
func (g *gate) open() error {
	g.mu.Lock()
	switch {
	case g.limit == 0:
		g.mu.Unlock()
		return errNotMade
	case g.closed:
		g.mu.Unlock()
		return ErrClosed
	}
	return nil
}

// leave accounts for n deltas that were added since enter, wakes whom that
// concerns and unlocks the mutex.
func (g *gate) leave(n int) {
	g.pending += n
	if g.waiting && g.pending > 0 {
		g.waiting = false
		post(g.ready)
	}
	if g.blocked > 0 && g.pending < g.limit {
		post(g.room)
	}
	g.mu.Unlock()
}

// await waits until something is pending. If that takes long and the queue is
// large, which is to say that it holds the memory of a burst, it is trimmed. The
// mutex must be locked, and is still locked when await returns without error.
func (g *gate) await(ctx context.Context, large bool, trim func()) error {
	var idle <-chan time.Time
	if g.pending == 0 && large {
		if g.idle == nil {
			g.idle = time.NewTimer(idleAfter)
		} else {
			g.idle.Reset(idleAfter)
		}
		defer g.idle.Stop()
		idle = g.idle.C
	}
	for g.pending == 0 {
		switch {
		case g.closed:
			g.mu.Unlock()
			return ErrClosed
		case g.limit == 0:
			g.mu.Unlock()
			return errNotMade
		}
		g.waiting = true
		g.mu.Unlock()
		var err error
		isIdle := false
		select {
		case <-g.ready:
		case <-g.closing:
		case <-idle:
			isIdle = true
		case <-ctx.Done():
			err = ctx.Err()
		}
		g.mu.Lock()
		g.waiting = false
		if err != nil {
			g.mu.Unlock()
			return err
		}
		if isIdle && g.pending == 0 {
			trim()
		}
	}
	return nil
}

// taken accounts for n deltas that the consumer has removed. The mutex must be
// locked.
func (g *gate) taken(n int) {
	g.pending -= n
	if g.blocked > 0 && g.pending < g.limit {
		post(g.room)
	}
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed && g.limit != 0 {
		g.closed = true
		close(g.closing)
	}
}

func (g *gate) len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pending
}

func (g *gate) hasSynced() bool {
	select {
	case <-g.synced:
		return true
	default:
		return false
	}
}

func post(token chan struct{}) {
	select {
	case token <- struct{}{}:
	default: // one is there already, and one is enough
	}
}
