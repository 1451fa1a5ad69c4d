package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/reflector/internal/wire"
)

// overdue is how long after the agreed end of a watch the client ends it.
const overdue = 30 * time.Second

// unknownEventError is an event that says something this package does not know.
type unknownEventError struct{ typ watch.EventType }

// Error quotes the type, which the source has cut to a reasonable length.
func (e *unknownEventError) Error() string {
	return fmt.Sprintf("the server sent an event of the unknown type %q", string(e.typ))
}

// isUnknownEvent reports whether err is about an event of an unknown type, which the
// next watch would bring again.
func isUnknownEvent(err error) bool {
	var u *unknownEventError
	return errors.As(err, &u)
}

// liveStream is a stream with its deadlines. It is the [wire.Observer] of its request.
type liveStream[T Object] struct {
	Stream[T]
	awaiter awaiter         // the stream, if it is one
	ctx     context.Context //nolint:containedctx // the life of one watch
	cancel  context.CancelCauseFunc
	silent  *deadline // the stream brings nothing, or does not end; it starts with the watch
	charges *allowance
	// following is set after the initial events.
	following atomic.Bool
	unhook    func()        // nil: the stream ends with its context by itself
	agreed    time.Duration // when the server is to end it
	events    int
	moved     atomic.Bool // an event was past the version that the watch began at
	// unordered says that the events so far may be synthetic ones, in no order
	// of resourceVersions, so that none of them is a point to resume from.
	unordered bool
}

// connect starts a watch, whose initial events list collects, unless it is nil.
// Without an answer in time it fails with late.
func (r *Reflector[T]) connect(ctx context.Context, list *collectedList[T], opts metav1.ListOptions, timeout time.Duration, late error) (*liveStream[T], error) {
	// Between once and twice the time, drawn at random: watches that began together,
	// when the server came back, must not end together.
	seconds := int64((r.opts.Timeouts.Watch + time.Second - 1) / time.Second)
	seconds += rand.Int64N(seconds + 1)
	opts.TimeoutSeconds = &seconds

	// May wait, so what depends on the time is set after it.
	if err := r.request(ctx); err != nil {
		return nil, err
	}
	s := &liveStream[T]{charges: &r.allowance, agreed: time.Duration(seconds) * time.Second, unordered: !isVersion(opts.ResourceVersion)}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.silent = newDeadline(s.cancel)
	s.silent.set(timeout, late)

	r.setState(StateConnecting)
	var err error
	observed := wire.WithObserver(s.ctx, s)
	if s.Stream, err = r.lw.Watch(r.withKnown(observed, list), opts); err == nil && s.Stream == nil {
		err = errors.New("the source returned neither a stream nor an error")
	}
	if err != nil {
		err = because(s.ctx, err)
		s.silent.stop()
		s.cancel(nil)
		return nil, err
	}
	s.silent.set(0, nil)
	// A half-open connection may look alive for ever: the client ends what the server
	// should have ended.
	s.silent.setLast(s.agreed+overdue, errOverdue)
	if s.awaiter, _ = s.Stream.(awaiter); s.awaiter == nil {
		s.unhook = closeWith(s.ctx, s.Stream)
	}
	return s, nil
}

// Charge implements [wire.Observer].
func (s *liveStream[T]) Charge() { s.charges.charge() }

// Arrived implements [wire.Observer].
func (s *liveStream[T]) Arrived() {
	// While the watch is followed, the bytes of a big event are no silence.
	if s.following.Load() {
		s.silent.extend(time.Now())
	}
}

// closeWith closes a stream when ctx ends, for a Next that does not look at it. The
// result undoes that. It waits for a Close that is running, so that Run does not return
// before the stream is closed.
func closeWith(ctx context.Context, stream io.Closer) (undo func()) {
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { defer close(closed); _ = stream.Close() })
	return func() {
		if !stop() {
			<-closed
		}
	}
}

// next waits for an event.
func (s *liveStream[T]) next() (WatchEvent[T], error) {
	ev, err := s.Next()
	if err != nil {
		return ev, because(s.ctx, err)
	}
	s.events++
	return ev, nil
}

// end frees what the stream holds.
func (s *liveStream[T]) end() {
	s.silent.stop()
	if s.unhook != nil {
		s.unhook()
	}
	_ = s.Close()
	s.cancel(nil)
}

// awaiter is implemented by streams that can wait without handing over what they have
// waited for, and that end with the context of their watch without being closed.
type awaiter interface {
	// await returns when Next will not wait any more, or earlier. It is called by the
	// goroutine that closes the stream, so it need not see a Close.
	await()
}

// await waits until there may be an event. It has next to nothing on its stack, which
// Next, as a rule, has not.
func (s *liveStream[T]) await() {
	if s.awaiter != nil {
		s.awaiter.await()
	}
}

// following is a watch whose events are delivered. It is the state that a function would
// have, were it on the stack while the reflector waits; see Run.
type following[T Object] struct {
	live   *liveStream[T] // nil: no watch is being followed
	start  time.Time
	relist *deadline // nil: nothing is to be listed again
	check  *versionCheck
	audit  *audit
	err    error // how it has ended
}

// endWatch frees what a watch that was followed holds. It may be called more than once.
func (r *Reflector[T]) endWatch() {
	if r.watch.live == nil {
		return
	}
	if r.watch.relist != nil {
		r.watch.relist.stop()
	}
	r.status.healAt(time.Time{})
	r.watch.live.end()
	r.watch = following[T]{}
}

// relistAt ends the watch when it is time to list again what was lost: only a list brings
// the object again.
func (r *Reflector[T]) relistAt(due time.Time) {
	r.watch.relist = newDeadline(r.watch.live.cancel)
	r.watch.relist.set(max(time.Until(due), 1), errRelistDue)
}

// follow begins to deliver the events of a watch: of live, or of one started here if
// live is nil. If it returns false, none could be started.
func (r *Reflector[T]) follow(ctx context.Context, live *liveStream[T]) bool {
	start := time.Now()
	if live == nil {
		r.status.update(func(h *routine) { h.Watches++ })
		var err error
		if live, err = r.connect(ctx, nil, r.pos.watch(), r.opts.Timeouts.Answer, errNoAnswer); err != nil {
			end := failed(OpWatch, err)
			r.ended = &end
			r.opts.Metrics.Watched(time.Since(start), 0, end.class)
			return false
		}
	}
	r.watch = following[T]{
		live: live,
		// The health of a watch counts from when it is followed: connecting says nothing
		// about it.
		start: time.Now(),
	}
	// A stream that comes from a WatchList is healthy from when it is followed,
	// so that a server which ends each one after the initial events is seen to.
	r.status.healAt(r.watch.start.Add(r.opts.Backoff.Healthy))
	r.setState(StateWatching)
	r.watch.check, r.watch.audit = r.checkBeside(live), r.auditBeside(live)
	if due := r.quarantine.due; !due.IsZero() {
		r.relistAt(due)
	}
	live.silent.set(r.opts.Timeouts.Idle, errIdle)
	live.following.Store(true)
	if s, ok := r.sink.(breakable); ok {
		s.WhenBroken(live.cancel)
	}
	return true
}

// unfollow ends the watch that was followed, and returns how it has ended.
func (r *Reflector[T]) unfollow(ctx context.Context) ending {
	defer r.endWatch()
	live, start, err := r.watch.live, r.watch.start, r.watch.err
	r.finishCheck(r.watch.check)
	if found := r.watch.audit.finish(); found != nil {
		err = found
	}
	if ctx.Err() != nil {
		return ending{op: OpStream, err: ctx.Err()}
	}
	end := failed(OpStream, err)
	// What has got further may resume at once; what has not, may be stuck at its
	// version.
	end.advanced = live.moved.Load()
	end.noProgress = time.Since(r.moved) >= probeAfter
	// A watch on a quiet collection brings nothing for minutes, and is healthy.
	if time.Since(start) >= r.opts.Backoff.Healthy {
		end.advanced = true
		end.orderly = end.class == ClassClosed || end.class == ClassIdle
		end.timely = end.class == ClassClosed && time.Since(live.silent.start) >= live.agreed-time.Second ||
			end.class == ClassIdle
	} else if end.class == ClassClosed {
		end.err = errShortWatch
	}
	if isLostVersion(err) {
		end.orderly = true
		r.lostVersion(err)
	}
	if isAudit(err) {
		end.orderly = true
		r.noteAudit(err)
	}
	end.orderly = end.orderly || end.class == ClassQuarantine
	r.opts.Metrics.Watched(time.Since(live.silent.start), live.events, end.class)
	return end
}

// deliver passes the next event of the watch on. It returns false when the stream has
// ended, which is always with an error; io.EOF stands for an orderly end.
func (r *Reflector[T]) deliver(ctx context.Context) bool {
	live := r.watch.live
	ev, err := live.next()
	if err != nil {
		r.watch.err = err
		return false
	}
	r.opts.Metrics.Received(ev.Type)
	// A sink that blocks holds up the reading: this silence is not the server's.
	live.silent.held.Store(true)
	lost := !r.quarantine.due.IsZero()
	// Under the context of Run: a sink that blocks for long may outlive the
	// stream, and still take the event over.
	if err := r.apply(ctx, ev); err != nil {
		r.watch.err = err
		return false
	}
	if !lost && !r.quarantine.due.IsZero() {
		r.relistAt(r.quarantine.due)
	}
	now := time.Now()
	r.advance(live, ev, now)
	live.silent.extend(now)
	live.silent.held.Store(false)
	return true
}

// advance notes the position that the sink has reached.
func (r *Reflector[T]) advance(live *liveStream[T], ev WatchEvent[T], now time.Time) {
	// Initial events without a bookmark are ADDED only; the first of another type is of
	// the history.
	if live.unordered && ev.Type != watch.Added {
		live.unordered = false
	}
	if !live.unordered && r.pos.advance(ev.ResourceVersion) {
		r.moved = now
		live.moved.Store(true)
	}
	r.status.update(func(h *routine) {
		h.LastEvent = now
		if !live.unordered {
			h.ResourceVersion = r.pos.rv
		}
	})
}

// apply gives one event to the sink. A change that the sink does not take over
// ends the watch, and the next watch starts before it.
func (r *Reflector[T]) apply(ctx context.Context, ev WatchEvent[T]) error {
	if ev.Err != nil {
		return r.applyUnreadable(ctx, ev)
	}
	var op string
	var err error
	switch ev.Type {
	case watch.Added:
		op, err = "Add", r.sink.Add(ctx, ev.Object)
	case watch.Modified:
		op, err = "Update", r.sink.Update(ctx, ev.Object)
	case watch.Deleted:
		op, err = "Delete", r.sink.Delete(ctx, ev.Object)
	case watch.Bookmark:
		if ev.ResourceVersion == "" {
			return nil
		}
		op, err = "Bookmark", r.sink.Bookmark(ctx, ev.ResourceVersion)
	default:
		return &unknownEventError{ev.Type}
	}
	if err != nil {
		return &sinkError{op: op, err: err}
	}
	// The object is readable again, if it was not.
	if ev.Type != watch.Bookmark {
		r.release(object.KeyOf(ev.Object))
	}
	return nil
}

// applyUnreadable handles an event whose object cannot be decoded: a deletion
// needs no more than the key, if the sink still has the object; any other event
// is lost until the next list, which is scheduled.
func (r *Reflector[T]) applyUnreadable(ctx context.Context, ev WatchEvent[T]) error {
	oe := asObjectError(ev.Err)
	if known := r.known(); ev.Type == watch.Deleted && known != nil && oe.Key.Name != "" {
		if old, ok := known.Known(oe.Key); ok && !object.IsNil(old) {
			if err := r.sink.Delete(ctx, old); err != nil {
				return &sinkError{op: "Delete", err: err}
			}
		}
		r.report(oe)
		r.release(oe.Key)
		return nil
	}
	r.report(oe)
	r.lose()
	return nil
}

// isEOF reports an orderly end.
func isEOF(err error) bool { return errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) }
