package sharding

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/reflector"
)

// Source returns a source of the objects of lw in some ranges of hashes, whether or not the server
// can select them: the shard selector is sent, and each object that arrives is compared with it. So
// a server without the feature gate ShardedListAndWatch costs traffic and decoding, and nothing
// else; it may begin or cease to honour the selector at any time. Ranges must not overlap. An
// informer whose ranges change while it runs is a [Ranged].
func Source[T informer.Object](lw reflector.ListerWatcher[T], key HashKey, ranges ...HashRange) reflector.ListerWatcher[T] {
	f, set := newFilter(key), newHashSet(ranges)
	f.log = slog.New(slog.DiscardHandler)
	return &source[T]{lw, func() shard { return f.shard(set) }}
}

// shard is what one request of a [source] reads.
type shard struct {
	// selector is sent with it. It is empty for what no server can select.
	selector string
	// holds reports whether an object belongs to the shard. It is called for each object
	// that the server sends, by one goroutine at a time per request.
	holds func(obj metav1.Object) bool
	// moves is whether an object may leave the shard without being deleted, as holds looks
	// at more than UID, namespace and name. An object that has left it is handed over
	// as a deletion.
	moves bool
	// listed, if set, is called after each list, page by page: stated is whether the
	// server says that it has selected by the selector. It does so for lists of built-in
	// types, not for custom resources and for initial events.
	listed func(stated bool)
}

// source is a source of a part of another one. The position of a watch advances with the objects
// outside of the part as well: they are handed over as bookmarks.
type source[T informer.Object] struct {
	lw reflector.ListerWatcher[T]
	// shard is called for each request. A watch that is resumed may read less than the list
	// before it; to read more, another list is needed, which is up to the caller.
	shard func() shard
}

// Unwrap returns the source within; see [reflector.As].
func (s *source[T]) Unwrap() any { return s.lw }

// Selector is empty: that of the source does not describe the part.
func (s *source[T]) Selector() string { return "" }

// Metadata is that of the source, of the same part.
func (s *source[T]) Metadata() (reflector.ListerWatcher[*metav1.PartialObjectMetadata], error) {
	whole, ok := reflector.As[interface {
		Metadata() (reflector.ListerWatcher[*metav1.PartialObjectMetadata], error)
	}](s.lw)
	if !ok {
		return nil, fmt.Errorf("sharding: the source, a %T, cannot list metadata", s.lw)
	}
	lw, err := whole.Metadata()
	if err != nil {
		return nil, err
	}
	return &source[*metav1.PartialObjectMetadata]{lw, func() shard {
		sh := s.shard()
		sh.listed = nil // audits are no lists of the collection
		return sh
	}}, nil
}

// List implements [reflector.ListerWatcher].
func (s *source[T]) List(ctx context.Context, req reflector.Request, each func(reflector.WatchEvent[T]) error) (metav1.ListMeta, error) {
	sh := s.shard()
	req.ListOptions.ShardSelector = sh.selector
	meta, err := s.lw.List(ctx, req, func(ev reflector.WatchEvent[T]) error {
		if ev.Known == nil && !sh.passes(ev.Object, ev.Err) {
			return nil
		}
		return each(ev)
	})
	if err == nil && sh.listed != nil {
		sh.listed(meta.ShardInfo != nil && meta.ShardInfo.Selector != "")
	}
	return meta, err
}

// passes reports whether what was received is to be handed over.
func (sh *shard) passes(obj metav1.Object, err error) bool {
	if err == nil {
		return sh.holds(obj)
	}
	// Of an object that could not be read the identity may be known, and that is all
	// that is needed, unless objects move. An object that was not read again because
	// the sink has it already is inside.
	var unreadable *reflector.ObjectError
	if sh.moves || !errors.As(err, &unreadable) || unreadable.UID == "" {
		return true
	}
	return sh.holds(&metav1.ObjectMeta{Namespace: unreadable.Key.Namespace, Name: unreadable.Key.Name, UID: unreadable.UID})
}

// Watch implements [reflector.ListerWatcher].
func (s *source[T]) Watch(ctx context.Context, req reflector.Request) (reflector.Stream[T], error) {
	sh := s.shard()
	req.ListOptions.ShardSelector = sh.selector
	stream, err := s.lw.Watch(ctx, req)
	if err != nil {
		return nil, err
	}
	return &sourceStream[T]{
		Stream: stream, shard: sh,
		initial: req.ListOptions.SendInitialEvents != nil && *req.ListOptions.SendInitialEvents,
		// Without a version the first events are existing objects, in no order.
		ordered: req.ListOptions.ResourceVersion != "" && req.ListOptions.ResourceVersion != "0",
	}, nil
}

// sourceStream leaves out what is not in the part, in the goroutine of the caller.
type sourceStream[T informer.Object] struct {
	reflector.Stream[T]
	shard   shard
	initial bool // the initial events have not ended
	ordered bool // the events come in the order of their versions
}

// Next implements [reflector.Stream].
func (s *sourceStream[T]) Next() (reflector.WatchEvent[T], error) {
	for {
		ev, err := s.Stream.Next()
		switch {
		case err != nil:
			return ev, err
		case ev.InitialEventsEnd:
			s.initial, s.ordered = false, true
			return ev, nil
		case ev.Known != nil, ev.Err == nil && object.IsNil(ev.Object), s.shard.passes(ev.Object, ev.Err):
			return ev, nil
		}
		switch {
		case s.shard.moves && ev.Err == nil:
			// It may have been inside before; the sink knows.
			ev.Type = watch.Deleted
			return ev, nil
		case s.ordered && !s.initial:
			return reflector.WatchEvent[T]{Type: watch.Bookmark, ResourceVersion: ev.ResourceVersion}, nil
		}
	}
}
