package sharding

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/reflector"
)

// Ranged is an informer that reads ranges of the hashes of a collection, for a program whose
// replicas share the collection. All ranges are read by one list and one watch.
type Ranged[T informer.Object] struct {
	*informer.Informer[T]
	selected  informer.Selected[T]
	selection *selection
}

// NewRanged returns an informer that reads ranges of hashes of a collection: its cache has
// the objects of those. Ranges are added and removed while it runs; it begins with none.
// What is hashed is up to key. Lw must read the whole collection, or a single namespace: the
// shard selector is added to each request.
//
// A server with the feature gate ShardedListAndWatch sends the objects of these ranges
// only. From any other one, which ignores the selector, all objects arrive and those of
// other ranges are dropped before they are stored: this costs traffic and decoding on
// each replica, but no memory. Each object is compared in any case, so a
// server that is upgraded or downgraded meanwhile makes no difference;
// FilteredBy of [informer.SourceHealth] says how it is, and the log when it changes.
//
// To remove ranges costs nothing. To add some costs a list of all ranges that the informer
// has, from the server's watch cache; objects that have not changed are not decoded again, and handlers see what is
// new only. While it lists, the events of the other ranges wait. Ranges that are added
// meanwhile wait for the end of that list, and share the next one, so any number that are
// added in quick succession cost two lists.
func NewRanged[T informer.Object](lw reflector.ListerWatcher[T], key HashKey, opts informer.Options[T]) (*Ranged[T], error) {
	if lw == nil || object.IsNilPointer(lw) {
		return nil, errors.New("sharding: the ListerWatcher is nil; make one with reflector.NewResource or reflector.FromFuncs")
	}
	if key > HashOwner {
		return nil, fmt.Errorf("sharding: unknown HashKey %d; use HashUID, HashNamespace or HashOwner", key)
	}
	log := opts.Logger
	if log == nil {
		log = slog.Default()
	}
	f := newFilter(key)
	s := newSelection(f)
	selected, err := informer.NewSelected(s, func(what any) reflector.ListerWatcher[T] {
		return &source[T]{lw, func() shard { return f.shard(what.(*reading).load()) }}
	}, opts)
	if err != nil {
		return nil, err
	}
	f.log = log.With("informer", selected.Informer.Name())
	return &Ranged[T]{selected.Informer, selected, s}, nil
}

// HashKey returns what is hashed.
func (r *Ranged[T]) HashKey() HashKey { return r.selection.filter.key }

// AddRanges adds ranges of hashes. It does not wait; see [Ranged.WaitForRanges]. Handlers
// get the objects like those of a first list, with the origin [informer.InitialList]. An
// informer that has synced stays so, but a handler that joins now is synced only when it has
// got the objects of these ranges too.
//
// It fails, and adds none, if one of them is empty or overlaps with another one.
func (r *Ranged[T]) AddRanges(ranges ...HashRange) error {
	return r.selected.Widen(func() error { return r.selection.add(ranges) })
}

// RemoveRanges removes ranges of hashes. Their objects have left the cache when it
// returns, and no later event brings one back. Handlers get their deletions, with
// FinalStateUnknown and the origin [informer.PartRemoved]. It returns false if the informer did
// not have one of the ranges; the others are removed. It does not wait for requests, so
// a handler may call it. It takes a time in proportion to the objects in the cache.
func (r *Ranged[T]) RemoveRanges(ranges ...HashRange) bool {
	all := true
	r.selected.Narrow(func() { all = r.selection.remove(ranges) })
	return all
}

// WaitForRanges waits until the first list of each of these ranges is in the cache;
// without any, for all that the informer has. It fails with the context's cause, with
// [informer.ErrStopped], or because the informer does not have one of them (any more).
func (r *Ranged[T]) WaitForRanges(ctx context.Context, ranges ...HashRange) error {
	return r.selected.WaitUntil(ctx, fmt.Sprintf("%d ranges of hashes", len(ranges)), func() (bool, error) { return r.selection.has(ranges) })
}
