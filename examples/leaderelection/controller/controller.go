// Package controller is a controller of which several replicas run and one works.
//
// Every replica fills its cache and its queue; the one that holds the Lease also
// works off its queue. So a follower that takes over starts with a warm cache. A
// leader that is stopped first processes what is queued, and then releases the
// Lease, so that the next one need not wait for it to expire.
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
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"

	"github.com/informerkit/informerkit/examples/restclient"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/inspect"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
)

const (
	// Label selects the ConfigMaps that the controller looks at.
	Label = "examples.informerkit.dev/controller=leaderelection"
	// Annotation is where the leader writes its identity.
	Annotation = "examples.informerkit.dev/handled-by"

	drainTimeout = 5 * time.Second
)

// ErrLost is returned by Run of a replica that was the leader and could not renew
// the Lease. The process should end: another one leads by now.
var ErrLost = errors.New("the Lease is lost: another replica leads, or will soon")

// Options configures New.
type Options struct {
	// Identity distinguishes the replicas; in a cluster the name of the pod.
	Identity string
	// Namespace is where the Lease and the ConfigMaps are.
	Namespace string
	// LeaseDuration is for how long a Lease is valid that is not renewed. A leader
	// renews it every sixth of it, and gives up after two thirds. 15 s.
	LeaseDuration time.Duration
	// Say, if set, is called with what happens.
	Say func(format string, args ...any)
	Log *slog.Logger
}

// Controller is one replica.
type Controller struct {
	opts       Options
	configMaps *informer.Informer[*corev1.ConfigMap]
	queue      *workqueue.RateLimitingQueue[types.NamespacedName]
	client     *restclient.Client[*corev1.ConfigMap]
	lock       *lock
}

// New returns a replica. It makes no request yet.
func New(cfg *rest.Config, opts Options) (*Controller, error) {
	if opts.LeaseDuration == 0 {
		opts.LeaseDuration = 15 * time.Second
	}
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
	c := &Controller{opts: opts, queue: workqueue.NewRateLimiting[types.NamespacedName](nil, workqueue.Options[types.NamespacedName]{Name: "configmaps"})}
	if c.configMaps, err = informer.New(source, informer.Options[*corev1.ConfigMap]{Name: "configmaps", Logger: opts.Log}); err != nil {
		return nil, err
	}
	if c.client, err = restclient.New[*corev1.ConfigMap](cfg, resource); err != nil {
		return nil, err
	}
	leases, err := restclient.New[*coordinationv1.Lease](cfg, coordinationv1.SchemeGroupVersion.WithResource("leases"))
	if err != nil {
		return nil, err
	}
	c.lock = &lock{client: leases, key: types.NamespacedName{Namespace: opts.Namespace, Name: "informerkit-example"}, identity: opts.Identity}
	// The follower's queue holds each key once, however often its object changes.
	_, err = informer.EnqueueKeysOf(c.configMaps, c.queue)
	return c, err
}

// Readiness is for the readiness probe: the cache is warm. A follower is ready, too.
func (c *Controller) Readiness() informer.Readiness { return c.configMaps }

// Parts returns what there is to see of the replica on a page of package inspect.
func (c *Controller) Parts() []inspect.Source {
	return []inspect.Source{inspect.Informer(c.configMaps), inspect.Queue(c.queue)}
}

// Run follows, and leads while it holds the Lease, until ctx ends.
func (c *Controller) Run(ctx context.Context) error {
	// The cache outlives ctx, until the queue is drained and the Lease released.
	group, err := informer.NewGroup(c.configMaps)
	if err != nil {
		return err
	}
	return group.Run(ctx, c.elect)
}

// elect is called with a warm cache.
func (c *Controller) elect(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	c.opts.Say("follows, with a warm cache of %d", c.configMaps.Snapshot().Len())

	// The Lease outlives ctx, too.
	elect, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	lost := make(chan struct{})
	leading := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            c.lock,
		LeaseDuration:   c.opts.LeaseDuration,
		RenewDeadline:   c.opts.LeaseDuration * 2 / 3,
		RetryPeriod:     c.opts.LeaseDuration / 6,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(leading) },
			OnStoppedLeading: func() { close(lost) },
		},
	})
	if err != nil {
		return err
	}
	running.Go(func() { elector.Run(elect) })

	select {
	case <-leading:
	case <-ctx.Done():
		release()
		<-lost // the elector has ended
		return ctx.Err()
	}
	c.opts.Say("leads")
	work, stopWork := context.WithCancelCause(ctx)
	defer stopWork(nil)
	running.Go(func() {
		select {
		case <-lost:
			stopWork(ErrLost)
		case <-work.Done():
		}
	})
	_, err = workqueue.ProcessWith(work, c.queue, workqueue.ProcessOptions[types.NamespacedName]{
		Workers: 2, Drain: true, StopTimeout: drainTimeout, Logger: c.opts.Log,
	}, c.sync)
	if cause := context.Cause(work); errors.Is(cause, ErrLost) {
		c.opts.Say("has lost the Lease, and ends")
		return ErrLost
	}
	c.opts.Say("has drained its queue, and releases the Lease")
	release()
	<-lost
	return errors.Join(err, ctx.Err())
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
