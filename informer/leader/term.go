package leader

import (
	"context"
	"sync"
	"time"
)

// Term is a time in which a replica leads.
type Term struct {
	ctx   context.Context //nolint:containedctx // a term is a span of time
	mu    sync.Mutex
	until time.Time // zero: it is over
}

// Context ends when the Lease is lost, with the cause [ErrLost], and when Lead has returned. In a
// stop it goes on until then: it is for what is in progress.
func (t *Term) Context() context.Context { return t.ctx }

// Held reports whether this replica leads at this moment, by its own clock. Once it has returned
// false it always does. A process that was paused for longer than RenewDeadline finds out here,
// before anything else has noticed: ask before each key. It costs a clock read.
func (t *Term) Held() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.heldLocked()
}

func (t *Term) heldLocked() bool {
	// Both clocks count: the monotonic one stands still while some machines sleep, and the
	// other one may be set.
	if now := time.Now(); !now.Before(t.until) || !now.Round(0).Before(t.until.Round(0)) {
		t.until = time.Time{}
	}
	return !t.until.IsZero()
}

// extend moves the end; the zero time ends the term. It returns false if it was over.
func (t *Term) extend(until time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	held := t.heldLocked()
	if held {
		t.until = until
	}
	return held
}
