package sharding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/reflector"
)

// Factory is an [informer.Factory] whose informers of [For] read ranges of hashes, the same for
// all. Those of [informer.For], for what every replica needs, read everything.
type Factory struct {
	*informer.Factory

	mu     sync.Mutex
	ranges []HashRange
	ranged []*reader // those that are in use
}

// reader is a Ranged of some type, and how many have it.
type reader struct {
	RangeReader
	done  <-chan struct{} // that of the informer, which tells it from others
	users int
}

// NewFactory returns a factory for the API server that cfg describes. It reads no range yet,
// and makes no request.
func NewFactory(cfg *rest.Config, opts informer.FactoryOptions) (*Factory, error) {
	f, err := informer.NewFactory(cfg, opts)
	return &Factory{Factory: f}, err
}

// Shared is a reference to an informer of a [Factory].
type Shared[T informer.Object] struct {
	informer.Shared[T]
	key     HashKey
	release func()
}

// HashKey returns what is hashed.
func (s *Shared[T]) HashKey() HashKey { return s.key }

// Release gives the reference back, as that of an [informer.Shared].
func (s *Shared[T]) Release() { s.release() }

// For returns the factory's informer of T, as [informer.For] does, which reads the ranges of
// the factory. Key is what is hashed: with HashUID for owners and HashOwner for what they own, a
// replica has both.
func For[T informer.Object](f *Factory, key HashKey, opts informer.ForOptions[T]) (*Shared[T], error) {
	if f == nil {
		return nil, errors.New("sharding: the factory is nil; make one with NewFactory")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var made *Ranged[T]
	opts.Layer = informer.Layer[T]{Name: key.String(), New: func(lw reflector.ListerWatcher[T], o informer.Options[T]) (*informer.Informer[T], error) {
		inf, err := NewRanged(lw, key, o)
		if err == nil {
			err = inf.AddRanges(f.ranges...)
		}
		if err != nil {
			return nil, err
		}
		made = inf
		return inf.Informer, nil
	}}
	shared, err := informer.For(f.Factory, opts)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(f.ranged, func(r *reader) bool { return r.done == shared.Done() })
	if i < 0 {
		i = len(f.ranged)
		f.ranged = append(f.ranged, &reader{RangeReader: made, done: shared.Done()})
	}
	r := f.ranged[i]
	r.users++
	return &Shared[T]{shared, key, sync.OnceFunc(func() {
		f.mu.Lock()
		if r.users--; r.users == 0 {
			f.ranged = slices.DeleteFunc(f.ranged, func(other *reader) bool { return other == r })
		}
		f.mu.Unlock()
		shared.Release()
	})}, nil
}

// AddRanges makes all informers of [For] read these ranges of hashes too: those that exist,
// and those that will be asked for; see [Ranged.AddRanges]. It fails, and adds none, if one of
// them is empty or overlaps with another one.
func (f *Factory) AddRanges(ranges ...HashRange) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	// Checked for all at once, so that all informers have the same ranges.
	all := slices.Concat(f.ranges, ranges)
	if err := newSelection(newFilter(HashUID)).add(all); err != nil {
		return fmt.Errorf("sharding: %w", err)
	}
	stopped := 0
	for _, r := range f.ranged {
		switch err := r.AddRanges(ranges...); {
		case errors.Is(err, informer.ErrStopped):
			stopped++ // one that has stopped by itself needs no range: For replaces it
		case err != nil:
			return err
		}
	}
	if stopped > 0 && stopped == len(f.ranged) {
		return fmt.Errorf("sharding: adding ranges: all informers of the factory have stopped: %w", informer.ErrStopped)
	}
	f.ranges = all
	return nil
}

// RemoveRanges makes all informers of [For] stop reading these ranges: their objects have left the
// caches when it returns; see [Ranged.RemoveRanges]. It returns false if the
// factory did not have one of them.
func (f *Factory) RemoveRanges(ranges ...HashRange) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := true
	for _, one := range ranges {
		all = all && slices.Contains(f.ranges, one)
	}
	f.ranges = slices.DeleteFunc(slices.Clone(f.ranges), func(one HashRange) bool { return slices.Contains(ranges, one) })
	// It waits for nothing, so mu may be held.
	for _, r := range f.ranged {
		r.RemoveRanges(ranges...)
	}
	return all
}

// WaitForRanges waits until these ranges, or all, are in the caches of all informers that
// were asked for by [For] so far; see [Ranged.WaitForRanges].
func (f *Factory) WaitForRanges(ctx context.Context, ranges ...HashRange) error {
	f.mu.Lock()
	readers := slices.Clone(f.ranged)
	f.mu.Unlock()
	for _, r := range readers {
		if err := r.WaitForRanges(ctx, ranges...); err != nil {
			return err
		}
	}
	return nil
}
