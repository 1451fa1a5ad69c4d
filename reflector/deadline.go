package reflector

import (
	"context"
	"sync/atomic"
	"time"
)

// deadline ends a request with an error that says what has not happened in time.
// It may be extended by any goroutine, such as the one that reads.
type deadline struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer
	after  time.Duration
	// held is true while what is waited for cannot happen, as the sink blocks.
	held atomic.Bool
}

// newDeadline returns a deadline that passes, unless it is extended or stopped, after
// the given time; never if that is not positive.
func newDeadline(cancel context.CancelCauseFunc, after time.Duration, cause error) *deadline {
	d := &deadline{cancel: cancel, after: after}
	if after > 0 {
		d.timer = time.AfterFunc(after, func() {
			if !d.held.Load() {
				cancel(cause)
			}
		})
	}
	return d
}

// stop ends the deadline, if there is one, without an effect on the request.
func (d *deadline) stop() {
	if d != nil && d.timer != nil {
		d.timer.Stop()
	}
}

// extend restarts the deadline, unless it is held.
func (d *deadline) extend() {
	if d.timer != nil && !d.held.Load() {
		d.timer.Reset(d.after)
	}
}

// hold says that the deadline must not pass, and release restarts it.
func (d *deadline) hold() { d.held.Store(true) }

func (d *deadline) release() {
	d.held.Store(false)
	d.extend()
}

// because returns the reason why ctx was cancelled in place of the error that the
// cancellation led to.
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

// single makes one request of its own, beside lists and watches, with a deadline for its answer.
func (r *Reflector[T]) single(ctx context.Context, request func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer newDeadline(cancel, r.opts.Timeouts.Answer, errNoAnswer).stop()
	return because(ctx, request(r.counted(ctx, cancel)))
}
