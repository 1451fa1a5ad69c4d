package reflector

import (
	"context"
	"sync/atomic"
	"time"
)

// deadline ends a request when something has not happened in time, with an
// error that says what.
type deadline struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer
	// held is set while what is waited for cannot happen. A deadline that
	// passes meanwhile has no effect until it is extended.
	held atomic.Bool
}

// newDeadline returns a deadline that is not running.
func newDeadline(cancel context.CancelCauseFunc) *deadline {
	return &deadline{cancel: cancel}
}

// set runs the deadline from now; d <= 0 stops it.
func (d *deadline) set(after time.Duration, cause error) {
	d.stop()
	if after > 0 {
		d.timer = time.AfterFunc(after, func() {
			if !d.held.Load() {
				d.cancel(cause)
			}
		})
	}
}

// extend runs the deadline anew if it is running.
func (d *deadline) extend(after time.Duration) {
	if d.timer != nil && after > 0 {
		d.timer.Reset(after)
	}
}

func (d *deadline) stop() {
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
