package informer

import (
	"context"
	"sync"
)

// progress is how far the published cache has got, source by source, and the
// calls that wait for it to get further. It is updated after the snapshot and the
// log, so what a waiter was waiting for is in the snapshot that it finds.
type progress[T Object] struct {
	mu      sync.Mutex
	sources []*source[T] // those of the published cache, with their reached; never modified
	synced  bool         // all of them have listed, and Run was called
	waiting map[*waiter]struct{}
}

// position is how far the changes of one source are part of the cache.
type position struct {
	listed bool   // its first list is
	rv     string // the latest of them
}

// waiter is one call that waits. Its condition is evaluated with progress.mu held.
type waiter struct {
	condition func() (met bool, err error)
	ended     chan struct{} // closed when it is met, or cannot be any more
	err       error         // why it cannot; written before ended is closed
}

// publish notes where the sources are now and ends the waits that are met. It is
// called with applying held. Without waiters it costs a lock.
func (p *progress[T]) publish(sources []*source[T], synced bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sources, p.synced = sources, synced
	for _, s := range sources {
		s.reached = s.position
	}
	for w := range p.waiting {
		met, err := w.condition()
		if met || err != nil {
			w.err = err
			close(w.ended)
			delete(p.waiting, w)
		}
	}
}

// source returns the source that reads a namespace, or nil. It is called with mu
// held.
func (p *progress[T]) source(namespace string) *source[T] {
	for _, s := range p.sources {
		if s.namespace == "" || s.namespace == namespace {
			return s
		}
	}
	return nil
}

// wait waits until condition is met or fails, ctx ends, or stopped is closed.
func (p *progress[T]) wait(ctx context.Context, stopped <-chan struct{}, condition func() (bool, error)) error {
	w := &waiter{condition: condition, ended: make(chan struct{})}
	p.mu.Lock()
	met, err := condition()
	if met || err != nil {
		p.mu.Unlock()
		return err
	}
	if p.waiting == nil {
		p.waiting = map[*waiter]struct{}{}
	}
	p.waiting[w] = struct{}{}
	p.mu.Unlock()

	select {
	case <-w.ended:
		return w.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-stopped:
		err = ErrStopped
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, w)
	return err
}
