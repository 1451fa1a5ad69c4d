package wire

import (
	"context"
	"errors"
	"io"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/internal/object"
)

// Watch starts one WATCH request. It returns when the server has answered with a
// status of 200, which kube-apiserver sends before the first event. The stream ends
// with ctx; Close it in any case.
func (r *Resource[T]) Watch(ctx context.Context, opts metav1.ListOptions) (*Stream[T], error) {
	// A LIST and a WATCH are the same GET; this parameter distinguishes them.
	opts.Watch = true
	ctx, cancel := context.WithCancel(ctx)
	// ctx is the stream's own, so that Close can end the request while the caller's
	// context lives.
	resp, err := r.get(ctx, opts, r.watchAccept)
	if err != nil {
		cancel()
		return nil, err
	}
	s := &Stream[T]{r: r, ctx: ctx, cancel: cancel, body: resp.Body, want: r.codec.expected()}
	initial := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	if initial {
		// Initial events take the place of a list, so they are checked like one: the
		// kind is learned from scratch, and a collection of another kind is recognised.
		s.want, s.kinds = r.codec.expect(), &tally{}
	}
	if isProto(resp) {
		s.frames = newProtoFrames(resp.Body, r.codec, s.want)
	} else {
		s.frames = newJSONFrames(resp.Body, r.codec, s.want)
	}
	if initial {
		s.readAhead(s.decodeInitial(unchangedIn(ctx)), s.readInitial)
	}
	return s, nil
}

// Event is one event of a watch.
//
// An event whose object could not be decoded is still an event: its type and version are
// known, and the reflector needs both to keep its position.
type Event[T Object] struct {
	Type             watch.EventType
	Object           T // zero for bookmarks, and if Err is set
	ResourceVersion  string
	InitialEventsEnd bool  // the bookmark that ends the initial events
	Err              error // an *ObjectError: Object could not be decoded
}

// Stream is the body of the answer to a watch request.
//
// An event that comes alone is read and decoded by Next itself: handing it to another
// goroutine would cost more latency than it gains. Where many come at once, there is a core
// to decode them on while others are being read: a goroutine reads ahead, and ends when
// they do. Initial events are many from the start; how a burst is noticed is said in
// burst.go.
//
//	ahead:  body ─ split ─▶ pipeline ─ open, on all cores ─▶ take ─▶ Next
//	        └ readInitial, ─┘                                └ caller ┘
//	          readBurst     │ the bookmark, or           ▲
//	                        ▼ nothing left to read       │ a burst
//	direct: body ─ split ─ open ─▶ Next ─────────────────┘
//	        └───── caller ──────────┘
//
// The changes are made by Next alone, when no goroutine reads ahead. So body and frames
// have one reader at any time and need no lock.
type Stream[T Object] struct {
	r      *Resource[T]
	ctx    context.Context //nolint:containedctx // the life of one request
	cancel context.CancelFunc
	body   io.Closer
	frames frames[T]
	// want is shared with the decoding goroutines; its kind is atomic.
	want *expectation

	mu     sync.Mutex // for Close, and for the end of ctx
	ended  bool       // one of the two; nothing may be started any more
	hooked bool       // the end of ctx will be noticed
	// ahead is set with mu held, by Watch and then by Next, which reads it without.
	ahead *pipeline[Event[T]] // what was read ahead; nil: Next is direct

	// What follows belongs to Next.

	kinds *tally // of the initial events, while there are any
	n     int    // frames so far
	lag   lag
	err   error
}

// decodeInitial returns how initial events are decoded: those of objects that are
// known in their version are not.
func (s *Stream[T]) decodeInitial(unchanged *unchangedObjects) func(frame []byte, position int) (Event[T], error) {
	// Without a Known there is nothing to ask, and identifying each frame would be
	// wasted.
	if unchanged == nil {
		return s.frames.open
	}
	return func(frame []byte, position int) (Event[T], error) {
		if id, ok := s.frames.identify(frame); ok {
			if err := unchanged.find(id, s.want); err != nil {
				return Event[T]{Type: watch.Added}, err
			}
		}
		return s.frames.open(frame, position)
	}
}

// Next waits for the next event. It returns io.EOF when the server has ended the
// watch in an orderly way.
func (s *Stream[T]) Next() (Event[T], error) {
	if s.err != nil {
		return Event[T]{}, s.err
	}
	ev, err := asEvent(s.event())
	if err == nil && s.kinds != nil {
		err = s.count(ev)
	}
	// A server that ignores the selector sends objects of all shards, and nothing else
	// shows it.
	if err == nil && s.sharded(ev) {
		err = s.r.shard.checkObject(s.r.opts.ShardSelector, ev.Object)
	}
	if err == nil {
		return ev, nil
	}
	if s.ahead != nil {
		// The reader must not go on reading for a stream that has failed.
		s.ahead.stop()
	}
	if err != io.EOF { //nolint:errorlint // the bare value means an orderly end
		err = bodyError(s.ctx, err)
	}
	// Kept, as the position in the stream is lost: every later call must fail as well.
	s.err = err
	return Event[T]{}, err
}

// count finds out whether the initial events are those of a collection of
// another kind.
func (s *Stream[T]) count(ev Event[T]) error {
	if ev.Type != watch.Bookmark {
		s.kinds.note(ev.Err)
	}
	if err := s.r.codec.verdict(s.kinds, ev.InitialEventsEnd); err != nil {
		return err
	}
	if ev.InitialEventsEnd {
		// From here on single objects are checked, and the kind that was learned is what
		// they must be.
		s.kinds = nil
		s.r.codec.newest.Store(s.want)
	}
	return nil
}

// sharded reports whether the event has an object that must be of the shard.
func (s *Stream[T]) sharded(ev Event[T]) bool {
	return s.r != nil && s.r.shard != nil && ev.Err == nil && !object.IsNil(ev.Object)
}

// event returns the next event: of those that were read ahead, or else from the connection
// itself. The pipeline is drained before a direct read, so the order is that of the server.
func (s *Stream[T]) event() (Event[T], error) {
	if s.ahead != nil {
		ev, err := s.ahead.take()
		switch {
		case errors.Is(err, errCaughtUp):
			s.direct()
			return s.event()
		case errors.Is(err, errStopped):
			err = context.Cause(s.ctx)
		case ev.InitialEventsEnd && s.kinds != nil:
			// The reader ended with this bookmark. The frame after it is still unread in
			// the body or in the buffer of frames, where this goroutine finds it.
			s.direct()
		}
		s.n++
		return ev, err
	}
	s.lag.before()
	frame, err := s.frames.split()
	if err != nil {
		return Event[T]{}, err
	}
	burst := s.lag.after()
	position := s.n
	s.n++
	var ev Event[T]
	if s.frames.tooDeep() {
		ev, err = s.frames.refuse(frame, position)
	} else {
		ev, err = s.frames.open(frame, position)
	}
	// An error that ends the stream leaves nothing to read.
	if burst && (err == nil || isObjectError(err)) {
		s.readAhead(s.frames.open, s.readBurst)
	}
	return ev, err
}

// readAhead starts to read ahead, unless the stream has been closed.
func (s *Stream[T]) readAhead(decode func([]byte, int) (Event[T], error), read func(*pipeline[Event[T]]) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return // the next read fails
	}
	if !s.hooked {
		s.hooked = true
		// If ctx ends and Close is not called. It also unblocks a Next that waits for the
		// pipeline; a Read ends by the cancelled request.
		context.AfterFunc(s.ctx, func() { s.stop() })
	}
	ahead := newPipeline(decode)
	ahead.next = s.n
	s.ahead = ahead
	ahead.start(func() error { return read(ahead) })
}

// direct ends the reading ahead, all of which has been taken.
func (s *Stream[T]) direct() {
	s.ahead.drain()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead = nil
	s.lag = lag{}
}

// stop ends what reads ahead at its next step, and lets nothing start any more. It returns
// what was reading ahead, or nil.
func (s *Stream[T]) stop() *pipeline[Event[T]] {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.ahead != nil {
		s.ahead.stop()
	}
	return s.ahead
}

// readInitial reads up to the end of the initial events and not a byte further.
func (s *Stream[T]) readInitial(ahead *pipeline[Event[T]]) error {
	for {
		frame, err := s.frames.split()
		if err != nil {
			return err
		}
		if last, err := s.handOver(ahead, frame); err != nil || last {
			return err
		}
	}
}

// handOver gives the frame that split has returned last to the pipeline. It reports
// whether it was the bookmark that ends the initial events.
func (s *Stream[T]) handOver(ahead *pipeline[Event[T]], frame []byte) (last bool, err error) {
	open := s.frames.open
	if s.frames.tooDeep() {
		open = s.frames.refuse
	} else if typ := s.frames.typeOf(frame); typ == watch.Added || typ == watch.Modified || typ == watch.Deleted {
		return false, ahead.add(frame)
	}
	// Events with objects are decoded in parallel. All others are opened here, at
	// once: whether to read on depends on whether one is the bookmark at the end.
	ev, err := open(frame, ahead.next)
	if full := ahead.put(ev, err); full != nil {
		return false, full
	}
	if err != nil && !isObjectError(err) {
		return false, err
	}
	return ev.InitialEventsEnd, nil
}

// Close ends the watch. It may be called more than once, and while another
// goroutine is in Next, which then returns an error.
func (s *Stream[T]) Close() error {
	// Cancelling unblocks a Read in another goroutine.
	s.cancel()
	// The order matters: stop wakes a reader that waits for room, closing the body one
	// that is in a Read. Only then can Wait return.
	ahead := s.stop()
	err := s.body.Close()
	if ahead != nil {
		ahead.alive.Wait()
	}
	return err
}
