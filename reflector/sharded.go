package reflector

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/reflector/internal/wire"
)

// Shard is the part of a collection that a source of [Sharded] reads.
type Shard struct {
	// Selector is sent with each request; see [ResourceOptions].ShardSelector. It is
	// empty for what no server can select.
	Selector string
	// Holds reports whether an object belongs to the part. It is called for each object
	// that the server sends, by one goroutine at a time per request.
	Holds func(obj metav1.Object) bool
	// Moves is whether an object may leave the part without being deleted, as Holds looks
	// at more than UID, namespace and name. An object that has left it is handed over
	// as a deletion.
	Moves bool
	// Listed, if set, is called after each list, page by page: stated is whether the
	// server says that it has selected by the selector. It does so for lists of built-in
	// types, not for custom resources and for initial events.
	Listed func(stated bool)
}

// Sharded returns a source of a part of what lw reads, whether or not the server can
// select it: the selector is sent, and each object that arrives is compared with it. So
// a server without the feature gate ShardedListAndWatch costs traffic and decoding, and
// nothing else. A server may begin or cease to honour the selector at any time. A [ResourceOptions].ShardSelector
// instead makes an error of a server that ignores it.
//
// Shard is called for each request, and returns what that request is to read. A watch
// that is resumed may read less than the list before it; to read more, another
// list is needed, which is up to the caller.
//
// The position of a watch advances with the objects outside of the part as well: they
// are handed over as bookmarks.
func Sharded[T Object](lw ListerWatcher[T], shard func() Shard) ListerWatcher[T] {
	return &sharded[T]{lw, shard}
}

// sharded implements [ListerWatcher], and the optional interfaces of the source within.
type sharded[T Object] struct {
	lw    ListerWatcher[T]
	shard func() Shard
}

// Unwrap returns the source within; see [As].
func (s *sharded[T]) Unwrap() any { return s.lw }

// validate reports a source or function that is missing.
func (s *sharded[T]) validate() error {
	if s.lw == nil || s.shard == nil {
		return errors.New("reflector: Sharded needs a ListerWatcher and a function")
	}
	return nil
}

// Selector is empty: that of the source does not describe the part.
func (s *sharded[T]) Selector() string { return "" }

// Metadata is that of the source, of the same part.
func (s *sharded[T]) Metadata() (ListerWatcher[*metav1.PartialObjectMetadata], error) {
	source, ok := As[interface {
		Metadata() (ListerWatcher[*metav1.PartialObjectMetadata], error)
	}](s.lw)
	if !ok {
		return nil, fmt.Errorf("reflector: the source, a %T, cannot list metadata", s.lw)
	}
	lw, err := source.Metadata()
	if err != nil {
		return nil, err
	}
	return Sharded(lw, func() Shard {
		sh := s.shard()
		sh.Listed = nil // audits are no lists of the collection
		return sh
	}), nil
}

// List implements [ListerWatcher].
func (s *sharded[T]) List(ctx context.Context, req Request, each func(WatchEvent[T]) error) (metav1.ListMeta, error) {
	sh := s.shard()
	req.ShardSelector = sh.Selector
	meta, err := s.lw.List(wire.WithAnyShard(ctx), req, func(ev WatchEvent[T]) error {
		if ev.Known == nil && !sh.holds(ev.Object, ev.Err) {
			return nil
		}
		return each(ev)
	})
	if err == nil && sh.Listed != nil {
		sh.Listed(meta.ShardInfo != nil && meta.ShardInfo.Selector != "")
	}
	return meta, err
}

// holds reports whether what was received is to be handed over.
func (sh *Shard) holds(obj metav1.Object, err error) bool {
	if err == nil {
		return sh.Holds(obj)
	}
	// Of an object that could not be read the identity may be known, and that is all
	// that is needed, unless objects move. An object that was not read again because
	// the sink has it already is inside.
	var unreadable *ObjectError
	if sh.Moves || !errors.As(err, &unreadable) || unreadable.UID == "" {
		return true
	}
	return sh.Holds(&metav1.ObjectMeta{Namespace: unreadable.Key.Namespace, Name: unreadable.Key.Name, UID: unreadable.UID})
}

// Watch implements [ListerWatcher].
func (s *sharded[T]) Watch(ctx context.Context, req Request) (Stream[T], error) {
	sh := s.shard()
	req.ShardSelector = sh.Selector
	stream, err := s.lw.Watch(wire.WithAnyShard(ctx), req)
	if err != nil {
		return nil, err
	}
	return &shardedStream[T]{
		Stream: stream, shard: sh,
		initial: req.SendInitialEvents != nil && *req.SendInitialEvents,
		// Without a version the first events are existing objects, in no order.
		ordered: req.ResourceVersion != "" && req.ResourceVersion != "0",
	}, nil
}

// shardedStream leaves out what is not in the part, in the goroutine of the caller.
type shardedStream[T Object] struct {
	Stream[T]
	shard   Shard
	initial bool // the initial events have not ended
	ordered bool // the events come in the order of their versions
}

// Next implements [Stream].
func (s *shardedStream[T]) Next() (WatchEvent[T], error) {
	for {
		ev, err := s.Stream.Next()
		switch {
		case err != nil:
			return ev, err
		case ev.InitialEventsEnd:
			s.initial, s.ordered = false, true
			return ev, nil
		case ev.Known != nil, ev.Err == nil && object.IsNil(ev.Object), s.shard.holds(ev.Object, ev.Err):
			return ev, nil
		}
		switch {
		case s.shard.Moves && ev.Err == nil:
			// It may have been inside before; the sink knows.
			ev.Type = watch.Deleted
			return ev, nil
		case s.ordered && !s.initial:
			return WatchEvent[T]{Type: watch.Bookmark, ResourceVersion: ev.ResourceVersion}, nil
		}
	}
}
