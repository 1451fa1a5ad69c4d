package client

import (
	"context"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/workqueue"
)

// Writes are the writes of one reconcile, as far as their caches have still to see them. Make one with
// [Collect]. All methods may be called concurrently.
type Writes struct {
	mu         sync.Mutex
	conditions []workqueue.Condition
}

// writesKey is the key of a *Writes in a context.
type writesKey struct{}

// Collect returns a context for a reconcile, and what the clients that have a Cache write with it:
//
//	ctx, writes := client.Collect(ctx)
//	... // pods.Create(ctx, …), status.Update(ctx, …)
//	return workqueue.Result{Until: writes.Seen()}, nil
//
// The key is then processed again only once the caches contain all of it, so the next reconcile
// sees what this one has done. The context is for this reconcile alone.
func Collect(ctx context.Context) (context.Context, *Writes) {
	w := &Writes{}
	return context.WithValue(ctx, writesKey{}, w), w
}

// writesOf returns what collects the writes of a context, or nil.
func writesOf(ctx context.Context) *Writes {
	w, _ := ctx.Value(writesKey{}).(*Writes)
	return w
}

// Seen returns the condition that the caches contain everything that was written so far;
// nil, which is no condition, if nothing was.
func (w *Writes) Seen() workqueue.Condition {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.conditions) == 0 {
		return nil
	}
	return workqueue.All(slices.Clone(w.conditions)...)
}

// Len returns how many writes there are.
func (w *Writes) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.conditions)
}

// collect returns a function that notes a write that has succeeded, and passes its results on.
func (c *Client[T]) collect(ctx context.Context) func(T, error) (T, error) {
	return func(obj T, err error) (T, error) {
		if err == nil {
			c.note(ctx, obj)
		}
		return obj, err
	}
}

// note adds a write to those of the context.
func (c *Client[T]) note(ctx context.Context, written metav1.Object) {
	w := writesOf(ctx)
	if w == nil || c.opts.Cache == nil {
		return
	}
	if seen := c.opts.Cache.Seen(written); seen != nil {
		w.mu.Lock()
		w.conditions = append(w.conditions, seen)
		w.mu.Unlock()
	}
}
