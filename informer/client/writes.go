package client

import (
	"context"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/workqueue"
)

// Writes are the writes of one reconcile, as far as their caches have still to see them. Make one with
// [Collect]. All methods may be called concurrently.
type Writes struct {
	mu         sync.Mutex
	conditions []workqueue.Condition
	created    []func() bool // whether the cache has an object that was created
}

// writesKey is the key of a *Writes in a context.
type writesKey struct{}

// Collect returns a context for a reconcile, and what the clients that have a Cache write with it:
//
//	ctx, writes := client.Collect(ctx)
//	... // pods.Create(ctx, …), status.Update(ctx, …)
//	return workqueue.Result{Until: writes.Seen(), Hold: true}, nil
//
// The key is then processed again only once the caches contain all of it, so the next reconcile
// sees what this one has done. Hold, because the events of the writes queue the key anyway, and a write that
// changed nothing needs no other call; see also [Writes.Unseen]. The context is for this reconcile alone.
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

// Unseen reports whether a cache lacks an object that was created. Once Seen is met this
// means that the object was deleted before the cache saw it: no event tells of that.
func (w *Writes) Unseen() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.created, func(has func() bool) bool { return !has() })
}

// written sends a request that writes, and notes its result.
func (c *Client[T]) written(ctx context.Context, call call) (T, error) {
	obj, created, err := c.object(ctx, call)
	if err == nil {
		c.note(ctx, obj, created)
	}
	return obj, err
}

// note adds a write to those of the context.
func (c *Client[T]) note(ctx context.Context, written metav1.Object, created bool) {
	w, cache := writesOf(ctx), c.opts.Cache
	if w == nil || cache == nil {
		return
	}
	if written.GetUID() == "" {
		return // the server does not say what it was
	}
	seen := cache.Seen(written)
	if seen == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conditions = append(w.conditions, seen)
	if key, uid := object.KeyOf(written), written.GetUID(); created {
		w.created = append(w.created, func() bool {
			cached, ok := cache.Find(key)
			return ok && cached.GetUID() == uid
		})
	}
}
