package informer

import (
	"context"
	"fmt"

	"github.com/informerkit/informerkit/reflector"
)

// Selected changes what an informer reads that has a [Selection].
type Selected[T Object] struct{ Informer *Informer[T] }

// NewSelected returns an informer of what selection selects. ListerWatcher returns
// the source of what Begin has returned, which sends its selectors and may leave out other objects.
func NewSelected[T Object](selection Selection, listerWatcher func(source any) reflector.ListerWatcher[T], opts Options[T]) (Selected[T], error) {
	inf, err := newInformer(&opts)
	if err != nil {
		return Selected[T]{}, err
	}
	inf.newSelected = func(selected any) (*source[T], error) {
		s, err := newSource("", listerWatcher(selected), inf.applier.store, inf.applier.progress.recheck, &opts)
		if err == nil {
			s.selected = selected
		}
		return s, err
	}
	inf.applier.progress.selection = selection
	// It is thrown away: what is wrong with the options is to be found here, rather than
	// when the first source begins.
	_, err = inf.newSelected(selection.Begin())
	return Selected[T]{inf}, inf.named(err)
}

// Widen calls f, which may add to the selection, between two batches of changes. Handlers that
// join from now on are synced when they have the objects of what was added too. It returns the error
// of f, or [ErrStopped].
func (s Selected[T]) Widen(f func() error) error {
	a := s.Informer.applier
	a.mu.Lock()
	defer a.mu.Unlock()
	s.Informer.mu.Lock()
	defer s.Informer.mu.Unlock()
	if s.Informer.closed {
		return s.Informer.named(fmt.Errorf("more cannot be read: %w", ErrStopped))
	}
	a.progress.mu.Lock()
	err := f()
	a.progress.mu.Unlock()
	a.setSources(a.progress.sources) // for handlers that join: there is more to wait for
	return s.Informer.named(err)
}

// Narrow calls f, which may take something from the selection. When it returns, the objects that
// are not selected any more have left the cache, and no change that was under way brings
// one back. Handlers get their deletions, with FinalStateUnknown and the origin
// [PartRemoved]. It takes a time in proportion to the objects in the cache.
func (s Selected[T]) Narrow(f func()) {
	a := s.Informer.applier
	a.change(func() {
		a.progress.mu.Lock()
		f()
		a.progress.mu.Unlock()
		a.dropUnread()
	})
}

// runSelected runs the source of what is selected, and replaces it when it is stale, until ctx
// ends or a source fails for good.
func (inf *Informer[T]) runSelected(ctx context.Context) error {
	p := inf.applier.progress
	inf.applier.change(func() { // if nothing is selected, this is the sync
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
		p.mu.Lock()
		stale := s == nil && p.selection.Stale(nil, false) || s != nil && p.selection.Stale(s.selected, s.listed)
		p.mu.Unlock()
		if stale {
			// First: of two sources of one cache, the list of one would undo what the other has
			// applied. After this, nothing of the old one is applied any more.
			end()
			var err error
			if s, err = inf.beginSelected(); err != nil {
				return err
			}
			if s != nil {
				inf.launchSelected(ctx, s, failure)
			}
		}
		select {
		case <-p.selection.Changed():
		case err := <-failure:
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

// beginSelected makes a source of what is selected now the only one; nil if that is nothing.
func (inf *Informer[T]) beginSelected() (s *source[T], err error) {
	a := inf.applier
	a.mu.Lock()
	defer a.mu.Unlock()
	var sources []*source[T]
	if selected := a.progress.selection.Begin(); selected != nil {
		if s, err = inf.newSelected(selected); err != nil {
			return nil, err
		}
		if before := a.progress.sources; len(before) > 0 {
			s.rv, s.reached = before[0].rv, before[0].reached // how far the cache is
			s.unreadable.inherit(&before[0].unreadable)
		}
		sources = []*source[T]{s}
	}
	a.setSources(sources)
	return s, nil
}

// launchSelected runs s until s.cancel is called. An error for good goes to failure, which has
// room for that of one source.
func (inf *Informer[T]) launchSelected(ctx context.Context, s *source[T], failure chan<- error) {
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
