package informer

import (
	"context"
	"fmt"
	"log/slog"
)

// Registration is a handler's membership in an informer. Its methods may be
// called from any goroutine.
type Registration struct {
	runner       interface{ stop() } // a *runner[T] of some T
	name         string
	synced, gone *signal // of the runner
	whyUnsynced  func() error
	whyEnded     func() error // what the informer's Run returned
	log          *slog.Logger
}

// Name returns the name that the options gave.
func (r *Registration) Name() string { return r.name }

// Synced returns a channel that is closed when the handler has been called with
// every object of the informer's first list, or, if it joined later, of every
// object that the cache held then, and has returned from the last of these calls.
// The calls for later changes may wait for it; those for the first objects must
// not.
func (r *Registration) Synced() <-chan struct{} { return r.synced.wait() }

// HasSynced reports whether the channel of Synced is closed.
func (r *Registration) HasSynced() bool { return r.synced.isClosed() }

// Done returns a channel that is closed when the handler has been removed, or
// the informer has stopped, and no call of the handler is running.
func (r *Registration) Done() <-chan struct{} { return r.gone.wait() }

// Unsynced returns why the handler is not synced yet, or nil if it is.
func (r *Registration) Unsynced() error {
	if r.HasSynced() {
		return nil
	}
	return r.whyUnsynced()
}

// Remove ends the membership. After it returns at most one more call of the
// handler is seen: the one that was being made at that moment, which may be about
// to begin or running, and is neither waited for nor stopped. What was not
// delivered is dropped. Where no call may be running, use RemoveAndWait. Remove may
// be called more than once, and from within the handler.
func (r *Registration) Remove() { r.runner.stop() }

// RemoveAndWait is Remove, and then waits until no call of the handler is
// running. It returns the context's error if that ends first; the handler is
// removed all the same.
//
// Do not call it from within the handler: it would wait for itself until ctx ends.
// The same holds for two handlers that wait for each other.
func (r *Registration) RemoveAndWait(ctx context.Context) error {
	r.Remove()
	// If ctx has ended as well, the fact that no call is running is worth more.
	if r.gone.isClosed() {
		return nil
	}
	select {
	case <-r.gone.wait():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("informer: handler %q is removed, but a call of it is still running; is RemoveAndWait called from within the handler? %w", r.name, context.Cause(ctx))
	}
}
