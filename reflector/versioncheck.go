package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A server that was restored from a backup has a shorter history. It accepts a
// watch from a version that it has not reached, and sends nothing until it has.
// Only a list says that the version is unknown. So after a watch whose end may
// have been such a restart the version is in doubt, until the server has sent an
// event or a bookmark past it, or has been asked.

// checkAfter is for how long a resumed watch may clear the doubt by itself, by an
// event, before the server is asked. The time is drawn from once to twice that:
// after a restart all clients would ask at once.
const checkAfter = time.Second

// versionChecker is what a ListerWatcher implements to be asked beside a running
// watch, from another goroutine, for an error of a list with the given options.
// Others are asked by a List before the watch is resumed.
type versionChecker interface {
	CheckVersion(ctx context.Context, opts metav1.ListOptions) error
}

// checkerOf returns what can be asked beside a watch of lw, or nil.
func checkerOf[T Object](lw ListerWatcher[T]) versionChecker {
	if w, ok := lw.(interface{ checker() versionChecker }); ok {
		return w.checker()
	}
	c, _ := lw.(versionChecker)
	return c
}

// listNothing sends a list request and returns its error. Some sources know no
// limit, and one object is answer enough.
func listNothing[T Object](ctx context.Context, lw ListerWatcher[T], opts metav1.ListOptions) error {
	answered := false
	_, err := lw.List(ctx, opts, func(T, error) error { answered = true; return io.EOF })
	if answered {
		return nil
	}
	return err
}

// lostVersionError says that the server does not know the version of a watch.
type lostVersionError struct {
	rv  string
	err error
}

// Error names the usual cause: there is nothing that a user could do about it.
func (e *lostVersionError) Error() string {
	return fmt.Sprintf("the server does not know the resourceVersion %s of the watch, perhaps because it was restored from a backup: %v", e.rv, e.err)
}

// Unwrap returns the server's answer, which has the class.
func (e *lostVersionError) Unwrap() error { return e.err }

// versionCheck is a question to the server beside a watch.
type versionCheck struct {
	cancel context.CancelFunc
	done   chan struct{}
	known  time.Time // when the server knew the version; to be read after done
}

// checkBeside asks beside a watch that has been resumed whether the server knows
// its version, if that is in doubt. If it does not, the watch ends with a
// lostVersionError.
func (r *Reflector[T]) checkBeside(live *liveStream[T]) *versionCheck {
	checker := checkerOf(r.lw)
	if checker == nil || !r.pos.doubt {
		return nil
	}
	ctx, cancel := context.WithCancel(r.charged(live.ctx))
	c := &versionCheck{cancel: cancel, done: make(chan struct{})}
	opts := r.pos.probe()
	go func() {
		defer close(c.done)
		// At random, as after the restart of a server all clients have the same
		// question.
		sleep(ctx, checkAfter+time.Duration(rand.Int64N(int64(checkAfter))))
		for ctx.Err() == nil && !live.moved.Load() {
			// Only while more than half of the allowance is left: watches come first.
			if d := r.allowance.spend(time.Now(), burst/2+1); d > 0 {
				sleep(ctx, d)
				continue
			}
			r.ask(ctx, c, live, checker, opts)
			return
		}
	}()
	return c
}

// ask asks once. An answer that says nothing about the version leaves the doubt.
func (r *Reflector[T]) ask(ctx context.Context, c *versionCheck, live *liveStream[T], checker versionChecker, opts metav1.ListOptions) {
	if r.opts.Timeouts.Answer > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.opts.Timeouts.Answer)
		defer cancel()
	}
	r.status.update(func(h *routine) { h.Lists++ })
	switch err := checker.CheckVersion(ctx, opts); Classify(err) {
	case ClassNone:
		c.known = time.Now()
	case ClassFuture, ClassExpired:
		live.cancel(&lostVersionError{rv: opts.ResourceVersion, err: err})
	}
}

// finishCheck ends the check, and notes what it has found.
func (r *Reflector[T]) finishCheck(c *versionCheck) {
	if c == nil {
		return
	}
	c.cancel()
	// Waited for, so that known is read after it was written, and Run leaves no
	// goroutine.
	<-c.done
	if !c.known.IsZero() {
		r.pos.doubt = false
		if c.known.After(r.moved) {
			r.moved = c.known
		}
	}
}

// doubted is whether the end of a watch leaves its version in doubt: any but an
// orderly one at the time agreed, and that if nothing has come for minutes.
func (r *Reflector[T]) doubted(end ending) bool {
	switch end.op {
	case OpWatch:
		return end.class != ClassThrottled
	case OpStream:
		return end.noProgress || !end.timely && end.class != ClassQuarantine && end.class != ClassSink
	}
	return false
}

// checkBefore asks before a watch is resumed, for sources that cannot be asked
// beside it, and returns what to do next.
func (r *Reflector[T]) checkBefore(ctx context.Context) phase {
	_, err := r.page(ctx, r.pos.probe(), func(T, error) error { return io.EOF })
	switch Classify(err) {
	case ClassFuture, ClassExpired:
		r.lostVersion(&lostVersionError{rv: r.pos.rv, err: err})
		return phaseSync
	}
	// One question is enough: another end of a watch asks the next one.
	r.pos.doubt = false
	r.moved = time.Now()
	return phaseWatch
}

// lostVersion notes that the collection has to be read again. That is not a
// failure: the answer to it is known, and needs no wait.
func (r *Reflector[T]) lostVersion(err error) {
	r.pos.note(err)
	r.pos.lost = true
	r.status.note(func(t *trouble) {
		t.LastError, t.LastErrorClass, t.LastErrorTime = err, Classify(err), time.Now()
	})
	r.warn("lost version", "reading the collection again", "err", err)
}

// isLostVersion reports whether a watch was ended because the server does not know its
// version.
func isLostVersion(err error) bool {
	var lost *lostVersionError
	return errors.As(err, &lost)
}
