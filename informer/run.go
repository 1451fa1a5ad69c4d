package informer

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/reflector"
)

// Run lists, watches, applies and notifies until ctx ends. Then no new call of a
// handler starts, Run waits for those that are running, and returns nil.
// Undelivered events are dropped. The cache stays readable.
//
// An informer runs once; a second Run returns [ErrRunning]. Any other error
// means that the source cannot be reflected at all.
func (inf *Informer[T]) Run(ctx context.Context) error {
	if !inf.begin() {
		return ErrRunning
	}
	defer close(inf.done)
	var err error
	if inf.namespaced || inf.newSelected != nil {
		err = inf.runSources(ctx)
	} else {
		// In this goroutine: an idle informer needs no other.
		err = inf.applier.progress.current()[0].run(ctx, inf.applier.apply)
	}
	err = inf.named(err)
	inf.stop(err) // no source applies anything any more
	return err
}

// begin notes that the informer is running. It returns false if it did before.
func (inf *Informer[T]) begin() bool {
	// start checks and notes under one lock: of two concurrent calls, one fails.
	if !inf.applier.start() {
		return false
	}
	if inf.metrics != nil { // without a lock, as it may ask for Health
		m := inf.metrics.Informer(inf.name, inf.Health)
		inf.applier.setMetrics(m)
	}
	return true
}

// stop ends everything that depends on the informer, and waits for handlers. Failure is
// what Run will return.
func (inf *Informer[T]) stop(failure error) {
	// First the log, so that no runner finds another record. Then closed, so that no handler
	// is added behind the back of the list that is taken here.
	inf.applier.events.Close()
	inf.mu.Lock()
	inf.closed = true
	handlers := slices.Clone(inf.handlers)
	inf.mu.Unlock()
	// Before the handlers are waited for: one of them may be in a WaitFor of this informer.
	inf.applier.progress.stop(failure)
	// All are stopped before the first is waited for, so that they end side by side.
	for _, r := range handlers {
		r.stop()
	}
	for _, r := range handlers {
		<-r.gone
	}
	if m := inf.applier.setMetrics(nil); m != nil { // a namespace may still be removed, which must not be counted
		m.Close()
	}
}

// runSources runs the sources until ctx ends or one of them fails for good: one per namespace,
// those that are added later included, or that of a [Selection], which is replaced when it is
// stale.
func (inf *Informer[T]) runSources(ctx context.Context) (err error) {
	selection := inf.applier.progress.selection
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	inf.applier.change(func() { // if nothing is read, this is the sync
		if inf.filled {
			inf.applier.dropUnread()
		}
	})
	failed := make(chan error, 1)
	inf.mu.Lock()
	inf.launch = func(s *source[T]) { inf.runSource(ctx, s, failed) }
	for _, s := range inf.applier.progress.current() {
		if !s.removed {
			inf.launch(s)
		}
	}
	inf.mu.Unlock()

	var changed <-chan struct{}
	if selection != nil {
		changed = selection.Changed()
	}
	// Without sources there is nothing to wait for but ctx: one may be added later.
	for err == nil && ctx.Err() == nil {
		if selection != nil {
			if err = inf.replaceStale(selection); err != nil {
				break
			}
		}
		select {
		case <-changed:
		case err = <-failed:
		case <-ctx.Done():
		}
	}
	inf.mu.Lock()
	// With mu held, before the wait: no source may be launched once it has begun.
	inf.launch = nil
	inf.closed = true
	inf.mu.Unlock()
	cancel()
	for _, s := range inf.applier.progress.current() {
		if s.ended != nil {
			<-s.ended
		}
	}
	return err
}

// runSource runs a source in a goroutine, until s.cancel is called. If it fails for good, failed
// gets the error, unless another source has failed before. The informer's mu is held.
func (inf *Informer[T]) runSource(ctx context.Context, s *source[T], failed chan<- error) {
	ctx, cancel := context.WithCancel(ctx)
	// Set with mu held: endSource, which reads them, finds both or neither.
	s.cancel, s.ended = cancel, make(chan struct{})
	go func() {
		defer close(s.ended)
		defer cancel()
		if err := s.run(ctx, inf.applier.apply); err != nil {
			select {
			case failed <- fmt.Errorf("%s%w", s.where(), err):
			default:
			}
		}
	}()
}

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
	inf.namespaced = true
	inf.applier.progress.namespaces = func(metav1.Object) bool { return false }
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
	case !inf.namespaced:
		return fmt.Errorf("informer %q: it reads one source as a whole; use NewNamespaced for one that reads namespaces", inf.name)
	case namespace == "":
		return fmt.Errorf("informer %q: the namespace is empty; use New to read all of them", inf.name)
	case lw == nil:
		return fmt.Errorf("informer %q: the ListerWatcher of namespace %q is nil", inf.name, namespace)
	}
	s, err := inf.newSource(namespace, lw)
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
	if i < 0 || !inf.namespaced {
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
