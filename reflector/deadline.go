package reflector

import (
	"context"
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
}

// newDeadline returns a deadline that is not running.
func newDeadline(cancel context.CancelCauseFunc) *deadline {
	return &deadline{cancel: cancel, start: time.Now()}
}

// set runs the deadline from now; d <= 0 stops it.
func (d *deadline) set(after time.Duration, cause error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil // a fire that waits for the mutex has no effect then
	}
	if after <= 0 {
		return
	}
	d.cause = cause
	d.after.Store(int64(after))
	d.extend(time.Now())
	d.timer = time.AfterFunc(after, d.fire)
}

// stop ends the deadline without an effect on the request. It can be set again.
func (d *deadline) stop() { d.set(0, nil) }

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
	// A deadline that is held is looked at again no later than it can be due.
	left := time.Duration(d.after.Load())
	if !d.held.Load() { // looked at first: held is cleared after due has been extended
		left = time.Duration(d.due.Load()) - time.Since(d.start)
	}
	if left > 0 {
		d.timer.Reset(left)
		return
	}
	d.cancel(d.cause)
}

// because returns the reason why ctx was cancelled in place of the error that
// the cancellation led to.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// sleep returns after d or when ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	// Not time.After: its timer would live on after ctx has ended.
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
