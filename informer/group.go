package informer

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/informerkit/informerkit/internal/object"
)

// Runnable is what a [Group] runs: an [Informer] of any type.
type Runnable interface {
	Syncable
	Run(ctx context.Context) error
}

// Group runs several informers and the work that needs them, in the order in which
// they depend on each other:
//
//	informers run ─▶ all are synced ─▶ work begins ─▶ ctx ends ─▶ work has ended ─▶ informers stop
//
// The last step is the one that is easily forgotten: a worker that is finishing must
// not find a cache that has stopped. A [Factory] has the same: [Factory.Run].
type Group struct{ informers []Runnable }

// NewGroup returns a group. It fails if there is nothing in it, nil, or the same
// informer twice.
func NewGroup(informers ...Runnable) (*Group, error) {
	if len(informers) == 0 {
		return nil, errors.New("informer: NewGroup: the group is empty; pass the informers that the work needs")
	}
	for i, inf := range informers {
		if object.IsNilPointer(inf) {
			return nil, fmt.Errorf("informer: NewGroup: informer %d is nil; pass one that New or NewNamespaced returned", i+1)
		}
		if reflect.ValueOf(inf).Comparable() && slices.Contains(informers[:i], inf) {
			return nil, fmt.Errorf("informer: NewGroup: informer %d is there twice; pass each informer once, as it runs once", i+1)
		}
	}
	return &Group{informers}, nil
}

// Run runs the informers, waits until all are synced, calls work, and stops the
// informers when it has returned, whatever it returned. The context of work ends
// with ctx, or when one of the informers fails. It runs once.
//
// Run returns the errors of the informers and of work. The end of ctx is none: before the
// sync Run returns nil, and after it nil or what work returned, unless that is the
// end of ctx itself. What was not synced in time is an error of [WaitForSync].
func (g *Group) Run(ctx context.Context, work func(ctx context.Context) error) error {
	if work == nil {
		return errNoWork
	}
	// The informers do not end with ctx but with stop, after work has returned.
	alive, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	whole := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	failures := make([]error, len(g.informers)+1)
	all := make([]Syncable, len(g.informers))
	for i, inf := range g.informers {
		all[i] = inf
		running.Go(func() {
			if failures[i] = inf.Run(alive); failures[i] != nil {
				// Work cannot be right on a cache that has stopped.
				cancel(failures[i])
			}
		})
	}
	failures[len(g.informers)] = runWork(ctx, whole, work, func() error { return WaitForSync(ctx, all...) })
	stop()
	running.Wait()
	return errors.Join(failures...)
}

// errNoWork is for a nil function.
var errNoWork = errors.New("informer: Run: the function is nil; pass what the informers are for, such as workqueue.Process")

// runWork calls work with ctx once wait has returned nil. The end of whole is no error.
func runWork(ctx, whole context.Context, work func(ctx context.Context) error, wait func() error) error {
	if err := wait(); err != nil {
		if whole.Err() != nil {
			return nil
		}
		return err
	}
	err := work(ctx)
	if whole.Err() != nil && isOnly(err, context.Cause(whole), whole.Err()) {
		return nil
	}
	return err
}

// isOnly reports whether err is one of these, perhaps with words around it, and nothing else as well.
func isOnly(err error, these ...error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if slices.Contains(these, err) {
			return true
		}
	}
	return false
}

// Run starts the factory, waits until all informers that were asked for so far are
// synced, calls work, and shuts the factory down when it has returned. So the
// caches are kept up to date until the last worker has ended. The errors are those of
// [Group.Run].
func (f *Factory) Run(ctx context.Context, work func(ctx context.Context) error) error {
	if work == nil {
		return errNoWork
	}
	f.Start(context.WithoutCancel(ctx))
	err := runWork(ctx, ctx, work, func() error { return f.WaitForSync(ctx) })
	return errors.Join(err, f.Shutdown(context.WithoutCancel(ctx)))
}
