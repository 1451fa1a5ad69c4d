// Package controller is the classic ReplicaSet controller: it keeps the wanted
// number of pods running that match a selector.
//
// Read it in this order: controller.go wires two informers and a queue, events.go
// turns events into keys, reconcile.go is the loop's body, claim.go decides which
// pods belong to a set, scale.go creates and deletes, rank.go ranks pods for
// deletion, status.go counts, pure.go exports the decisions.
package controller

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/replicaset/api"
	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/inspect"
	"github.com/informerkit/informerkit/informer/intern"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
	"github.com/informerkit/informerkit/workqueue/history"
)

// stopTimeout is how long reconciles in progress may take to finish at the end.
const stopTimeout = 5 * time.Second

var podResource = corev1.SchemeGroupVersion.WithResource("pods")

// Options configures New; the zero value serves all namespaces, silently.
type Options struct {
	// Namespace restricts the controller to one namespace.
	Namespace string
	// History, if set, records what happens to each key, for a page of package inspect.
	History *history.Recorder
	// Log gets what goes wrong; nil discards it.
	Log *slog.Logger
	// Trace, if set, is called with each thing that the controller does. It may
	// be called from several goroutines at once.
	Trace func(Step)
	// Reconciling, if set, is called with the key of a set when a worker begins to
	// reconcile it. It may be called from several goroutines at once.
	Reconciling func(types.NamespacedName)
}

// Controller keeps the pods of all ReplicaSets at their desired number.
type Controller struct {
	pods  *informer.Informer[*corev1.Pod]
	sets  *informer.Informer[*api.ReplicaSet]
	queue *workqueue.RateLimitingQueue[types.NamespacedName]

	byOwner   *indexer.Index[*corev1.Pod, podOwner]
	podClient *client.Client[*corev1.Pod]
	setClient *client.Client[*api.ReplicaSet]

	doomed      DoomedPods
	ran         atomic.Bool
	log         *slog.Logger
	traced      func(Step)
	reconciling func(types.NamespacedName)
}

// New returns a controller for the API server that cfg reaches. It makes no
// request yet.
func New(cfg *rest.Config, opts Options) (*Controller, error) {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Trace == nil {
		opts.Trace = func(Step) {}
	}
	if opts.Reconciling == nil {
		opts.Reconciling = func(types.NamespacedName) {}
	}
	c := &Controller{log: opts.Log, traced: opts.Trace, reconciling: opts.Reconciling}

	var err error
	if c.podClient, err = client.New[*corev1.Pod](cfg, podResource, client.Options{}); err != nil {
		return nil, err
	}
	if c.setClient, err = client.New[*api.ReplicaSet](cfg, api.GroupVersionResource, client.Options{}); err != nil {
		return nil, err
	}

	// The two caches. That of the pods holds only those with the label of this
	// example: on a cluster with many others it stays small.
	podSource, err := reflector.NewResource[*corev1.Pod](cfg, podResource, reflector.ResourceOptions{
		Namespace: opts.Namespace, LabelSelector: api.Label + "=" + api.LabelValue,
	})
	if err != nil {
		return nil, err
	}
	setSource, err := reflector.NewResource[*api.ReplicaSet](cfg, api.GroupVersionResource, reflector.ResourceOptions{
		Namespace: opts.Namespace,
	})
	if err != nil {
		return nil, err
	}
	c.byOwner = byController()
	// The pods of a set, and the sets' templates, are mostly equal: equal parts are
	// stored once. It is safe because nothing modifies what is in a cache.
	pool := intern.NewPool()
	if c.pods, err = informer.New(podSource, informer.Options[*corev1.Pod]{
		Name: "pods", Logger: opts.Log, Transform: intern.Transform[*corev1.Pod](pool), History: opts.History,
		Indexer: indexer.Options[*corev1.Pod]{Indexes: []indexer.IndexDefinition[*corev1.Pod]{c.byOwner}},
	}); err != nil {
		return nil, err
	}
	if c.sets, err = informer.New(setSource, informer.Options[*api.ReplicaSet]{
		Name: "replicasets", Logger: opts.Log, Transform: intern.Transform[*api.ReplicaSet](pool), History: opts.History,
	}); err != nil {
		return nil, err
	}

	c.queue = workqueue.NewRateLimiting[types.NamespacedName](nil, workqueue.Options[types.NamespacedName]{
		Name: "replicaset", Observe: history.Queue[types.NamespacedName](opts.History, "replicaset"),
	})
	return c, c.addHandlers()
}

// Pods returns the informer of the pods that the controller sees.
func (c *Controller) Pods() *informer.Informer[*corev1.Pod] { return c.pods }

// Sets returns the informer of the ReplicaSets.
func (c *Controller) Sets() *informer.Informer[*api.ReplicaSet] { return c.sets }

// Parts returns the controller's sources for a page of package inspect.
func (c *Controller) Parts() []inspect.Source {
	return []inspect.Source{inspect.Informer(c.pods), inspect.Informer(c.sets), inspect.Queue(c.queue)}
}

// Run works until ctx ends and returns when everything it started has ended:
// the reconciles in progress finish, what was queued is left for the next start.
// It may be called once: informers and queues do not start again.
func (c *Controller) Run(ctx context.Context, workers int) error {
	if c.ran.Swap(true) {
		return errors.New("controller: Run may be called only once; make a new Controller")
	}
	// A worker that starts before both caches are filled would see sets without
	// their pods, and create them all again; and the last reconcile still reads the
	// caches when ctx has ended. A group keeps this order.
	group, err := informer.NewGroup(c.pods, c.sets)
	if err != nil {
		return err
	}
	err = group.Run(ctx, func(ctx context.Context) error { return c.work(ctx, workers) })
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func (c *Controller) work(ctx context.Context, workers int) error {
	c.log.Info("the caches of ReplicaSets and pods are synced", "objects", c.sets.Snapshot().Len(), "pods", c.pods.Snapshot().Len(), "workers", workers)

	// A failed reconcile is logged and retried after 5 ms, then 10, 20, …
	return workqueue.ProcessWith(ctx, c.queue, workqueue.ProcessOptions[types.NamespacedName]{
		Workers: workers, StopTimeout: stopTimeout, Logger: c.log,
	}, c.reconcile)
}
