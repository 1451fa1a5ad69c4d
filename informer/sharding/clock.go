package sharding

import (
	"sync/atomic"
	"time"
)

// clock is the local clock of a replica. Only differences of its readings count: the
// clocks of two replicas are never compared.
type clock interface {
	now() time.Time
	// timer sends once, after d.
	timer(d time.Duration) (c <-chan time.Time, stop func() bool)
}

type systemClock struct{}

func (systemClock) now() time.Time { return time.Now() }

func (systemClock) timer(d time.Duration) (<-chan time.Time, func() bool) {
	t := time.NewTimer(d)
	return t.C, t.Stop
}

// deadline is until when a session may be relied upon. Workers check it before each
// key, while the replica's goroutine extends it. Once it has been found to have passed it
// cannot be extended any more, by nobody: then what a worker has concluded stays true.
type deadline struct {
	at    atomic.Pointer[time.Time] // nil once it has passed
	clock clock
}

func newDeadline(c clock, at time.Time) *deadline {
	d := &deadline{clock: c}
	d.at.Store(&at)
	return d
}

// ahead reports whether the deadline is ahead.
func (d *deadline) ahead() bool {
	for {
		at := d.at.Load()
		if at == nil {
			return false
		}
		if before(d.clock.now(), *at) {
			return true
		}
		// Not if it was extended meanwhile: then look again.
		if d.at.CompareAndSwap(at, nil) {
			return false
		}
	}
}

// before compares both clocks that a time has. The monotonic one stands still while
// some machines sleep; the wall clock may be set. The session ends with the first one
// that is past it.
func before(now, at time.Time) bool {
	return now.Before(at) && now.Round(0).Before(at.Round(0))
}

// extend moves the deadline to a later time. It returns false if it has passed.
func (d *deadline) extend(to time.Time) bool {
	for {
		at := d.at.Load()
		if at == nil || !d.ahead() {
			return false
		}
		if !to.After(*at) || d.at.CompareAndSwap(at, &to) {
			return true
		}
	}
}

// end makes it pass now.
func (d *deadline) end() { d.at.Store(nil) }

// time returns the deadline; the zero time if it has passed.
func (d *deadline) time() time.Time {
	if at := d.at.Load(); at != nil {
		return *at
	}
	return time.Time{}
}
