package informer

import (
	"fmt"
	"slices"

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
//
// Namespaces are read by requests of their own, as a list across namespaces needs a
// ClusterRole, and a Role in each namespace is what such a program has.
func NewNamespaced[T Object](sources map[string]reflector.ListerWatcher[T], opts Options[T]) (*Informer[T], error) {
	inf, err := newInformer(&opts)
	if err != nil {
		return nil, err
	}
	inf.newNamespaceSource = func(namespace string, lw reflector.ListerWatcher[T]) (*source[T], error) {
		return newSource(namespace, lw, inf.applier.store, &opts)
	}
	inf.applier.progress.namespaces = &coverage{namespaces: map[string]bool{}}
	for namespace, lw := range sources {
		if err := inf.AddNamespace(namespace, lw); err != nil {
			return nil, err
		}
	}
	return inf, nil
}

// AddNamespace adds a namespace, read by lw, to an informer that [NewNamespaced]
// made. Handlers get its objects as those of a first list. An
// informer that has synced stays so, but a handler that joins now is synced
// only when it has got the objects of this namespace too.
func (inf *Informer[T]) AddNamespace(namespace string, lw reflector.ListerWatcher[T]) error {
	switch {
	case inf.newNamespaceSource == nil:
		return fmt.Errorf("informer %q: it reads one source as a whole; use NewNamespaced for one that reads namespaces", inf.name)
	case namespace == "":
		return fmt.Errorf("informer %q: the namespace is empty; use New to read all of them", inf.name)
	case lw == nil:
		return fmt.Errorf("informer %q: the ListerWatcher of namespace %q is nil", inf.name, namespace)
	}
	s, err := inf.newNamespaceSource(namespace, lw)
	if err != nil {
		return fmt.Errorf("informer %q: namespace %q: %w", inf.name, namespace, err)
	}
	// The applier's mutex first, as everywhere. It keeps a batch from being published
	// between the check for the namespace and the change of the list.
	inf.applier.mu.Lock()
	defer inf.applier.mu.Unlock()
	inf.mu.Lock()
	defer inf.mu.Unlock()
	if inf.closed {
		return fmt.Errorf("informer %q: adding namespace %q: %w", inf.name, namespace, ErrStopped)
	}
	if slices.ContainsFunc(inf.applier.progress.sources, func(other *source[T]) bool { return other.namespace == namespace }) {
		return fmt.Errorf("informer %q: namespace %q was added before; remove it first", inf.name, namespace)
	}
	inf.applier.setSources(append(slices.Clone(inf.applier.progress.sources), s))
	if inf.launch != nil {
		inf.launch(s)
	}
	return nil
}

// RemoveNamespace ends the reading of a namespace and takes its objects out of
// the cache. Handlers get their deletions, with FinalStateUnknown and the origin
// [PartRemoved]. It returns false if the informer does not read that namespace.
func (inf *Informer[T]) RemoveNamespace(namespace string) bool {
	s := inf.endSource(namespace)
	return s != nil && inf.dropSource(s)
}

// endSource makes sure that the source of a namespace does not run, nor ever will.
// It keeps its place, so that the namespace cannot be added meanwhile.
func (inf *Informer[T]) endSource(namespace string) *source[T] {
	inf.mu.Lock()
	sources := inf.applier.progress.current()
	i := slices.IndexFunc(sources, func(s *source[T]) bool { return s.namespace == namespace })
	if i < 0 || inf.newNamespaceSource == nil {
		inf.mu.Unlock()
		return nil
	}
	s := sources[i]
	// Also if it does not run yet: runSources looks at it before it launches.
	s.removed = true
	running := s.cancel != nil
	// Waited for without mu, as the source may be in the middle of a batch. After this no
	// change of the namespace comes any more, so dropSource has the last word.
	if running {
		s.cancel()
	}
	inf.mu.Unlock()
	if running {
		<-s.ended
	}
	return s
}

// dropSource takes a source that has ended off the list, and its objects out of
// the cache. It returns false if a concurrent call has done so.
func (inf *Informer[T]) dropSource(s *source[T]) (dropped bool) {
	inf.applier.change(func() {
		before := inf.applier.progress.sources
		after := slices.DeleteFunc(slices.Clone(before), func(other *source[T]) bool { return other == s })
		if dropped = len(after) < len(before); dropped {
			// First: the version of the cache must not depend on a source that has ended, nor the
			// sync on a list of it that will never come.
			inf.applier.progress.setSources(after)
			inf.applier.progress.setListed(s) // what is found deleted is not part of a first list
			// An empty list of the namespace: handlers get one entry of the log, however many
			// objects there were.
			inf.applier.replace(s, nil, "")
		}
	})
	return dropped
}
