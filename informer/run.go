package informer

import (
	"context"
	"fmt"
	"slices"
	"sync"
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
	defer inf.done.close()
	var err error
	// Both return only when no source applies anything any more.
	switch {
	case inf.newNamespaceSource != nil:
		err = inf.runSources(ctx)
	case inf.filter != nil:
		err = inf.runRanges(ctx)
	default:
		err = inf.applier.progress.current()[0].run(ctx, inf.applier.apply)
	}
	err = inf.named(err)
	inf.stop(err)
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
		<-r.gone.wait()
	}
	if m := inf.applier.setMetrics(nil); m != nil { // a namespace may still be removed, which must not be counted
		m.Close()
	}
}

// runSources runs one source per namespace, those that are added later included,
// until ctx ends or one of them fails for good.
func (inf *Informer[T]) runSources(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var failure error
	var failed sync.Once
	var wg sync.WaitGroup
	launch := func(s *source[T]) { // with mu held
		// The outer cancel: a source that fails for good ends the informer, not only itself.
		stop := cancel
		ctx, cancel := context.WithCancel(ctx)
		// Set with mu held: endSource, which reads them, finds both or neither.
		s.cancel, s.ended = cancel, make(chan struct{})
		wg.Go(func() {
			defer close(s.ended)
			defer cancel()
			if err := s.run(ctx, inf.applier.apply); err != nil {
				// The first failure is the cause; those that follow from the cancel are not.
				failed.Do(func() { failure = fmt.Errorf("namespace %q: %w", s.namespace, err) })
				stop()
			}
		})
	}
	inf.applier.change(func() { // without namespaces, this is the sync
		if inf.filled {
			inf.applier.dropUnread()
		}
	})
	inf.mu.Lock()
	inf.launch = launch
	for _, s := range inf.applier.progress.current() {
		if !s.removed {
			launch(s)
		}
	}
	inf.mu.Unlock()

	// Without namespaces there is nothing to wait for but ctx: one may be added later.
	<-ctx.Done()
	inf.mu.Lock()
	// With mu held, before Wait: no source may be launched once the wait has begun.
	inf.launch = nil
	inf.closed = true
	inf.mu.Unlock()
	wg.Wait()
	return failure
}
