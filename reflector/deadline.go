package reflector

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// deadline ends a request when something has not happened in time, with an
// error that says what.
//
// It is extended with each event, so that must cost next to nothing: the timer
// is left alone, and looks when it fires whether it is early.
type deadline struct {
	cancel context.CancelCauseFunc
	start  time.Time
	due    atomic.Int64 // from start
	after  atomic.Int64 // extend sets due so long from now
	// held is set while what is waited for cannot happen. A deadline that
	// passes meanwhile has no effect until it is extended.
	held atomic.Bool

	mu    sync.Mutex
	timer *time.Timer // nil: the deadline is not running
	cause error
	// last is a second deadline, from start, which nothing extends or holds; 0 is none.
	last      time.Duration
	lastCause error
}

// newDeadline returns a deadline that is not running.
func newDeadline(cancel context.CancelCauseFunc) *deadline {
	return &deadline{cancel: cancel, start: time.Now()}
}

// set runs the deadline from now; d <= 0 stops it.
func (d *deadline) set(after time.Duration, cause error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cause = cause
	d.after.Store(int64(max(after, 0)))
	d.due.Store(int64(time.Since(d.start) + after))
	d.runLocked()
}

// setLast ends the request after the given time, whatever set and extend say. The two
// share a timer, which every watch has.
func (d *deadline) setLast(after time.Duration, cause error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last, d.lastCause = time.Since(d.start)+after, cause
	d.runLocked()
}

// runLocked starts the timer for what is due first. The mutex must be held.
func (d *deadline) runLocked() {
	d.stopTimerLocked()
	if left, _ := d.leftLocked(); left < forever {
		d.timer = time.AfterFunc(left, d.fire)
	}
}

// forever is how long it is until a deadline that is not running.
const forever = time.Duration(math.MaxInt64)

// leftLocked returns how long it is until the deadline must be looked at, and its cause if
// it is due. One that is held is looked at again no later than it can be due. The mutex
// must be held.
func (d *deadline) leftLocked() (left time.Duration, cause error) {
	left, cause = forever, d.cause
	now := time.Since(d.start)
	if after := time.Duration(d.after.Load()); after > 0 {
		left = after
		if !d.held.Load() { // looked at first: held is cleared after due has been extended
			left = time.Duration(d.due.Load()) - now
		}
	}
	if d.last > 0 && d.last-now < left {
		return d.last - now, d.lastCause
	}
	return left, cause
}

// extend restarts the deadline from now if it is running. It may be called from
// any goroutine, such as the one that reads.
func (d *deadline) extend(now time.Time) {
	d.due.Store(int64(now.Sub(d.start)) + d.after.Load())
}

// fire ends the request, unless it is too early for that.
func (d *deadline) fire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer == nil {
		return
	}
	left, cause := d.leftLocked()
	if left > 0 {
		d.timer.Reset(left)
		return
	}
	d.cancel(cause)
}

// stop ends the deadline without an effect on the request. It can be set again.
func (d *deadline) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.after.Store(0)
	d.last = 0
	d.stopTimerLocked()
}

// stopTimerLocked ends the timer. A fire that waits for the mutex has no effect then. The
// mutex must be held.
func (d *deadline) stopTimerLocked() {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}

// because returns the reason why ctx was cancelled in place of the error that
// the cancellation led to.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
