package reflector

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/types"
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

// checkVersion asks the server, while live is followed, whether it knows the version of
// the watch, if that is in doubt. If it does not, the watch ends with a [relistError].
// finish waits for the end of it, and is called by the goroutine of Run.
func (r *Reflector[T]) checkVersion(live *liveStream[T]) (finish func()) {
	if !r.pos.doubt {
		return func() {}
	}
	ctx, cancel := context.WithCancel(live.ctx)
	// One object is answer enough, and none needs to be decoded, nor transformed.
	req := Request{ListOptions: r.pos.probe(), Sent: r.allowance.charge, Known: func(types.NamespacedName, []byte, []byte) any { return true }}
	done := make(chan time.Time, 1) // when the server knew the version, or zero
	go func() {
		defer close(done)
		sleep(ctx, checkAfter+time.Duration(rand.Int64N(int64(checkAfter))))
		// Only while more than half of the allowance is left: watches come first.
		for ctx.Err() == nil && !live.moved.Load() {
			d := r.allowance.spend(time.Now(), burst/2+1)
			if d == 0 {
				break
			}
			sleep(ctx, d)
		}
		if ctx.Err() != nil || live.moved.Load() {
			return
		}
		r.status.update(func(h *Health) { h.Lists++ })
		err := r.ask(ctx, req)
		switch class := Classify(err); class {
		case "":
			done <- time.Now()
		case classFuture, ClassExpired:
			live.cancel(&relistError{reason: class, rewritten: class == classFuture, err: fmt.Errorf(
				"the server does not know the resourceVersion %s of the watch, perhaps because it was restored from a backup: %w", req.ResourceVersion, err)})
		default:
			// It says nothing about the version, so the doubt stays.
		}
	}()
	return func() {
		cancel()
		if known := <-done; !known.IsZero() {
			r.pos.doubt = false
			if known.After(r.moved) {
				r.moved = known
			}
		}
	}
}

// ask makes a LIST request and returns its error. Some sources know no limit, so the first
// object ends the list.
func (r *Reflector[T]) ask(ctx context.Context, req Request) error {
	if r.opts.Timeouts.Answer > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.opts.Timeouts.Answer)
		defer cancel()
	}
	answered := false
	_, err := r.lw.List(ctx, req, func(WatchEvent[T]) error { answered = true; return io.EOF })
	if answered {
		return nil
	}
	return err
}

// doubted is whether the end of a watch leaves its version in doubt: any but an
// orderly one at the time agreed, and that if nothing has come for minutes.
func (r *Reflector[T]) doubted(end ending) bool {
	switch end.op {
	case opWatch:
		return end.class != classThrottled
	case opStream:
		return end.noProgress || !end.timely && end.class != classQuarantine && end.class != classSink
	}
	return false
}

// relistError ends a watch because the sink cannot be right: the server does not know
// the version of the watch, or [Monitored].Relist was called. That is not a failure: the
// answer to it is known, and needs no wait.
type relistError struct {
	reason ErrorClass
	err    error
	// rewritten says that the server's history may be another one, in which the same
	// version is another state.
	rewritten bool
}

func (e *relistError) class() ErrorClass { return e.reason }
func (e *relistError) Error() string     { return e.err.Error() }
func (e *relistError) Unwrap() error     { return e.err }
