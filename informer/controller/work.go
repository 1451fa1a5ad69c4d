package controller

import (
	"cmp"
	"context"
	"runtime/debug"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/internal/panics"
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
// seen what it has written, even if it failed, panicked or ended its goroutine after that, or the term has ended.
func (c *Controller) reconcile(ctx context.Context, q *queue, term Term, key types.NamespacedName, reconcile Reconcile) (result workqueue.Result, err error) {
	if !term.Held() {
		return workqueue.Result{}, nil // another replica does it
	}
	if before, ok := c.unseen.Load(key); ok { // written in an earlier term
		return workqueue.Result{Until: before.(*unseen), ParkTimeout: -1}, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	lost := term.Context()
	defer context.AfterFunc(lost, func() { cancel(context.Cause(lost)) })()
	ctx, writes := client.Collect(ctx)
	defer func() {
		if !c.opts.CrashOnPanic {
			if v := recover(); v != nil {
				stack := debug.Stack()
				result, err = workqueue.Result{}, &workqueue.PanicError{Value: v, Stack: stack}
				panics.Recovered(c.opts.Config, v, stack)
			}
		}
		if seen := writes.Seen(); seen != nil {
			if result.Until != nil {
				result.Until = &limited{result.Until, cmp.Or(max(0, result.ParkTimeout), time.Minute)}
			}
			result.Hold = result.Hold || result.Until == nil // a change has an event; what changed nothing is no reason for another call
			result.Until = workqueue.All(result.Until, c.awaitWrites(q, key, seen, writes))
			result.ParkTimeout = -1
		}
	}()
	return reconcile(ctx, key)
}

// unseen is the condition that the caches have seen the writes of a key. It outlives the queue.
type unseen struct {
	seen context.Context //nolint:containedctx // done when they have
	text string
}

// Register calls met in a separate goroutine.
func (u *unseen) Register(met func()) (cancel func()) {
	stop := context.AfterFunc(u.seen, met)
	return func() { stop() }
}

func (u *unseen) String() string { return u.text }

// awaitWrites waits for the writes of a key. It adds the key if there is no event that does.
func (c *Controller) awaitWrites(q *queue, key types.NamespacedName, seen workqueue.Condition, writes *client.Writes) *unseen {
	if before, ok := c.unseen.Load(key); ok { // of a call that has outlived its term
		seen = workqueue.All(before.(*unseen), seen)
	}
	ctx, met := context.WithCancel(context.Background())
	u := &unseen{ctx, seen.String()}
	c.unseen.Store(key, u)
	seen.Register(func() {
		c.unseen.CompareAndDelete(key, u)
		if writes.Unseen() { // and so there will be no event
			q.Add(key)
		}
		met()
	})
	return u
}

// limited is a condition that counts as met after a time.
type limited struct {
	workqueue.Condition
	most time.Duration
}

// Register calls met at most twice, which is permitted.
func (l *limited) Register(met func()) (cancel func()) {
	stop, timer := l.Condition.Register(met), time.AfterFunc(l.most, met)
	return func() {
		timer.Stop()
		if stop != nil {
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
