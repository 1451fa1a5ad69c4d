package informer

import (
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
		s, err := inf.newSource("", listerWatcher(selected))
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

// replaceStale makes a source of what is selected now the only one, if the present one is stale.
// It is none if nothing is selected.
func (inf *Informer[T]) replaceStale(selection Selection) (err error) {
	a := inf.applier
	var before, s *source[T] // nil: none
	var selected any
	listed := false
	a.progress.mu.Lock()
	if sources := a.progress.sources; len(sources) > 0 {
		before = sources[0]
		selected, listed = before.selected, before.listed
	}
	stale := selection.Stale(selected, listed)
	a.progress.mu.Unlock()
	if !stale {
		return nil
	}
	// First: of two sources of one cache, the list of one would undo what the other has
	// applied. After this, nothing of the old one is applied any more.
	if before != nil {
		before.cancel()
		<-before.ended
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var sources []*source[T]
	if selected = selection.Begin(); selected != nil {
		if s, err = inf.newSelected(selected); err != nil {
			return err
		}
		if before != nil {
			s.rv, s.reached = before.rv, before.reached // how far the cache is
			s.unreadable.inherit(&before.unreadable)
		}
		sources = []*source[T]{s}
	}
	a.setSources(sources)
	if s != nil {
		inf.mu.Lock()
		defer inf.mu.Unlock()
		inf.launch(s)
	}
	return nil
}
