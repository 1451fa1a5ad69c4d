// Package controller keeps a Deployment for each Foo, as the example foo does, in several
// replicas that share the Foos: each has some of them in its cache, and works on these.
//
// Read it in this order: controller.go has the informers, of which each reads ranges of
// hashes, and what hands the ranges out; sync.go is what a worker does with a key, and with
// marks, which are for the demo.
//
// A Foo is in the range of its UID. Its Deployment would be in another one, so that is
// put where its owner is (HashOwner). No API server can select by owner: each replica
// receives all Deployments, and stores its own. Where that is too much, divide by namespace
// (HashNamespace): then the server can select both.
package controller

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/foo/api"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/inspect"
	"github.com/informerkit/informerkit/informer/sharding"
	"github.com/informerkit/informerkit/workqueue"
	"github.com/informerkit/informerkit/workqueue/history"
)

// Parts is into how many ranges the Foos are divided. It can be divided by 2, 3, 4 and 6, so that
// the replicas of the demo have equal shares.
const Parts = 24

// Options configures New.
type Options struct {
	// Identity is how the replica appears in Leases and logs; in a cluster the name of the
	// pod.
	Identity string
	// LeaseNamespace is where the Leases are.
	LeaseNamespace string
	// LeaseDuration is for how long a Lease is valid that is not renewed. 0 means 15 s.
	LeaseDuration time.Duration
	// Say, if set, is called with what happens.
	Say func(format string, args ...any)
	// History, if set, records what happens to each key, for a page of package inspect.
	History *history.Recorder
	Log     *slog.Logger
}

// Controller is one replica.
type Controller struct {
	opts        Options
	factory     *sharding.Factory
	foos        *sharding.Shared[*api.Foo]
	deployments *sharding.Shared[*appsv1.Deployment]
	ranges      *sharding.Ranges

	fooClient        *client.Client[*api.Foo]
	deploymentClient *client.Client[*appsv1.Deployment]
}

// New returns a replica. It makes no request yet.
func New(cfg *rest.Config, opts Options) (*Controller, error) {
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	c := &Controller{opts: opts}
	deployments := appsv1.SchemeGroupVersion.WithResource("deployments")
	var err error
	if c.fooClient, err = client.New[*api.Foo](cfg, api.Resource, client.Options{}); err != nil {
		return nil, err
	}
	if c.deploymentClient, err = client.New[*appsv1.Deployment](cfg, deployments, client.Options{}); err != nil {
		return nil, err
	}
	c.factory, err = sharding.NewFactory(cfg, informer.FactoryOptions{
		Transform: dropManagedFields, Logger: opts.Log, History: opts.History,
	})
	if err != nil {
		return nil, err
	}
	if c.foos, err = sharding.For(c.factory, sharding.HashUID, informer.ForOptions[*api.Foo]{Name: "foos", Resource: api.Resource}); err != nil {
		return nil, err
	}
	// By the hash of their owner, so a replica has the Deployments of its Foos.
	c.deployments, err = sharding.For(c.factory, sharding.HashOwner, informer.ForOptions[*appsv1.Deployment]{
		Name: "deployments", Resource: deployments,
	})
	if err != nil {
		return nil, err
	}
	c.ranges, err = sharding.NewRanges(cfg, sharding.RangesOptions[*api.Foo]{
		Options: sharding.Options{
			Name: "informerkit-example-foos", Namespace: opts.LeaseNamespace, Identity: opts.Identity,
			Parts: Parts, LeaseDuration: opts.LeaseDuration, Logger: opts.Log,
		},
		Objects: c.foos,
		Reader:  c.factory,
	})
	if err != nil {
		return nil, err
	}
	// What happens to a Foo leads to its key. What happens to its Deployment does, too.
	_, err = c.deployments.AddHandler(sharding.EnqueueOwner[*appsv1.Deployment](c.ranges, informer.Owner{Kind: api.Kind}),
		informer.HandlerOptions{Name: "deployments"})
	return c, err
}

// dropManagedFields drops what no controller reads before an object is stored.
func dropManagedFields(obj informer.Object) error {
	obj.SetManagedFields(nil)
	return nil
}

// Readiness is for the readiness probe: the caches are up to date. A replica without a part
// is ready, too.
func (c *Controller) Readiness() informer.Readiness { return c.factory }

// Sources returns what there is to see of the replica on a page of package inspect.
func (c *Controller) Sources() []inspect.Source {
	return []inspect.Source{inspect.Factory(c.factory.Factory), inspect.Queue(c.ranges.Queue()), inspect.Replica(c.ranges.Replica())}
}

// Run works on the Foos that are this replica's, until ctx ends; then it hands them over.
func (c *Controller) Run(ctx context.Context, workers int) error {
	// The caches outlive ctx, until the last part is handed over.
	return c.factory.Run(ctx, func(ctx context.Context) error {
		if c.opts.Say != nil {
			c.opts.Say("joins")
			ended := make(chan struct{})
			var saying sync.WaitGroup
			saying.Go(func() { c.say(ended) })
			defer saying.Wait()
			defer close(ended)
		}
		return c.ranges.Run(ctx, workqueue.ProcessOptions[sharding.Key]{Workers: workers, Logger: c.opts.Log}, c.sync)
	})
}

// say says what the replica has, each time that it has changed, until it has ended.
func (c *Controller) say(ended <-chan struct{}) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for said, going := "", true; going; {
		select {
		case <-tick.C:
		case <-ended:
			going = false
		}
		has := fmt.Sprintf("has %d of %d parts, with %d foos", len(c.ranges.Replica().Health().Held), Parts, c.foos.Snapshot().Len())
		if has != said {
			c.opts.Say("%s", has)
			said = has
		}
	}
}
