package informer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// ErrInCallback is returned by [Registration.RemoveAndWait] when it is called
// from within a handler.
var ErrInCallback = errors.New("informer: the handler is removed, but a handler cannot wait for handlers; call RemoveAndWait from another goroutine if you need to wait")

// DefaultBound is how many events may wait for a handler before it is made to
// catch up, if its options do not say otherwise.
const DefaultBound = 4096

// Overflow says what happens when more events wait for a handler than its bound.
type Overflow uint8

const (
	// Coalesce lets the handler catch up: instead of the events that wait it is
	// told of the difference between what it knows and the cache, one event per
	// object that differs (two if another object has taken the name), with the
	// origin [CatchUp]. Its memory is bounded by the number of changed objects.
	Coalesce Overflow = iota
	// Lossless keeps every event for as long as it takes. There is no bound: a
	// handler that stalls for ever makes the log grow for ever.
	Lossless
)

// HandlerOptions configures one registration. The zero value is good.
type HandlerOptions struct {
	// Name is for logs, errors, health and metrics. The default is "handler-1",
	// "handler-2" and so on. It need not be unique.
	Name string
	// ResyncPeriod, if positive, tells the handler of every object again once in
	// each period after it has synced, as an [Updated] of the origin [Resync].
	// The objects are spread over the period; each has its own exact turn.
	// The least period is a second.
	ResyncPeriod time.Duration
	// Bound is how many events may wait beyond those at hand, rounded up to a
	// chunk of the log (256 events, or one larger batch). 0 is [DefaultBound].
	// It cannot be combined with Lossless.
	Bound int
	// Overflow is what happens beyond Bound.
	Overflow Overflow
	// OnPanic, if set, is called when the handler panics, and the handler goes
	// on with the next event. If nil, the panic ends the process, like any other.
	OnPanic func(HandlerPanic)
}

// complete checks the options and fills in the defaults.
func (o *HandlerOptions) complete(n int) error {
	switch {
	case o.ResyncPeriod < 0 || o.ResyncPeriod > 0 && o.ResyncPeriod < minResyncStep:
		return fmt.Errorf("informer: ResyncPeriod is %v; use 0 for no resync, or at least %v", o.ResyncPeriod, minResyncStep)
	case o.Bound < 0:
		return fmt.Errorf("informer: Bound is %d; use 0 for the default, or Overflow: Lossless for none", o.Bound)
	case o.Overflow > Lossless:
		return fmt.Errorf("informer: unknown Overflow %d; use Coalesce or Lossless", o.Overflow)
	case o.Overflow == Lossless && o.Bound > 0:
		return errors.New("informer: a Lossless handler has no Bound; set one of the two")
	}
	if o.Overflow == Coalesce && o.Bound == 0 {
		o.Bound = DefaultBound
	}
	if o.Name == "" {
		o.Name = fmt.Sprintf("handler-%d", n)
	}
	return nil
}

// Registration is a handler's membership in an informer. Its methods may be
// called from any goroutine.
type Registration struct {
	d interface {
		stop()
		why() error
		logger() *slog.Logger
	}
	name         string
	synced, gone chan struct{}
}

// Name returns the name that the options gave.
func (r *Registration) Name() string { return r.name }

// Synced returns a channel that is closed when the handler has been told of
// every object of the informer's first list, or, if it joined later, of every
// object that the cache held then, and has returned from the last of these calls.
// The calls for later changes may wait for it; those for the first objects must
// not.
func (r *Registration) Synced() <-chan struct{} { return r.synced }

// HasSynced reports whether the channel of Synced is closed.
func (r *Registration) HasSynced() bool { return isClosed(r.synced) }

// Done returns a channel that is closed when the handler has been removed, or
// the informer has stopped, and no call of the handler is running.
func (r *Registration) Done() <-chan struct{} { return r.gone }

// Unsynced returns why the handler is not synced yet, or nil if it is.
func (r *Registration) Unsynced() error {
	if r.HasSynced() {
		return nil
	}
	return r.d.why()
}

// Remove ends the membership. After it returns at most one more call of the
// handler is seen: the one that was being made at that moment, which may be about
// to begin or running, and is neither waited for nor stopped. What was not
// delivered is dropped. Where no call may be running, use RemoveAndWait. Remove may
// be called more than once, and from within the handler.
func (r *Registration) Remove() { r.d.stop() }

// RemoveAndWait is Remove, and then waits until no call of the handler is
// running. It returns the context's error if that ends first; the handler is
// removed all the same.
//
// From within a handler, its own or another one, it does not wait, as that could
// last for ever: it removes and returns [ErrInCallback] at once. (It cannot
// notice a handler that waits for a goroutine which waits here.)
func (r *Registration) RemoveAndWait(ctx context.Context) error {
	r.Remove()
	if isClosed(r.gone) {
		return nil
	}
	if inCallback() {
		return ErrInCallback
	}
	select {
	case <-r.gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("informer: handler %q is removed, but a call of it is still running: %w", r.name, context.Cause(ctx))
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
