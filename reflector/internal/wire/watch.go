package wire

import (
	"cmp"
	"context"
	"errors"
	"io"
)

// Watch starts one WATCH request. It returns when the server has answered with a
// status of 200, which kube-apiserver sends before the first event. The stream ends
// with ctx; Close it in any case.
func (r *Resource[T]) Watch(ctx context.Context, req Request) (*Stream[T], error) {
	// A LIST and a WATCH are the same GET; this parameter distinguishes them.
	req.Watch = true
	ctx, cancel := context.WithCancel(ctx)
	// ctx is the stream's own, so that Close can end the request while the caller's
	// context lives.
	resp, err := r.get(ctx, req, r.watchAccept)
	if err != nil {
		cancel()
		return nil, err
	}
	s := &Stream[T]{ctx: ctx, cancel: cancel, closer: resp.Body}
	d := &decoder[T]{codec: r.codec, proto: isProto(resp)}
	if req.SendInitialEvents == nil || !*req.SendInitialEvents {
		s.begin(d, resp.Body, r.codec.newKinds(r.codec.expected()))
		return s, nil
	}
	// Initial events take the place of a list, so they are checked like one: the
	// kind is learned from scratch, and a collection of another kind is recognised.
	d.known = req.Known
	s.limited = r.limits.begin(resp.Body, "", false)
	s.initial, s.reading = newPipeline(d, 0), true
	s.body = &flushing[T]{s.limited, s.initial}
	s.begin(d, s.body, r.codec.newKinds(""))
	// If ctx ends and Close is not called. It also unblocks a Next that waits for the
	// pipeline; a Read ends by the cancelled request.
	context.AfterFunc(ctx, s.initial.stop)
	s.initial.start(s.readInitial)
	return s, nil
}

// begin sets where the events come from.
func (s *Stream[T]) begin(d *decoder[T], body io.Reader, k *kinds[T]) {
	s.decoder, s.kinds = d, k
	if d.proto {
		s.frames = newProtoFrames(body, d.codec.limit)
	} else {
		s.frames = newJSONFrames(body, d.codec.limit)
	}
}

// Stream is the body of the answer to a watch request.
//
// Initial events are many, and decoded on all cores like a list: a goroutine reads them up to
// the bookmark that ends them. From there on an event is read and decoded by Next itself:
// handing it to another goroutine would cost more latency than it gains.
//
//	initial: body ─ frames ─▶ pipeline ─ decode, on all cores ─▶ take ─▶ Next
//	         └ readInitial ─┘                                   └ caller ┘
//	then:    body ─ frames ─ decode ─▶ Next
//	         └────────── caller ─────────┘
//
// So body and frames have one reader at any time and need no lock.
type Stream[T Object] struct {
	ctx     context.Context //nolint:containedctx // the life of one request
	cancel  context.CancelFunc
	closer  io.Closer
	frames  frames
	decoder *decoder[T]
	initial *pipeline[T] // of the initial events, or nil
	body    *flushing[T] // that they are read from, or nil

	// What follows belongs to Next.

	reading bool         // the initial events
	limited *limitedBody // of the initial events, while there are any
	kinds   *kinds[T]
	n       int // events so far
	err     error
}

// frames splits the body of a watch into events, which are not decoded.
type frames interface {
	// next returns the next event, which is valid until the next call. io.EOF is the orderly
	// end of the watch, any other error a broken one.
	next() (item, error)
}

// flushing is a body whose reader hands over what it has before it waits for more.
type flushing[T Object] struct {
	io.Reader
	items *pipeline[T] // nil: nobody else waits for it
}

// Read implements [io.Reader].
func (f *flushing[T]) Read(p []byte) (int, error) {
	if f.items != nil {
		if err := f.items.flush(); err != nil {
			return 0, err
		}
	}
	return f.Reader.Read(p)
}

// Next waits for the next event. It returns io.EOF when the server has ended the
// watch in an orderly way.
func (s *Stream[T]) Next() (Event[T], error) {
	if s.err != nil {
		return Event[T]{}, s.err
	}
	ev, err := s.event()
	if err == nil {
		if ev, err = s.check(ev); err == nil {
			return ev, nil
		}
	}
	if s.initial != nil {
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

// check checks the kind of an event, and at the end of the initial events that of the
// collection.
func (s *Stream[T]) check(ev Event[T]) (Event[T], error) {
	ev, err := s.kinds.check(ev, s.n-1, "")
	switch {
	case err != nil || s.limited == nil:
		return ev, err
	case !ev.InitialEventsEnd:
		return ev, s.limited.object()
	}
	if err := cmp.Or(s.kinds.verdict(true), s.limited.unbounded()); err != nil {
		return ev, err
	}
	// From here on single objects are checked, and the kind that was learned is what
	// they must be.
	s.limited = nil
	s.decoder.codec.newest.Store(&listKinds{s.kinds.kind + "List", s.kinds.kind})
	return ev, nil
}

// event returns the next event: an initial one, or else one from the connection itself.
func (s *Stream[T]) event() (ev Event[T], err error) {
	if s.reading {
		ev, err = s.initial.take()
		if errors.Is(err, errStopped) {
			err = context.Cause(s.ctx)
		}
		if err == nil && ev.InitialEventsEnd {
			// The reader ended with this bookmark. The frame behind it is still unread in
			// the body or in the buffer of frames, where this goroutine finds it.
			s.initial.alive.Wait()
			s.reading, s.body.items, s.decoder.known = false, nil, nil
		}
		s.n++
		return ev, err
	}
	it, err := s.frames.next()
	if err == nil {
		ev, err = s.decoder.event(it, s.n)
	}
	s.n++
	return ev, err
}

// readInitial reads up to the end of the initial events and not a byte further.
func (s *Stream[T]) readInitial() error {
	for {
		it, err := s.frames.next()
		if err != nil {
			return err
		}
		if ev, err := s.initial.add(it); err != nil || ev.InitialEventsEnd {
			return err
		}
	}
}

// Close ends the watch. It may be called more than once, and while another
// goroutine is in Next, which then returns an error.
func (s *Stream[T]) Close() error {
	// The order matters: cancel and stop wake a reader that waits for the network or for
	// room, closing the body one that is in a Read. Only then can Wait return.
	s.cancel()
	if s.initial != nil {
		s.initial.stop()
	}
	err := s.closer.Close()
	if s.initial != nil {
		s.initial.alive.Wait()
	}
	return err
}
