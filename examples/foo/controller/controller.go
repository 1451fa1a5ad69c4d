// Package controller is the sample controller: for each Foo it keeps a Deployment.
//
// Read it in this order: controller.go wires two informers and a queue,
// handlers.go turns events into keys of Foos, sync.go is what a worker does with a
// key, events.go records Events for users.
package controller

import (
	"context"
	"log/slog"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"

	"github.com/informerkit/informerkit/examples/foo/api"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/inspect"
	"github.com/informerkit/informerkit/workqueue"
	"github.com/informerkit/informerkit/workqueue/history"
)

// resyncPeriod is how often every Foo is looked at although nothing has happened.
// It asks no server. It is a net below the controller, not a way to notice changes.
const resyncPeriod = 30 * time.Second

// stopTimeout is how long reconciles in progress may take at the end.
const stopTimeout = 5 * time.Second

// Options configures New; the zero value serves all namespaces, and logs to
// slog.Default.
type Options struct {
	Namespace string
	Log       *slog.Logger
	// History, if set, records what happens to each key, for a page of package inspect.
	History *history.Recorder
}

// Controller keeps a Deployment for each Foo.
type Controller struct {
	factory     *informer.Factory
	foos        informer.Shared[*api.Foo]
	deployments informer.Shared[*appsv1.Deployment]
	queue       *workqueue.RateLimitingQueue[types.NamespacedName]

	fooClient        *client.Client[*api.Foo]
	deploymentClient *client.Client[*appsv1.Deployment]
	sink             *eventSink
	broadcaster      events.EventBroadcaster
	recorder         events.EventRecorder
	log              *slog.Logger
}

// New returns a controller for the API server that cfg reaches. It makes no
// request yet.
func New(cfg *rest.Config, opts Options) (*Controller, error) {
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	c := &Controller{log: opts.Log}
	var err error
	if c.fooClient, err = client.New[*api.Foo](cfg, api.Resource, client.Options{}); err != nil {
		return nil, err
	}
	deployments := appsv1.SchemeGroupVersion.WithResource("deployments")
	if c.deploymentClient, err = client.New[*appsv1.Deployment](cfg, deployments, client.Options{}); err != nil {
		return nil, err
	}

	// Habit 1: one informer per type, shared by all handlers of the program. That
	// is what a factory is for.
	var namespaces []string
	if opts.Namespace != "" {
		namespaces = []string{opts.Namespace}
	}
	c.factory, err = informer.NewFactory(cfg, informer.FactoryOptions{
		Namespaces: namespaces, Transform: dropManagedFields, Logger: opts.Log, History: opts.History,
	})
	if err != nil {
		return nil, err
	}
	if c.foos, err = informer.For(c.factory, informer.ForOptions[*api.Foo]{Name: "foos", Resource: api.Resource}); err != nil {
		return nil, err
	}
	if c.deployments, err = informer.For(c.factory, informer.ForOptions[*appsv1.Deployment]{Name: "deployments", Resource: deployments}); err != nil {
		return nil, err
	}

	if c.sink, err = newEventSink(cfg); err != nil {
		return nil, err
	}
	c.broadcaster = events.NewBroadcaster(c.sink)
	c.recorder = c.broadcaster.NewRecorder(runtime.NewScheme(), component)
	c.queue = workqueue.NewRateLimiting(nil, workqueue.Options[types.NamespacedName]{
		Name: "foos", Observe: history.Queue[types.NamespacedName](opts.History, "foos"),
	})
	return c, c.addHandlers()
}

// dropManagedFields drops what no controller reads before an object is stored.
func dropManagedFields(obj informer.Object) error {
	obj.SetManagedFields(nil)
	return nil
}

// Readiness is for the readiness probe: both caches are synced, and up to date.
func (c *Controller) Readiness() informer.Readiness { return c.factory }

// Parts returns the controller's sources for a page of package inspect.
func (c *Controller) Parts() []inspect.Source {
	return []inspect.Source{inspect.Factory(c.factory), inspect.Queue(c.queue)}
}

// Run works until ctx ends, and returns when everything it started has ended. It
// may be called once.
func (c *Controller) Run(ctx context.Context, workers int) error {
	// Events outlive ctx until the last reconcile has returned. Deferred calls run from the
	// last to the first: no more events, an end to their writes, and a wait for that.
	defer c.sink.close()
	recording, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	if err := c.broadcaster.StartRecordingToSinkWithContext(recording); err != nil {
		return err
	}
	defer c.broadcaster.Shutdown()

	// Habit 2: sync before workers. A worker that starts earlier sees Foos without
	// their Deployments, and tries to create them all. Factory.Run does it, and keeps
	// the caches up to date until the last worker has ended.
	err := c.factory.Run(ctx, func(ctx context.Context) error {
		c.log.Info("the controller of Foos works now", "objects", c.foos.Snapshot().Len(), "workers", workers)
		return workqueue.ProcessWith(ctx, c.queue, workqueue.ProcessOptions[types.NamespacedName]{
			Workers: workers, StopTimeout: stopTimeout, Logger: c.log,
		}, c.sync)
	})
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
