package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/workqueue"
	"github.com/informerkit/informerkit/workqueue/history"
)

// later is the priority class of objects that have not changed: those of the first list and of a
// resync. A change does not wait until thousands of them are processed; they wait for
// changes a minute at most.
const later = 1

// work is one term: a queue, handlers that fill it, workers that empty it. What a term leaves in its
// queue is the business of the next leader, whose handlers get all objects from the cache.
func (c *Controller) work(ctx context.Context, term Term, opts workqueue.ProcessOptions[types.NamespacedName], reconcile Reconcile) error {
	q := workqueue.NewRateLimiting(c.opts.Limiter, workqueue.Options[types.NamespacedName]{
		Name: c.opts.Name, MaxWait: []time.Duration{0, time.Minute}, Metrics: c.opts.Metrics,
		Observe: history.Queue[types.NamespacedName](c.opts.History, c.opts.Name),
	})
	c.queue.Store(q)
	for _, fill := range c.sources {
		r, err := fill(q)
		if err != nil {
			return err
		}
		defer r.Remove()
	}
	return workqueue.ProcessWith(ctx, q, opts, func(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
		return c.reconcile(ctx, q, term, key, reconcile)
	})
}

// reconcile calls the user's function for a key. The key is processed again only when the caches have
// seen what it has written, also if it failed after that.
func (c *Controller) reconcile(ctx context.Context, q *queue, term Term, key types.NamespacedName, reconcile Reconcile) (workqueue.Result, error) {
	if !term.Held() {
		return workqueue.Result{}, nil // another replica does it
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	lost := term.Context()
	defer context.AfterFunc(lost, func() { cancel(context.Cause(lost)) })()
	ctx, writes := client.Collect(ctx)
	result, err := reconcile(ctx, key)
	if seen := writes.Seen(); seen != nil {
		result.Hold = result.Hold || result.Until == nil // a change has an event; what changed nothing is no reason for another call
		result.Until = workqueue.All(result.Until, seenWrites{seen, writes, func() { q.Add(key) }})
	}
	return result, err
}

// seenWrites is the condition of a reconcile's writes. It adds the key if there is no event that does.
type seenWrites struct {
	workqueue.Condition
	writes *client.Writes
	add    func()
}

func (s seenWrites) Register(met func()) (cancel func()) {
	stop := s.Condition.Register(func() {
		if s.writes.Unseen() { // and so there will be no event
			s.add()
		}
		met()
	})
	return func() {
		// A key is parked for a minute at most; a cache may be cut off for longer.
		if stop != nil && !s.writes.Unseen() {
			stop()
		}
	}
}

// Stats returns the figures of the queue. They are zero until this replica has led: it has no queue before.
func (c *Controller) Stats() workqueue.Stats {
	if q := c.queue.Load(); q != nil {
		return q.Stats()
	}
	return workqueue.Stats{}
}

// Inspect returns what is in the queue, for a page of package inspect.
func (c *Controller) Inspect(limit int, only ...types.NamespacedName) workqueue.Inspection[types.NamespacedName] {
	if q := c.queue.Load(); q != nil {
		return q.Inspect(limit, only...)
	}
	return workqueue.Inspection[types.NamespacedName]{Name: c.opts.Name}
}

// enqueue returns the handler of a source: changes come first.
func enqueue[T informer.Object](q *queue, when informer.Predicate[T], handler func(informer.Adder[types.NamespacedName]) informer.Handler[T]) informer.Handler[T] {
	h := informer.WhenElse(informer.InitialOrResync[T](), handler(q.PriorityClass(later)), handler(q))
	if when != nil {
		h = informer.When(when, h)
	}
	return h
}
