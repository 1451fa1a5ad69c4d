package reflector

import (
	"context"
	"sync"
	"time"

	"github.com/informerkit/informerkit/reflector/internal/wire"
)

// deadline ends a request with an error that says what has not happened in time.
// It may be extended by any goroutine, such as the one that reads.
type deadline struct {
	after time.Duration

	mu    sync.Mutex // guards all below
	timer *time.Timer
	until time.Time
	held  bool // what is waited for cannot happen, as the sink blocks
}

// newDeadline returns a deadline that passes, unless it is extended or stopped, after
// the given time; never if that is not positive.
func newDeadline(cancel context.CancelCauseFunc, after time.Duration, cause error) *deadline {
	d := &deadline{after: after}
	if after > 0 {
		d.until = time.Now().Add(after)
		d.timer = time.AfterFunc(after, func() {
			if d.passed() {
				cancel(cause)
			}
		})
	}
	return d
}

// passed is asked when the timer fires. The deadline may have been extended or stopped since.
func (d *deadline) passed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.held && !time.Now().Before(d.until)
}

// stop ends the deadline, if there is one, without an effect on the request.
func (d *deadline) stop() {
	if d != nil && d.timer != nil {
		d.hold()
		d.timer.Stop()
	}
}

// extend restarts the deadline, unless it is held.
func (d *deadline) extend() { d.restart(false) }

// hold says that the deadline must not pass, and release restarts it.
func (d *deadline) hold() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held = true
}

func (d *deadline) release() { d.restart(true) }

// restart restarts the deadline, unless it is held and stays so.
func (d *deadline) restart(release bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held = d.held && !release; d.timer != nil && !d.held {
		d.until = time.Now().Add(d.after)
		d.timer.Reset(d.after)
	}
}

// isHeld reports whether the deadline is held.
func (d *deadline) isHeld() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.held
}

// because returns the reason why ctx was cancelled in place of the error that the
// cancellation led to, unless that names a transport that blocks.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil && !wire.IsStuck(err) {
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
