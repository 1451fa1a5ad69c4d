package clientgo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	upstream "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"

	"github.com/informerkit/informerkit/reflector"
)

// NewSource returns a ListerWatcher of client-go, for example one that selects fields
// or that a test feeds, as the source of an informer. T is the type of its objects;
// others are reported as objects that cannot be decoded.
//
// WatchList is used where client-go would use it: if the feature gate WatchListClient is
// on, and the client does not say that it lacks the semantics, as fake clientsets do (see
// cache.ToListWatcherWithWatchListSemantics). A list is in memory as a whole. What
// [reflector.NewResource] reads is decoded object by object. A nil lw panics.
func NewSource[T reflector.Object](lw upstream.ListerWatcher) reflector.ListerWatcher[T] {
	return newSource(lw, func(obj runtime.Object, _ received) (T, error) {
		typed, ok := obj.(T)
		switch {
		case !ok:
			return typed, fmt.Errorf("it is a %T, not a %T", obj, typed)
		case typed.GetName() == "":
			return typed, errors.New("it has no name")
		}
		return typed, nil
	})
}

// source reads a ListerWatcher of client-go.
type source[T reflector.Object] struct {
	lw upstream.ListerWatcherWithContext
	// take returns the object that is stored for one that was received. It returns
	// errSkipped for an event that is dropped, and reports that.
	take func(runtime.Object, received) (T, error)
	// fake is that the client says of itself that it is one, and server that it does not,
	// where it could; neither if lw does not pass it on.
	fake, server bool
	// bookmarked is that a bookmark has arrived, which only an API server sends.
	bookmarked atomic.Bool
	listed     bool // the collection has been read
}

// received says how an object was received.
type received struct {
	event watch.EventType // empty: in a list
	fake  bool            // by a fake client
	// unversioned is that another state of the object may have the same resourceVersion.
	unversioned bool
}

// errSkipped is returned for an event that is dropped, and was reported.
var errSkipped = errors.New("skipped")

func newSource[T reflector.Object](lw upstream.ListerWatcher, take func(runtime.Object, received) (T, error)) *source[T] {
	if lw == nil {
		panic("clientgo: NewSource needs a ListerWatcher, for example a cache.ListWatch")
	}
	_, says := lw.(interface{ IsWatchListSemanticsUnSupported() bool })
	fake := watchlist.DoesClientNotSupportWatchListSemantics(lw)
	// Those that have no methods with a context get them here. Their requests do not
	// end with the context, only what waits for them.
	return &source[T]{lw: upstream.ToListerWatcherWithContext(lw), take: take, fake: fake, server: says && !fake}
}

// SupportsWatchList says whether to ask for initial events.
func (s *source[T]) SupportsWatchList() bool {
	return !s.fake && features.FeatureGates().Enabled(features.WatchListClient)
}

// InProcess says whether the source may be one without a server, as those of tests are.
func (s *source[T]) InProcess() bool { return !s.server && !s.bookmarked.Load() }

// List implements [reflector.ListerWatcher].
func (s *source[T]) List(ctx context.Context, req reflector.Request, each func(reflector.WatchEvent[T]) error) (metav1.ListMeta, error) {
	list, err := s.lw.ListWithContext(ctx, req.ListOptions)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	acc, err := meta.ListAccessor(list)
	if err != nil {
		return metav1.ListMeta{}, fmt.Errorf("the list function returned a %T: %w", list, err)
	}
	n := 0
	// Copied: a pointer into Items would keep all items alive for as long as one of
	// them is cached.
	relist := s.listed
	err = meta.EachListItemWithAlloc(list, func(obj runtime.Object) error {
		ev := reflector.WatchEvent[T]{Type: watch.Added}
		if ev.Known = s.known(obj, req); ev.Known == nil {
			ev.Object, ev.Err = s.event(obj, received{unversioned: relist}, n)
		}
		n++
		return each(ev)
	})
	s.listed = s.listed || err == nil && acc.GetContinue() == ""
	return metav1.ListMeta{
		ResourceVersion: acc.GetResourceVersion(), Continue: acc.GetContinue(), RemainingItemCount: acc.GetRemainingItemCount(),
	}, err
}

// known returns what the reader has in the version of obj, which then need not be
// transformed. A source without a server may use a version twice.
func (s *source[T]) known(obj runtime.Object, req reflector.Request) any {
	if req.Known == nil || !s.bookmarked.Load() {
		return nil
	}
	acc, err := meta.Accessor(obj)
	if err != nil {
		return nil
	}
	return req.Known(types.NamespacedName{Namespace: acc.GetNamespace(), Name: acc.GetName()}, []byte(acc.GetUID()), []byte(acc.GetResourceVersion()))
}

// event returns what is stored for an object.
func (s *source[T]) event(obj runtime.Object, r received, position int) (T, error) {
	r.fake = s.fake
	r.unversioned = r.unversioned && !s.bookmarked.Load()
	stored, err := s.take(obj, r)
	if err == nil || errors.Is(err, errSkipped) {
		return stored, err
	}
	var oe *reflector.ObjectError
	if !errors.As(err, &oe) {
		oe = &reflector.ObjectError{Class: reflector.ClassDecode, Err: err}
	}
	oe.Position = position
	return stored, oe
}

// Watch implements [reflector.ListerWatcher].
func (s *source[T]) Watch(ctx context.Context, req reflector.Request) (reflector.Stream[T], error) {
	opts := req.ListOptions
	opts.Watch = true
	w, err := s.lw.WatchWithContext(ctx, opts)
	if err != nil {
		return nil, err
	}
	if w == nil {
		return nil, errors.New("the watch function returned neither a watch nor an error")
	}
	return &stream[T]{source: s, ctx: ctx, w: w, closed: make(chan struct{})}, nil
}

// stream reads a watch.Interface.
type stream[T reflector.Object] struct {
	source *source[T]
	ctx    context.Context //nolint:containedctx // the life of one watch
	w      watch.Interface
	n      int // events so far
	close  sync.Once
	closed chan struct{} // by Close
}

// Next implements [reflector.Stream].
func (s *stream[T]) Next() (reflector.WatchEvent[T], error) {
	for {
		got, err := s.receive()
		if err != nil {
			return reflector.WatchEvent[T]{}, err
		}
		ev := reflector.WatchEvent[T]{Type: got.Type}
		switch got.Type {
		case watch.Error:
			return ev, apierrors.FromObject(got.Object)
		case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark:
		default:
			return ev, nil
		}
		acc, err := meta.Accessor(got.Object)
		if err != nil {
			ev.Err = &reflector.ObjectError{Position: s.n, Class: reflector.ClassDecode, Err: err}
			return ev, nil
		}
		ev.ResourceVersion = acc.GetResourceVersion()
		if got.Type == watch.Bookmark {
			s.source.bookmarked.Store(true)
			ev.InitialEventsEnd = acc.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
			return ev, nil
		}
		s.n++
		ev.Object, ev.Err = s.source.event(got.Object, received{event: got.Type, unversioned: got.Type == watch.Modified}, s.n-1)
		if !errors.Is(ev.Err, errSkipped) {
			return ev, nil
		}
	}
}

// receive waits for the next event.
func (s *stream[T]) receive() (watch.Event, error) {
	// Of several channels that are ready, select takes any: not an event after the end.
	select {
	case <-s.ctx.Done():
		return watch.Event{}, context.Cause(s.ctx)
	case <-s.closed:
		return watch.Event{}, errStreamClosed
	default:
	}
	events := s.w.ResultChan()
	select {
	case <-s.ctx.Done():
		return watch.Event{}, context.Cause(s.ctx)
	case <-s.closed:
		return watch.Event{}, errStreamClosed
	case ev, open := <-events:
		if !open {
			return ev, io.EOF
		}
		return ev, nil
	}
}

// errStreamClosed is returned by a stream after Close.
var errStreamClosed = errors.New("the stream is closed")

// Close implements [reflector.Stream].
func (s *stream[T]) Close() error {
	s.close.Do(func() {
		close(s.closed)
		s.w.Stop()
	})
	return nil
}
