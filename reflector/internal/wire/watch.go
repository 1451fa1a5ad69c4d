package wire

import (
	"context"
	"errors"
	"io"

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
		s.initial = newPipeline(s.decodeInitial(unchangedIn(ctx)))
		s.bulk = true
		// Also unblocks a Next that waits for the pipeline; a Read ends by the cancelled
		// request.
		context.AfterFunc(ctx, s.initial.stop) // if ctx ends and Close is not called
		s.initial.start(s.readInitial)
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
// Initial events are many, and there is a core to decode them on while others
// are being read. They are read ahead by a goroutine that ends with them. From
// then on Next does all by itself.
//
//	bulk:   body ─ split ─▶ pipeline ─ open, on all cores ─▶ take ─▶ Next
//	        └── readInitial ──┘                              └ caller ┘
//	             the bookmark at their end │
//	direct: body ─ split ─ open ─▶ Next    ▼
//	        └───── caller ──────────┘
//
// A watch without initial events is direct from the start. The change is seen by
// Next alone: readInitial has ended before, so body and frames have one reader at
// any time and need no lock.
type Stream[T Object] struct {
	r      *Resource[T]
	ctx    context.Context //nolint:containedctx // the life of one request
	cancel context.CancelFunc
	body   io.Closer
	frames frames[T]
	// want is shared with the decoding goroutines; its kind is atomic.
	want    *expectation
	initial *pipeline[Event[T]] // nil if there are no initial events

	// What follows belongs to Next.

	bulk  bool   // initial events are to come
	kinds *tally // of the initial events
	n     int    // frames so far
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
	if s.bulk {
		// The reader must not go on reading for a stream that has failed.
		s.initial.stop()
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

// event returns the next event: from the pipeline while there are initial events, and
// then from the connection itself. The pipeline is drained before the first direct
// read, so the order is that of the server.
func (s *Stream[T]) event() (Event[T], error) {
	if s.bulk {
		ev, err := s.initial.take()
		s.n++
		switch {
		case errors.Is(err, errStopped):
			err = context.Cause(s.ctx)
		case ev.InitialEventsEnd:
			// The reader ended with this bookmark. The frame after it is still unread in
			// the body or in the buffer of frames, where this goroutine finds it.
			s.bulk = false
			s.initial.drain()
		}
		return ev, err
	}
	frame, err := s.frames.split()
	if err != nil {
		return Event[T]{}, err
	}
	// The frame is opened on this goroutine: events after the initial ones are rare
	// enough, and handing each to another goroutine would cost more latency than it
	// gains.
	position := s.n
	s.n++
	if s.frames.tooDeep() {
		return s.frames.refuse(frame, position)
	}
	return s.frames.open(frame, position)
}

// readInitial reads up to the end of the initial events and not a byte further.
func (s *Stream[T]) readInitial() error {
	for position := 0; ; position++ {
		frame, err := s.frames.split()
		if err != nil {
			return err
		}
		open := s.frames.open
		if s.frames.tooDeep() {
			open = s.frames.refuse
		}
		// Events with objects are decoded in parallel. All others are opened here, at
		// once: whether to read on depends on whether one is the bookmark at the end.
		switch typ := s.frames.typeOf(frame); {
		case !s.frames.tooDeep() && (typ == watch.Added || typ == watch.Modified || typ == watch.Deleted):
			if err := s.initial.add(frame); err != nil {
				return err
			}
		default:
			ev, err := open(frame, position)
			if full := s.initial.put(ev, err); full != nil {
				return full
			}
			if err != nil && !isObjectError(err) || ev.InitialEventsEnd {
				return err
			}
		}
	}
}

// Close ends the watch. It may be called more than once, and while another
// goroutine is in Next, which then returns an error.
func (s *Stream[T]) Close() error {
	// Cancelling unblocks a Read in another goroutine.
	s.cancel()
	if s.initial == nil {
		return s.body.Close()
	}
	// The order matters: stop wakes a reader that waits for room, closing the body one
	// that is in a Read. Only then can Wait return.
	s.initial.stop()
	err := s.body.Close()
	s.initial.alive.Wait()
	return err
}
