// Package controller is a controller of which several replicas run and one works.
//
// Every replica fills its cache; the one that holds the Lease also works. So a follower
// that takes over starts with a warm cache. A leader that is stopped first processes
// what is queued, and then releases the Lease, so that the next one need not wait for
// it to expire. A leader that cannot renew the Lease stops working before it can be
// taken, and follows again. All of that is package sharding, with a single part.
//
// What a Lease cannot give is fencing. A leader that was paused for longer than
// the Lease lasts (a virtual machine that is moved, a long garbage collection) may
// have a request on the wire that arrives after the next leader has begun. So a
// reconcile must stay correct when two work at once: write with the
// resourceVersion that was read, or make writes that are the same when made twice.
// Leader election saves work, it is not a lock.
package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/inspect"
	"github.com/informerkit/informerkit/informer/sharding"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
	"github.com/informerkit/informerkit/workqueue/history"
)

const (
	// Label selects the ConfigMaps that the controller looks at.
	Label = "examples.informerkit.dev/controller=leaderelection"
	// Annotation is where the leader writes its identity.
	Annotation = "examples.informerkit.dev/handled-by"

	drainTimeout = 5 * time.Second
)

// Options configures New.
type Options struct {
	// Identity is how the replica appears in the Lease and in annotations; in a cluster
	// the name of the pod. Two replicas of one identity do not disturb each other.
	Identity string
	// Namespace is where the Lease and the ConfigMaps are.
	Namespace string
	// LeaseDuration is for how long a Lease is valid that is not renewed. A replica
	// renews it every sixth of it, and stops working after two thirds. 15 s.
	LeaseDuration time.Duration
	// Say, if set, is called with what happens.
	Say func(format string, args ...any)
	// History, if set, records what happens to each key, for a page of package inspect.
	History *history.Recorder
	Log     *slog.Logger
}

// Controller is one replica.
type Controller struct {
	opts       Options
	configMaps *informer.Informer[*corev1.ConfigMap]
	client     *client.Client[*corev1.ConfigMap]
	replica    *sharding.Replica
	term       currentQueue
}

// New returns a replica. It makes no request yet.
func New(cfg *rest.Config, opts Options) (*Controller, error) {
	if opts.Say == nil {
		opts.Say = func(string, ...any) {}
	}
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	resource := corev1.SchemeGroupVersion.WithResource("configmaps")
	source, err := reflector.NewResource[*corev1.ConfigMap](cfg, resource, reflector.ResourceOptions{Namespace: opts.Namespace, LabelSelector: Label})
	if err != nil {
		return nil, err
	}
	c := &Controller{opts: opts}
	if c.configMaps, err = informer.New(source, informer.Options[*corev1.ConfigMap]{Name: "configmaps", Logger: opts.Log, History: opts.History}); err != nil {
		return nil, err
	}
	if c.client, err = client.New[*corev1.ConfigMap](cfg, resource, client.Options{}); err != nil {
		return nil, err
	}
	recorder, err := newEventWriter(cfg, opts.Identity, opts.Log)
	if err != nil {
		return nil, err
	}
	c.replica, err = sharding.New(cfg, sharding.Options{
		Name: "informerkit-example", Namespace: opts.Namespace, Identity: opts.Identity,
		Parts: 1, // so there is one leader
		Work:  c.lead, LeaseDuration: opts.LeaseDuration, Logger: opts.Log, Events: recorder,
	})
	return c, err
}

// Readiness is for the readiness probe: the cache is warm. A follower is ready, too.
func (c *Controller) Readiness() informer.Readiness { return c.configMaps }

// Parts returns what there is to see of the replica on a page of package inspect.
func (c *Controller) Parts() []inspect.Source {
	return []inspect.Source{inspect.Informer(c.configMaps), inspect.Queue(&c.term), inspect.Replica(c.replica)}
}

// Run follows, and leads while it holds the Lease, until ctx ends.
func (c *Controller) Run(ctx context.Context) error {
	// The cache outlives ctx, until the queue is drained and the Lease released.
	group, err := informer.NewGroup(c.configMaps)
	if err != nil {
		return err
	}
	return group.Run(ctx, func(ctx context.Context) error {
		c.opts.Say("follows, with a warm cache of %d", c.configMaps.Snapshot().Len())
		return errors.Join(c.replica.Run(ctx), ctx.Err())
	})
}

// lead is called when this replica has the Lease, with a context that ends when it
// is to give it up, or has lost it.
func (c *Controller) lead(ctx context.Context, part *sharding.Part) error {
	c.opts.Say("leads")
	// A queue for this term: what it leaves undone is the business of the next leader, which
	// begins with all keys, as this one does.
	queue := workqueue.NewRateLimiting[types.NamespacedName](nil, workqueue.Options[types.NamespacedName]{
		Name: "configmaps", Observe: history.Queue[types.NamespacedName](c.opts.History, "configmaps"),
	})
	c.term.Store(queue)
	handler, err := informer.EnqueueKeysOf(c.configMaps, queue)
	if err != nil {
		return err
	}
	defer handler.Remove()
	err = workqueue.ProcessWith(ctx, queue, workqueue.ProcessOptions[types.NamespacedName]{
		Workers: 2, Drain: true, StopTimeout: drainTimeout, Logger: c.opts.Log,
	}, sharding.Guard(part, c.sync))
	if errors.Is(context.Cause(ctx), sharding.ErrLost) {
		c.opts.Say("has lost the Lease, and follows")
		return nil
	}
	c.opts.Say("has drained its queue, and releases the Lease")
	return err
}

// currentQueue is the queue of the newest term, for the page.
type currentQueue struct {
	atomic.Pointer[workqueue.RateLimitingQueue[types.NamespacedName]]
}

// Inspect is that of the queue. A replica that has never led has none.
func (c *currentQueue) Inspect(limit int, only ...types.NamespacedName) workqueue.Inspection[types.NamespacedName] {
	if queue := c.Load(); queue != nil {
		return queue.Inspect(limit, only...)
	}
	return workqueue.Inspection[types.NamespacedName]{Name: "configmaps"}
}

// sync writes who has handled a ConfigMap, unless that is written already.
func (c *Controller) sync(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
	configMap, err := c.configMaps.Lister().Get(key)
	if apierrors.IsNotFound(err) || err == nil && configMap.Annotations[Annotation] != "" {
		return workqueue.Result{}, nil
	}
	if err != nil {
		return workqueue.Result{}, err
	}
	// The version makes the write fail if another leader was faster: see above.
	patch := fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q,"annotations":{%q:%q}}}`, configMap.ResourceVersion, Annotation, c.opts.Identity)
	_, err = c.client.Patch(ctx, key, types.MergePatchType, patch)
	return workqueue.Result{}, err
}
