// Package controller is a controller of which several replicas run and one works.
//
// Every replica fills its cache; the one that holds the Lease also works. So a follower
// that takes over starts with a warm cache. A leader that is stopped first processes
// what is queued, and then releases the Lease, so that the next one need not wait for
// it to expire. A leader that cannot renew the Lease stops working before it can be
// taken, and follows again. All of that is leader.ByLease, as the option Leader of package
// informer/controller; a program that does not print who leads needs no more than that.
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
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/informer/leader"
	"github.com/informerkit/informerkit/workqueue"
)

const (
	// Label selects the ConfigMaps that the controller looks at.
	Label = "examples.informerkit.dev/controller=leaderelection"
	// Annotation is where the leader writes its identity.
	Annotation = "examples.informerkit.dev/handled-by"

	drainTimeout = 5 * time.Second
)

// Controller is one replica.
type Controller struct {
	*controller.Controller
	identity   string
	configMaps *controller.Resource[*corev1.ConfigMap]
}

// New returns a replica; opts says for which API server. The lease has the name of the replica in Leases and annotations,
// in a cluster that of the pod; the namespace of the Lease and the ConfigMaps; and for how long the Lease is valid
// that is not renewed: 0 means 15 s, and a leader stops working after two thirds of it. Say is called with
// what happens. New makes no request yet.
func New(opts controller.Options, lease leader.Options, say func(format string, args ...any)) *Controller {
	lease.Name, lease.Logger, lease.LeaseDuration = "informerkit-example", opts.Logger, cmp.Or(lease.LeaseDuration, 15*time.Second)
	lease.RenewDeadline, lease.RetryPeriod = lease.LeaseDuration*2/3, lease.LeaseDuration*2/15
	c := &Controller{identity: lease.Identity}
	lead := leader.ByLease(lease)
	// It is called when the cache is warm, with the work of a leader. Each term has a queue of its own: what it leaves
	// undone is the business of the next leader, which begins with all keys, as this one does.
	opts.Leader = func(ctx context.Context, cfg *rest.Config, work func(context.Context, controller.Term) error) error {
		say("follows, with a warm cache of %d", c.configMaps.Cache.Snapshot().Len())
		return lead(ctx, cfg, func(ctx context.Context, term controller.Term) error {
			say("leads")
			err := work(ctx, term)
			if errors.Is(context.Cause(ctx), leader.ErrLost) {
				say("has lost the Lease, and follows")
			} else {
				say("has drained its queue, and releases the Lease")
			}
			return err
		})
	}
	opts.Name, opts.Informers.Namespaces = "leaderelection", []string{lease.Namespace}
	opts.Process.Drain, opts.Process.StopTimeout = true, drainTimeout
	c.Controller = controller.New(opts)
	c.configMaps = controller.For(c.Controller, corev1.SchemeGroupVersion.WithResource("configmaps"),
		controller.ResourceOptions[*corev1.ConfigMap]{Informer: informer.ForOptions[*corev1.ConfigMap]{LabelSelector: Label}})
	return c
}

// Run follows, and leads while it holds the Lease, until ctx ends.
func (c *Controller) Run(ctx context.Context) error { return c.Controller.Run(ctx, c.sync) }

// sync writes who has handled a ConfigMap, unless that is written already.
func (c *Controller) sync(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
	configMap, err := c.configMaps.Get(key)
	if err != nil || configMap.Annotations[Annotation] != "" {
		return workqueue.Result{}, client.IgnoreNotFound(err)
	}
	// The version makes the write fail if another leader was faster: see above.
	patch := fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q,"annotations":{%q:%q}}}`, configMap.ResourceVersion, Annotation, c.identity)
	_, err = c.configMaps.Patch(ctx, key, types.MergePatchType, patch)
	return workqueue.Result{}, err
}
