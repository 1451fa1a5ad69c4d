package sharding

import (
	"context"
	"errors"

	"github.com/informerkit/informerkit/workqueue"
)

// Causes for which the context of [Options].Work ends.
var (
	// ErrHandover means that the part is to be given up in an orderly way.
	ErrHandover = errors.New("sharding: the part is to be handed over")
	// ErrLost means that another replica may take the part soon, or has.
	ErrLost = errors.New("sharding: the part is lost: its session was not renewed in time, or was ended, or the record of the part was changed")
)

// Part is a part that a replica has.
type Part struct {
	// Index is the number of the part, from 0, of Parts in the group.
	Index, Parts int
	// Transitions is how many times the part was taken, this time included. It grows
	// with each owner: a token for a store that can refuse an older one.
	Transitions int

	ctx      context.Context //nolint:containedctx // the ownership is a span of time
	deadline *deadline
}

// Held reports whether the part is still held at this moment, by the local clock. If
// it has returned false it returns false for ever. It costs a clock read.
//
// A process that was paused for longer than the renew deadline finds out here, before
// anything else has noticed.
func (p *Part) Held() bool { return p.ctx.Err() == nil && p.deadline.ahead() }

// Context ends when the part is lost, with the cause [ErrLost], and when Work has
// returned. In a hand-over it goes on until then: it is for keys in progress.
func (p *Part) Context() context.Context { return p.ctx }

// Guard returns a function for [workqueue.ProcessWith] that calls fn only while the part
// is held, and with a context that ends, with the cause [ErrLost], when it is lost. A
// key that comes later is dropped without an error: the next owner of the part
// gets all of its keys from its first list, and so does this replica if it is the one.
// For that, each call of Work must fill a queue of its own, or add all keys of the part
// again. It adds the clock read of [Part.Held] to each key, and a context.
func Guard[T comparable](p *Part, fn func(context.Context, T) (workqueue.Result, error)) func(context.Context, T) (workqueue.Result, error) {
	return func(ctx context.Context, item T) (workqueue.Result, error) {
		if !p.Held() {
			return workqueue.Result{}, nil
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(p.ctx, func() { cancel(context.Cause(p.ctx)) })()
		return fn(ctx, item)
	}
}
