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
	ctx     context.Context //nolint:containedctx // the life of one watch
	cancel  context.CancelCauseFunc
	idle    atomic.Pointer[deadline] // nil before the watch is followed
	unhook  func()                   // undoes the closing of the stream when ctx ends
	started time.Time
	agreed  time.Duration // when the server is to end it
	events  int
	samples []*sample   // of what the sink had; see spotCheck
	moved   atomic.Bool // an event was past the version that the watch began at
	// unordered is true while events may be synthetic, in no order of
	// resourceVersions, so that none of them is a point to resume from.
	unordered bool
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
	// A Next of a user's source may not look at the context. Run must not return before a
	// Close that is running.
	closed := make(chan struct{})
	undo := context.AfterFunc(s.ctx, func() { defer close(closed); _ = s.Close() })
	s.unhook = func() {
		if !undo() {
			<-closed
		}
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
	s.unhook()
	_ = s.Close()
	s.cancel(nil)
}

// follow delivers the events of a watch until it ends: of live, which a WatchList has
// begun, or else of one from the last resourceVersion.
func (r *Reflector[T]) follow(ctx context.Context, live *liveStream[T]) ending {
	if live == nil {
		start := time.Now()
		r.status.update(func(h *Health) { h.Watches++ })
		var err error
		live, err = r.connect(ctx, Request{ListOptions: r.pos.watch()}, r.opts.Timeouts.Answer, errNoAnswer)
		if err != nil {
			r.opts.Metrics.Watched(time.Since(start), 0, Classify(err))
			return failed(opWatch, err)
		}
	}
	defer live.end()
	end := time.Until(live.started.Add(live.agreed + overdue))
	defer time.AfterFunc(end, func() {
		if !r.inProcess() {
			live.cancel(errOverdue)
		}
	}).Stop()
	silence := r.opts.Timeouts.Idle
	if r.inProcess() {
		silence = 0
	}
	idle := newDeadline(live.cancel, silence, errIdle)
	defer idle.stop()
	live.idle.Store(idle)
	// A watch is healthy from when it is followed, so that a server which ends each one
	// after the initial events is seen to.
	start := time.Now()
	r.setState(StateWatching)
	r.status.following(live.cancel)
	defer r.status.following(nil)
	finishCheck := r.checkVersion(live)
	err := r.deliverAll(ctx, live, idle)
	finishCheck()
	if ctx.Err() != nil {
		return ending{op: opStream, err: ctx.Err()}
	}
	return r.endOfWatch(live, start, err)
}

// inProcess is whether there is no server behind the source: no connection that could be
// half-open, and no history that could be restored from a backup.
func (r *Reflector[T]) inProcess() bool {
	s, ok := As[interface{ InProcess() bool }](r.lw)
	return ok && s.InProcess()
}

// deliverAll delivers events until the stream ends, which is always with an error; io.EOF
// stands for an orderly end.
func (r *Reflector[T]) deliverAll(ctx context.Context, live *liveStream[T], idle *deadline) error {
	var relist *time.Timer // nil: nothing is to be listed again
	for {
		// Only a list brings again what was lost.
		if due := r.quarantine.due; relist == nil && !due.IsZero() {
			relist = time.AfterFunc(max(time.Until(due), 1), func() { live.cancel(errRelistDue) })
			defer relist.Stop()
		}
		ev, err := live.next()
		if err != nil {
			return err
		}
		r.opts.Metrics.Received(ev.Type)
		// A sink that blocks holds up the reading: this silence is not the server's. Under
		// the context of Run, as it may outlive the stream, and still accept the event.
		idle.hold()
		if err := r.deliver(ctx, ev); err != nil {
			return err
		}
		live.touch(ev) // before the version
		r.advance(live, ev)
		idle.release()
	}
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
