// Package controller is a controller of which several replicas run and one works.
//
// Every replica fills its cache; the one that holds the Lease also works. So a follower
// that takes over starts with a warm cache. A leader that is stopped first processes
// what is queued, and then releases the Lease, so that the next one need not wait for
// it to expire. A leader that cannot renew the Lease stops working before it can be
// taken, and follows again. All of that is package leader, as an option of package
// informer/controller; leader.ByLease is the option for a program that does not print who leads.
//
// What a Lease cannot give is fencing. A leader that was paused for longer than
// the Lease lasts (a virtual machine that is moved, a long garbage collection) may
// have a request on the wire that arrives after the next leader has begun. So a
// reconcile must stay correct when two work at once: write with the
// resourceVersion that was read, or make writes that are the same when made twice.
// Leader election saves work, it is not a lock.
package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/informer/leader"
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
	// the name of the pod.
	Identity string
	// Namespace is where the Lease and the ConfigMaps are.
	Namespace string
	// LeaseDuration is for how long a Lease is valid that is not renewed; 0 means 15 s. A leader
	// stops working after two thirds of it without a renewal.
	LeaseDuration time.Duration
	// Say, if set, is called with what happens.
	Say func(format string, args ...any)
	// History, if set, records what happens to each key, for a page of package inspect.
	History *history.Recorder
	Log     *slog.Logger
}

// Controller is one replica.
type Controller struct {
	*controller.Controller
	opts       Options
	configMaps *controller.Resource[*corev1.ConfigMap]
	elector    *leader.Elector
	work       func(ctx context.Context, term controller.Term) error // of a term
}

// New returns a replica. It makes no request yet.
func New(cfg *rest.Config, opts Options) (*Controller, error) {
	if opts.Say == nil {
		opts.Say = func(string, ...any) {}
	}
	c := &Controller{opts: opts}
	c.Controller = controller.New(controller.Options{
		Config: cfg, Name: "leaderelection", Workers: 2, Leader: c.elect, Logger: opts.Log, History: opts.History,
		Informers: informer.FactoryOptions{Namespaces: []string{opts.Namespace}},
		Process:   workqueue.ProcessOptions[types.NamespacedName]{Drain: true, StopTimeout: drainTimeout},
	})
	c.configMaps = controller.For(c.Controller, corev1.SchemeGroupVersion.WithResource("configmaps"),
		controller.ResourceOptions[*corev1.ConfigMap]{Informer: informer.ForOptions[*corev1.ConfigMap]{LabelSelector: Label}})
	valid := cmp.Or(opts.LeaseDuration, 15*time.Second)
	var err error
	c.elector, err = leader.New(cfg, leader.Options{
		Name: "informerkit-example", Namespace: opts.Namespace, Identity: opts.Identity, Lead: c.lead, Logger: opts.Log,
		LeaseDuration: valid, RenewDeadline: valid * 2 / 3, RetryPeriod: valid * 2 / 15,
	})
	return c, err
}

// Run follows, and leads while it holds the Lease, until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.Controller.Run(ctx, c.sync) }

// elect is called when the cache is warm, with what a leader does.
func (c *Controller) elect(ctx context.Context, _ *rest.Config, work func(context.Context, controller.Term) error) error {
	c.work = work
	c.opts.Say("follows, with a warm cache of %d", c.configMaps.Cache.Snapshot().Len())
	return c.elector.Run(ctx)
}

// lead is one term. It has a queue of its own: what it leaves undone is the business of the next
// leader, which begins with all keys, as this one does.
func (c *Controller) lead(ctx context.Context, term *leader.Term) error {
	c.opts.Say("leads")
	err := c.work(ctx, term)
	if errors.Is(context.Cause(ctx), leader.ErrLost) {
		c.opts.Say("has lost the Lease, and follows")
	} else {
		c.opts.Say("has drained its queue, and releases the Lease")
	}
	return err
}

// sync writes who has handled a ConfigMap, unless that is written already.
func (c *Controller) sync(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
	configMap, err := c.configMaps.Get(key)
	if err != nil || configMap.Annotations[Annotation] != "" {
		return workqueue.Result{}, client.IgnoreNotFound(err)
	}
	// The version makes the write fail if another leader was faster: see above.
	patch := fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q,"annotations":{%q:%q}}}`, configMap.ResourceVersion, Annotation, c.opts.Identity)
	_, err = c.configMaps.Patch(ctx, key, types.MergePatchType, patch)
	return workqueue.Result{}, err
}
