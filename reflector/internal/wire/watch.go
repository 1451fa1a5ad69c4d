package wire

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"
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
	s := &Stream[T]{r: r, ctx: ctx, cancel: cancel, closer: resp.Body}
	d := &decoder[T]{codec: r.codec, proto: isProto(resp), want: r.codec.expected()}
	initial := req.SendInitialEvents != nil && *req.SendInitialEvents
	if initial {
		// Initial events take the place of a list, so they are checked like one: the
		// kind is learned from scratch, and a collection of another kind is recognised.
		d.want, d.known, s.kinds = r.codec.expect(), req.Known, &tally{}
	}
	s.begin(d, resp.Body)
	if initial {
		s.readAhead(s.readInitial)
	}
	return s, nil
}

// begin sets where the events come from.
func (s *Stream[T]) begin(d *decoder[T], body io.Reader) {
	s.decoder, s.body = d, &flushing[T]{Reader: body}
	if d.proto {
		s.frames = newProtoFrames(s.body, d.codec.limit, d.want)
	} else {
		s.frames = newJSONFrames(s.body, d.codec.limit)
	}
}

// Stream is the body of the answer to a watch request.
//
// An event that comes alone is read and decoded by Next itself: handing it to another
// goroutine would cost more latency than it gains. Where many come at once, there is a core
// to decode them on while others are being read: a goroutine reads ahead, and ends when
// they do. Initial events are many from the start; for how a burst is noticed see lag.
//
//	ahead:  body ─ frames ─▶ pipeline ─ decode, on all cores ─▶ take ─▶ Next
//	        └ readInitial, ─┘                                  └ caller ┘
//	          readBurst     │ the bookmark, or           ▲
//	                        ▼ nothing left to read       │ a burst
//	direct: body ─ frames ─ decode ─▶ Next ──────────────┘
//	        └───────── caller ──────────┘
//
// The changes are made by Next alone, when no goroutine reads ahead. So body and frames
// have one reader at any time and need no lock.
type Stream[T Object] struct {
	r       *Resource[T]
	ctx     context.Context //nolint:containedctx // the life of one request
	cancel  context.CancelFunc
	closer  io.Closer
	body    *flushing[T]
	frames  frames
	decoder *decoder[T]

	mu     sync.Mutex // for Close, and for the end of ctx
	ended  bool       // one of the two; nothing may be started any more
	hooked bool       // the end of ctx will be noticed
	// ahead is set with mu held, by Watch and then by Next, which reads it without.
	ahead *pipeline[T] // what was read ahead; nil: Next is direct

	// What follows belongs to Next.

	kinds *tally // of the initial events, while there are any
	n     int    // frames so far
	lag   lag
	err   error
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
	if err == nil && s.kinds != nil {
		err = s.count(ev)
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
		s.r.codec.newest.Store(s.decoder.want)
	}
	return nil
}

// event returns the next event: of those that were read ahead, or else from the connection
// itself. The pipeline is drained before a direct read, so the order is that of the server.
func (s *Stream[T]) event() (Event[T], error) {
	if s.ahead != nil {
		ev, err := s.ahead.take()
		switch {
		case errors.Is(err, errAllTaken):
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
	it, err := s.frames.next()
	if err != nil {
		return Event[T]{}, err
	}
	burst := s.lag.after()
	ev, err := s.decoder.event(it, s.n)
	s.n++
	// An error that ends the stream leaves nothing to read.
	if burst && err == nil {
		s.readAhead(s.readBurst)
	}
	return ev, err
}

// readAhead starts to read ahead, unless the stream has been closed.
func (s *Stream[T]) readAhead(read func(*pipeline[T]) error) {
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
	ahead := newPipeline(s.decoder, s.n)
	s.ahead, s.body.items = ahead, ahead
	ahead.start(func() error { return read(ahead) })
}

// direct ends the reading ahead, all of which has been taken.
func (s *Stream[T]) direct() {
	s.ahead.alive.Wait()
	s.decoder.known = nil // the initial events are over
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead, s.body.items = nil, nil
	s.lag = lag{}
}

// stop ends what reads ahead at its next step, and lets nothing start any more. It returns
// what was reading ahead, or nil.
func (s *Stream[T]) stop() *pipeline[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.ahead != nil {
		s.ahead.stop()
	}
	return s.ahead
}

// readInitial reads up to the end of the initial events and not a byte further.
func (s *Stream[T]) readInitial(ahead *pipeline[T]) error {
	for {
		it, err := s.frames.next()
		if err != nil {
			return err
		}
		if ev, err := ahead.add(it); err != nil || ev.InitialEventsEnd {
			return err
		}
	}
}

// readBurst reads ahead until the taker has to wait for the server. An event that
// comes alone then is handed over like any other: Next decodes it at once.
func (s *Stream[T]) readBurst(ahead *pipeline[T]) error {
	ahead.warm = true // the kind is known
	for calm := 0; calm < calmEvents; {
		it, err := s.frames.next()
		if err != nil {
			return err
		}
		if ahead.waiting.Load() {
			calm++
		} else {
			calm = 0
		}
		if _, err := ahead.add(it); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the watch. It may be called more than once, and while another
// goroutine is in Next, which then returns an error.
func (s *Stream[T]) Close() error {
	// Cancelling unblocks a Read in another goroutine.
	s.cancel()
	// The order matters: stop wakes a reader that waits for room, closing the body one
	// that is in a Read. Only then can Wait return.
	ahead := s.stop()
	err := s.closer.Close()
	if ahead != nil {
		ahead.alive.Wait()
	}
	return err
}

const (
	// burstEvents is how many events in a row must have been there before they were asked
	// for, to be taken for a burst. Starting a goroutine costs a fraction of decoding one.
	burstEvents = 8
	// calmEvents is how many events in a row must have been waited for, to end it.
	calmEvents = 3
)

// lag finds out whether the reading of a stream falls behind its server.
//
//	Next        │ read  │ open │ what the caller does │ read  │ …
//	            │ wait  │           work              │ wait  │
//
// An event for which there was less waiting than work with the one before it was there
// already, most of the time. If several are, two cores would be done with them earlier
// than one.
type lag struct {
	asked, got time.Time // the latest read
	behind     int
}

// before is called before a read.
func (l *lag) before() { l.asked = time.Now() }

// after is called after it. It reports whether there is a burst that is worth reading ahead
// for.
func (l *lag) after() bool {
	now := time.Now()
	work := l.asked.Sub(l.got)
	if l.got.IsZero() || now.Sub(l.asked) >= work {
		l.behind = 0
	} else {
		l.behind++
	}
	l.got = now
	return l.behind >= burstEvents && runtime.GOMAXPROCS(0) > 1
}
