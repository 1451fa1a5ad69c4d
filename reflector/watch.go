package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/internal/object"
)

// overdue is how long after the agreed end of a watch the client ends it. A half-open
// connection may look alive for ever.
const overdue = 30 * time.Second

// liveStream is a watch with its deadlines.
type liveStream[T Object] struct {
	Stream[T]
	awaiter awaiter         // the stream, or one within; nil: it is none
	ctx     context.Context //nolint:containedctx // the life of one watch
	cancel  context.CancelCauseFunc
	closed  chan struct{} // closed when the stream was; nil: it need not be closed to end
	started time.Time
	agreed  time.Duration // when the server is to end it
	events  int
	samples []*sample   // of what the sink had; see spotCheck
	moved   atomic.Bool // an event was past the version that the watch began at
	// unordered is true while events may be synthetic, in no order of
	// resourceVersions, so that none of them is a point to resume from.
	unordered bool

	// What follows is set when the watch is followed, and nil before that.

	idle            atomic.Pointer[deadline]
	overdue, relist *deadline // relist is nil while nothing is to be listed again
	followed        time.Time // since when it is
	finishCheck     func()
}

// awaiter is a stream that can wait without returning what it has waited for, and so with
// little on the stack. It ends with the context of its watch.
type awaiter interface {
	// await returns when Next does not wait.
	await()
}

// connect starts a watch. Without an answer in time it fails with late.
func (r *Reflector[T]) connect(ctx context.Context, req Request, timeout time.Duration, late error) (*liveStream[T], error) {
	// Between once and twice the time, drawn at random: watches that began together,
	// when the server came back, must not end together.
	seconds := int64((r.opts.Timeouts.Watch + time.Second - 1) / time.Second)
	seconds += rand.Int64N(seconds + 1)
	req.ListOptions.TimeoutSeconds = &seconds

	// May wait, so what depends on the time is set after it.
	if err := r.request(ctx); err != nil {
		return nil, err
	}
	s := &liveStream[T]{started: time.Now(), agreed: time.Duration(seconds) * time.Second, unordered: !isVersion(req.ListOptions.ResourceVersion)}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	silent := newDeadline(s.cancel, timeout, late)
	defer silent.stop()
	req.Arrived = func() {
		// While the watch is followed, the bytes of a big event are no silence.
		if d := s.idle.Load(); d != nil {
			d.extend()
		}
	}
	r.setState(StateConnecting)
	var err error
	if s.Stream, err = r.lw.Watch(r.counted(s.ctx, s.cancel), req); err == nil && s.Stream == nil {
		err = errors.New("the source returned neither a stream nor an error")
	}
	if err != nil {
		err = because(s.ctx, err)
		s.cancel(nil)
		return nil, err
	}
	if s.awaiter, _ = As[awaiter](s.Stream); s.awaiter == nil {
		// A Next of a user's source may not look at the context.
		s.closed = make(chan struct{})
		context.AfterFunc(s.ctx, func() { defer close(s.closed); _ = s.Close() })
	}
	return s, nil
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
	s.cancel(nil)
	_ = s.Close()
	if s.closed != nil {
		<-s.closed // Run must not return before a Close that is running
	}
}

// watch starts a watch from the last resourceVersion.
func (r *Reflector[T]) watch(ctx context.Context) (*liveStream[T], ending) {
	start := time.Now()
	r.status.update(func(h *Health) { h.Watches++ })
	live, err := r.connect(ctx, Request{ListOptions: r.pos.watch()}, r.opts.Timeouts.Answer, errNoAnswer)
	if err != nil {
		r.opts.Metrics.Watched(time.Since(start), 0, Classify(err))
		return nil, failed(opWatch, err)
	}
	return live, ending{}
}

// follow has the events of a watch delivered, until unfollow.
func (r *Reflector[T]) follow(live *liveStream[T]) {
	r.live = live
	silence := r.opts.Timeouts.Idle
	if r.inProcess() {
		silence = 0
	}
	end := time.Until(live.started.Add(live.agreed + overdue))
	live.overdue = newDeadline(func(err error) {
		if !r.inProcess() {
			live.cancel(err)
		}
	}, max(end, 1), errOverdue)
	live.idle.Store(newDeadline(live.cancel, silence, errIdle))
	// A watch is healthy from when it is followed, so that a server which ends each one
	// after the initial events is seen to.
	live.followed = time.Now()
	r.polling = polling{watched: true}
	r.setState(StateWatching)
	r.status.following(live.cancel)
	live.finishCheck = r.checkVersion(live)
	r.planRelist()
}

// unfollow frees what the watch holds that is followed, if there is one.
func (r *Reflector[T]) unfollow() {
	live := r.live
	if live == nil {
		return
	}
	r.live = nil
	if live.finishCheck != nil {
		live.finishCheck()
	}
	r.status.following(nil)
	live.idle.Load().stop()
	live.overdue.stop()
	live.relist.stop()
	live.end()
}

// inProcess is whether there is no server behind the source: no connection that could be
// half-open, and no history that could be restored from a backup.
func (r *Reflector[T]) inProcess() bool {
	s, ok := As[interface{ InProcess() bool }](r.lw)
	return ok && s.InProcess()
}

// planRelist ends the watch in time if an event was lost, which only a list brings again.
func (r *Reflector[T]) planRelist() {
	if due := r.quarantine.due; r.live.relist == nil && !due.IsZero() {
		r.live.relist = newDeadline(r.live.cancel, max(time.Until(due), 1), errRelistDue)
	}
}

// deliverNext delivers the next event of the watch that is followed. A stream ends with an
// error, and io.EOF stands for an orderly end. Then the watch is not followed any more.
func (r *Reflector[T]) deliverNext(ctx context.Context) ending {
	live := r.live
	ev, err := live.next()
	if err == nil {
		r.opts.Metrics.Received(ev.Type)
		// A sink that blocks holds up the reading: this silence is not the server's. Under
		// the context of Run, as it may outlive the stream, and still accept the event.
		idle := live.idle.Load()
		idle.hold()
		if err = r.deliver(ctx, ev); err == nil {
			live.touch(ev) // before the version
			r.advance(live, ev)
			idle.release()
			return ending{}
		}
	}
	r.unfollow()
	if ctx.Err() != nil {
		return ending{op: opStream, err: ctx.Err()}
	}
	return r.endOfWatch(live, err)
}

// deliver gives one event to the sink. A change that the sink does not accept ends the
// watch, and the next watch starts before it.
func (r *Reflector[T]) deliver(ctx context.Context, ev WatchEvent[T]) error {
	if ev = inNamespace(ev, r.namespace); ev.Err != nil {
		return r.deliverUnreadable(ctx, ev)
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
		return unknownEvent(ev.Type)
	}
	if err != nil {
		return &sinkError{op: op, err: err}
	}
	if r.quarantine.named && ev.Type != watch.Bookmark {
		r.release(object.KeyOf(ev.Object)) // it is readable again, if it was not
	}
	return nil
}

// deliverUnreadable handles an event whose object cannot be decoded, or is outside of what
// the source covers: a deletion needs no more than the key, if the sink still has the
// object; any other event is lost until the next list, which is scheduled.
func (r *Reflector[T]) deliverUnreadable(ctx context.Context, ev WatchEvent[T]) error {
	oe := asObjectError(ev.Err)
	if oe.Class == classOutside && r.namespace != "" && oe.Key.Namespace != r.namespace {
		r.report(oe)
		return nil
	}
	gone := ev.Type == watch.Deleted || oe.Class == classOutside
	if known, ok := r.sink.(Known[T]); ok && gone && oe.Key.Name != "" {
		if old, ok := known.Known(oe.Key); ok && !object.IsNil(old) {
			if err := r.sink.Delete(ctx, old); err != nil {
				return &sinkError{op: "Delete", err: err}
			}
		} else if s, ok := r.sink.(distinguisher); ok {
			s.Gone(oe.Key)
		}
		r.report(oe)
		r.release(oe.Key)
		return nil
	}
	r.unreadable(false, oe)
	r.report(oe)
	if oe.Class != classOutside { // of which a list says nothing
		r.lose()
		r.planRelist()
	}
	return nil
}

// advance notes the position that the sink has reached.
func (r *Reflector[T]) advance(live *liveStream[T], ev WatchEvent[T]) {
	now := time.Now()
	// Initial events without a bookmark are ADDED only; the first of another type is of
	// the history.
	live.unordered = live.unordered && ev.Type == watch.Added
	if !live.unordered && r.pos.advance(ev.ResourceVersion) {
		r.moved = now
		live.moved.Store(true)
	}
	r.status.update(func(h *Health) {
		h.LastEvent = now
		if !live.unordered {
			h.ResourceVersion = r.pos.rv
		}
	})
}

// touch notes that an event about an object was delivered.
func (s *liveStream[T]) touch(ev WatchEvent[T]) {
	if len(s.samples) == 0 {
		return
	}
	var key types.NamespacedName
	switch {
	case ev.Err != nil:
		key = asObjectError(ev.Err).Key
	case object.IsNil(ev.Object):
		return
	default:
		key = object.KeyOf(ev.Object)
	}
	for _, one := range s.samples {
		if one.key == key {
			one.moved.Store(true)
		}
	}
}

// unknownEvent is the error for an event that says something this package does not know. It
// quotes the type, which the source has cut to a reasonable length.
func unknownEvent(typ watch.EventType) *foundError {
	return &foundError{ClassDecode, fmt.Sprintf("the server sent an event of the unknown type %q", string(typ))}
}

// isEOF reports an orderly end.
func isEOF(err error) bool { return errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) }
