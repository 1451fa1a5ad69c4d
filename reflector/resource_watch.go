package reflector

import (
	"context"
	"errors"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/internal/object"
)

// Watch implements [ListerWatcher].
func (r *resource[T]) Watch(ctx context.Context, opts metav1.ListOptions) (Stream[T], error) {
	opts.Watch = true
	ctx, cancel := context.WithCancel(ctx)
	resp, err := r.get(ctx, "watch", opts, r.watchAccept)
	if err != nil {
		cancel()
		return nil, err
	}
	s := &httpStream[T]{r: r, ctx: ctx, cancel: cancel, body: resp.Body, want: r.codec.expected()}
	initial := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	if initial {
		s.want, s.kinds = r.codec.expect(), &tally{}
	}
	if isProto(resp) {
		s.frames = newProtoFrames(resp.Body, r.codec, s.want)
	} else {
		s.frames = newJSONFrames(resp.Body, r.codec, s.want)
	}
	if initial {
		s.initial = newAhead(s.frames.open)
		s.bulk = true
		context.AfterFunc(ctx, s.initial.halt) // for those who end ctx and do not close
		s.initial.start(s.readInitial)
	}
	return s, nil
}

// httpStream is the body of the answer to a watch request.
//
// Initial events are many, and there is a core to decode them on while others
// are being read. They are read ahead by a goroutine that ends with them. From
// then on Next does all by itself.
type httpStream[T Object] struct {
	r       *resource[T]
	ctx     context.Context //nolint:containedctx // the life of one request
	cancel  context.CancelFunc
	body    io.Closer
	frames  frames[T]
	want    *expectation
	initial *ahead[Event[T]] // nil if there are no initial events

	// What follows belongs to Next.

	bulk  bool   // initial events are to come
	kinds *tally // of the initial events
	n     int    // frames so far
	err   error
}

// Next implements [Stream].
func (s *httpStream[T]) Next() (Event[T], error) {
	if s.err != nil {
		return Event[T]{}, s.err
	}
	ev, err := asEvent(s.event())
	if err == nil && s.kinds != nil {
		err = s.count(ev)
	}
	if err == nil && s.sharded(ev) {
		err = s.r.shard.checkObject(s.r.opts.ShardSelector, ev.Object)
	}
	if err == nil {
		return ev, nil
	}
	if s.bulk {
		s.initial.halt()
	}
	if err != io.EOF { //nolint:errorlint // the bare value means an orderly end
		err = s.r.failed("watch", brokenBody(s.ctx, err))
	}
	s.err = err
	return Event[T]{}, err
}

// count finds out whether the initial events are those of a collection of
// another kind.
func (s *httpStream[T]) count(ev Event[T]) error {
	if ev.Type != watch.Bookmark {
		s.kinds.note(ev.Err)
	}
	if err := s.r.codec.verdict(s.kinds, ev.InitialEventsEnd); err != nil {
		return err
	}
	if ev.InitialEventsEnd {
		s.kinds = nil
		s.r.codec.newest.Store(s.want)
	}
	return nil
}

// sharded reports whether the event has an object that must be of the shard.
func (s *httpStream[T]) sharded(ev Event[T]) bool {
	return s.r != nil && s.r.shard != nil && ev.Err == nil && !object.IsNil(ev.Object)
}

func (s *httpStream[T]) event() (Event[T], error) {
	if s.bulk {
		ev, err := s.initial.take()
		s.n++
		switch {
		case errors.Is(err, errHalted):
			err = context.Cause(s.ctx)
		case ev.InitialEventsEnd:
			s.bulk = false
			s.initial.finish()
		}
		return ev, err
	}
	frame, err := s.frames.split()
	if err != nil {
		return Event[T]{}, err
	}
	position := s.n
	s.n++
	if s.frames.tooDeep() {
		return s.frames.refuse(frame, position)
	}
	return s.frames.open(frame, position)
}

// readInitial reads up to the end of the initial events and not a byte further.
func (s *httpStream[T]) readInitial() error {
	for position := 0; ; position++ {
		frame, err := s.frames.split()
		if err != nil {
			return err
		}
		open := s.frames.open
		if s.frames.tooDeep() {
			open = s.frames.refuse
		}
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

// Close implements [Stream].
func (s *httpStream[T]) Close() error {
	// Cancelling is what makes a Read in another goroutine return.
	s.cancel()
	if s.initial == nil {
		return s.body.Close()
	}
	s.initial.halt()
	err := s.body.Close()
	s.initial.alive.Wait()
	return err
}
