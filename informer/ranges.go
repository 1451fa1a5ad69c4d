package informer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/reflector"
)

// NewRanged returns an informer that reads ranges of hashes of a collection, for a
// program whose replicas share a collection: each has some ranges, and its cache
// the objects of those. Ranges are added and removed while it runs; it begins with none.
// What is hashed is up to key. Lw must read the whole collection: the shard
// selector is added to each request.
//
// A server with the feature gate ShardedListAndWatch sends the objects of these ranges
// only. From any other one, which ignores the selector, all objects arrive and those of
// other ranges are dropped before they are stored: this costs traffic and decoding on
// each replica, but no memory. Each object is compared in any case, so a
// server that is upgraded or downgraded meanwhile makes no difference;
// [SourceHealth].FilteredBy says how it is, and the log when it changes.
//
// All ranges are read by one list and one watch. To remove ranges costs nothing. To add
// some costs a list of all ranges that the informer has, from the server's watch
// cache; objects that have not changed are not decoded again, and handlers see what is
// new only. While it lists, the events of the other ranges wait. Ranges that are added
// meanwhile wait for the end of that list, and share the next one, so any number that are
// added in quick succession cost two lists.
//
// Namespaces and ranges cannot be combined, but lw may read a single namespace, and
// [HashNamespace] keeps the objects of each namespace together.
func NewRanged[T Object](lw reflector.ListerWatcher[T], key HashKey, opts Options[T]) (*Informer[T], error) {
	if lw == nil || object.IsNilPointer(lw) {
		return nil, errors.New("informer: the ListerWatcher is nil; make one with reflector.NewResource or reflector.FromFuncs")
	}
	if key > HashOwner {
		return nil, fmt.Errorf("informer: unknown HashKey %d; use HashUID, HashNamespace or HashOwner", key)
	}
	inf, err := newInformer(&opts)
	if err != nil {
		return nil, err
	}
	filter := newShardFilter(key, inf.log)
	inf.newRangeSource = func(set hashSet) (*source[T], error) {
		return newRangeSource(set, filter, lw, inf.applier.store, &opts)
	}
	inf.filter = filter
	// It is thrown away: what is wrong with the options is to be found here, rather than
	// when the first range is added.
	if _, err := inf.newRangeSource(nil); err != nil {
		return nil, inf.named(err)
	}
	inf.applier.progress.ranges = newRanges(key)
	return inf, nil
}

// errNotRanged is for methods that need an informer of NewRanged.
var errNotRanged = errors.New("it does not read by ranges; use NewRanged")

// AddRanges adds ranges of hashes to an informer that [NewRanged] made. It does not wait;
// see [Informer.WaitForRanges]. Handlers get the objects like those of a first list,
// with the origin [InitialList]. An informer that has synced stays so, but a handler that
// joins now is synced only when it has got the objects of these ranges too.
//
// It fails, and adds none, if one of them is empty or overlaps with another one.
func (inf *Informer[T]) AddRanges(ranges ...HashRange) error {
	if inf.filter == nil {
		return inf.named(errNotRanged)
	}
	inf.applier.mu.Lock()
	defer inf.applier.mu.Unlock()
	inf.mu.Lock()
	defer inf.mu.Unlock()
	if inf.closed {
		return inf.named(fmt.Errorf("adding ranges: %w", ErrStopped))
	}
	return inf.named(inf.applier.addRanges(ranges))
}

// RemoveRanges removes ranges of hashes. Their objects have left the cache when it
// returns, and no later event brings one back. Handlers get their deletions, with
// FinalStateUnknown and the origin [PartRemoved]. It returns false if the informer did
// not have one of the ranges; the others are removed. It does not wait for requests, so
// a handler may call it.
//
// It takes a time in proportion to the objects in the cache.
func (inf *Informer[T]) RemoveRanges(ranges ...HashRange) bool {
	if inf.filter == nil {
		return false
	}
	all := true
	inf.applier.change(func() { all = inf.applier.removeRanges(ranges) })
	return all
}

// runRanges runs a source for all ranges that are wanted, and replaces it when there are
// more than it reads, until ctx ends or a source fails for good.
//
//	no ranges ──▶ no source
//	   │ added                      ┌── added: once it has listed, it ends,
//	   ▼                            │   and the next one reads all
//	a source lists and watches ─────┘
//	   │ all removed: it ends
//	   ▼
//	no source
//
// A source never reads more than it was made for, so a list that has begun before a range
// was added cannot pass for a list of that range.
func (inf *Informer[T]) runRanges(ctx context.Context) error {
	inf.applier.change(func() { // without ranges, this is the sync
		if inf.filled {
			inf.applier.dropUnread()
		}
	})
	var s *source[T] // nil: none
	failure := make(chan error, 1)
	end := func() {
		if s != nil {
			s.cancel()
			<-s.ended
			s = nil
		}
	}
	defer func() {
		inf.mu.Lock()
		inf.closed = true
		inf.mu.Unlock()
		end()
	}()
	for {
		set, replace := inf.nextRanges(s)
		if replace {
			// First: of two sources of one cache, the list of one would undo what the other has
			// applied. After this, nothing of the old one is applied any more.
			end()
			next, err := inf.installRanges(set)
			if err != nil {
				return err
			}
			if s = next; s != nil {
				inf.launchRanges(ctx, s, failure)
			}
		}
		select {
		case <-inf.applier.progress.ranges.wake:
		case err := <-failure:
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

// launchRanges runs s until s.cancel is called. An error for good goes to failure, which has
// room for that of one source.
func (inf *Informer[T]) launchRanges(ctx context.Context, s *source[T], failure chan<- error) {
	ctx, s.cancel = context.WithCancel(ctx)
	s.ended = make(chan struct{})
	go func() {
		defer close(s.ended)
		defer s.cancel()
		if err := s.run(ctx, inf.applier.apply); err != nil {
			failure <- err
		}
	}()
}

// nextRanges returns what is to be read, and whether s, which may be nil, must be replaced
// for that now.
func (inf *Informer[T]) nextRanges(s *source[T]) (wanted hashSet, replace bool) {
	inf.applier.progress.mu.Lock()
	defer inf.applier.progress.mu.Unlock()
	wanted = inf.applier.progress.ranges.wanted
	if s == nil {
		return wanted, len(wanted) > 0
	}
	if len(wanted) == 0 {
		return nil, true
	}
	// One that is listing goes on: ranges that are added faster than a list takes would
	// else keep all of them from being listed.
	set := *s.set.Load()
	return wanted, !slices.Equal(set, wanted) && (s.listed || len(set) == 0)
}

// installRanges makes a source of set the only one. If set is empty, there is none.
func (inf *Informer[T]) installRanges(set hashSet) (*source[T], error) {
	inf.applier.mu.Lock()
	defer inf.applier.mu.Unlock()
	var sources []*source[T]
	var s *source[T]
	if len(set) > 0 {
		// Ranges may have been removed since set was read. What is added since comes next.
		set = inf.applier.progress.ranges.wanted
		if len(set) == 0 {
			inf.applier.progress.ranges.changed()
			return nil, nil
		}
		var err error
		if s, err = inf.newRangeSource(set); err != nil {
			return nil, err
		}
		if before := inf.applier.progress.sources; len(before) > 0 {
			s.rv, s.reached = before[0].rv, before[0].reached // how far the cache is
		}
		sources = []*source[T]{s}
	}
	inf.applier.setSources(sources)
	return s, nil
}
