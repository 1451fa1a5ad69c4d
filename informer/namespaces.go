package informer

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/informerkit/informerkit/reflector"
)

// NewNamespaced returns an informer whose cache is the union of some namespaces,
// each read by a source of its own, for a program that may not read all of them
// or does not want to. More may be added, and some removed, while it runs; it
// may begin with none.
//
// The keys of the map are the namespaces, and each source must read only its
// own. [Informer.WaitForObject] and [Informer.WaitForDeleted] wait for that of the
// object, [Informer.WaitForResourceVersion] for all of them or for those named.
func NewNamespaced[T Object](sources map[string]reflector.ListerWatcher[T], opts Options[T]) (*Informer[T], error) {
	inf, err := newInformer(opts)
	if err != nil {
		return nil, err
	}
	inf.namespaced = true
	for namespace, lw := range sources {
		if err := inf.AddNamespace(namespace, lw); err != nil {
			return nil, err
		}
	}
	return inf, nil
}

// AddNamespace adds a namespace, read by lw, to an informer that [NewNamespaced]
// made. Handlers are told of its objects as of those of a first list. An
// informer that has synced stays so, but a handler that joins now is synced
// only when it has been told of this namespace too.
func (inf *Informer[T]) AddNamespace(namespace string, lw reflector.ListerWatcher[T]) error {
	switch {
	case !inf.namespaced:
		return fmt.Errorf("informer %q: it reads one source as a whole; use NewNamespaced for one that reads namespaces", inf.name)
	case namespace == "":
		return fmt.Errorf("informer %q: the namespace is empty; use New to read all of them", inf.name)
	case lw == nil:
		return fmt.Errorf("informer %q: the ListerWatcher of namespace %q is nil", inf.name, namespace)
	}
	s, err := newSource(inf, namespace, lw)
	if err != nil {
		return fmt.Errorf("informer %q: namespace %q: %w", inf.name, namespace, err)
	}
	inf.applying.Lock()
	defer inf.applying.Unlock()
	inf.mu.Lock()
	defer inf.mu.Unlock()
	if inf.closed {
		return fmt.Errorf("informer %q: adding namespace %q: %w", inf.name, namespace, ErrStopped)
	}
	for _, other := range inf.sources {
		if other.namespace == namespace {
			return fmt.Errorf("informer %q: namespace %q was added before; remove it first", inf.name, namespace)
		}
	}
	inf.sources = append(slices.Clone(inf.sources), s)
	inf.events.Append(nil, view[T]{snap: inf.store.Snapshot()}) // for handlers that join now, not synced
	inf.progress.publish(inf.sources, false)
	if inf.launch != nil {
		inf.launch(s)
	}
	return nil
}

// RemoveNamespace ends the reading of a namespace and takes its objects out of
// the cache. Handlers are told that they are deleted, with FinalStateUnknown. It
// returns false if the informer does not read that namespace.
func (inf *Informer[T]) RemoveNamespace(namespace string) bool {
	s := inf.end(namespace)
	return s != nil && inf.drop(s)
}

// end makes sure that the source of a namespace does not run, nor ever will. It
// keeps its place, so that the namespace cannot be added meanwhile.
func (inf *Informer[T]) end(namespace string) *source[T] {
	inf.mu.Lock()
	var s *source[T]
	for _, other := range inf.sources {
		if other.namespace == namespace && inf.namespaced {
			s = other
		}
	}
	if s == nil {
		inf.mu.Unlock()
		return nil
	}
	s.removed = true
	running := s.cancel != nil
	if running {
		s.cancel()
	}
	inf.mu.Unlock()
	if running {
		<-s.ended
	}
	return s
}

// drop takes a source that has ended off the list, and its objects out of the
// cache. It returns false if somebody else has.
func (inf *Informer[T]) drop(s *source[T]) bool {
	removed := false
	inf.change(func(a *applier[T]) {
		inf.mu.Lock()
		n := len(inf.sources)
		inf.sources = slices.DeleteFunc(slices.Clone(inf.sources), func(other *source[T]) bool { return other == s })
		removed = len(inf.sources) < n
		inf.mu.Unlock()
		if removed {
			s.listed = true // what is found gone is not part of a first list
			a.replace(s, nil, "")
		}
	})
	return removed
}

// runSources runs one source per namespace, those that are added later included,
// until ctx ends or one of them fails for good.
func (inf *Informer[T]) runSources(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var failure error
	var failed sync.Once
	var wg sync.WaitGroup
	launch := func(s *source[T]) {
		stop := cancel
		ctx, cancel := context.WithCancel(ctx)
		s.cancel, s.ended = cancel, make(chan struct{})
		wg.Go(func() {
			defer close(s.ended)
			defer cancel()
			if err := s.run(ctx); err != nil {
				failed.Do(func() { failure = fmt.Errorf("namespace %q: %w", s.namespace, err) })
				stop()
			}
		})
	}
	inf.change(func(a *applier[T]) { // without namespaces, this is the sync
		if inf.seeded {
			a.dropUnread()
		}
	})
	inf.mu.Lock()
	inf.launch = launch
	for _, s := range inf.sources {
		if !s.removed {
			launch(s)
		}
	}
	inf.mu.Unlock()

	<-ctx.Done()
	inf.mu.Lock()
	inf.launch = nil
	inf.closed = true
	inf.mu.Unlock()
	wg.Wait()
	return failure
}
