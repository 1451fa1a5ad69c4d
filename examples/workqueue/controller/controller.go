// Package controller is the classic work queue controller: it watches pods and
// reports, once for each change, which phase a pod is in, and which pods have been
// pending for too long. It only reads, so it is safe to run on any cluster.
//
// An informer, a queue and workers are wired by hand here, to show each of them; package
// informer/controller does it for programs.
//
// Read it in this order: controller.go wires an informer, a queue and workers, and turns events
// into keys; sync.go is what a worker does with a key, and the report that is the result.
package controller

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/inspect"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
	"github.com/informerkit/informerkit/workqueue/history"
)

const (
	// Label is what a pod must carry, with the value LabelValue, for the
	// controller to look at it. The selection is the server's: no other pod of
	// the cluster gets into the cache.
	Label = "examples.informerkit.dev/controller"
	// LabelValue is the value of Label on those pods.
	LabelValue = "workqueue"

	// MaxAttempts is after how many failures in a row a pod is given up, until
	// something about it changes.
	MaxAttempts = 5
	// FirstDelay is how long a pod waits after its first failure. Each further
	// one doubles the delay, up to LongestDelay.
	FirstDelay = 50 * time.Millisecond
	// LongestDelay is the longest that it waits after a failure.
	LongestDelay = time.Minute

	// syncTimeout is how long one attempt may take.
	syncTimeout = 10 * time.Second
	// stopTimeout is how long the controller keeps processing queued items after
	// its context is cancelled.
	stopTimeout = 5 * time.Second
)

// Options configures New; the zero value serves all namespaces, silently.
type Options struct {
	// Namespace restricts the controller to one namespace.
	Namespace string
	// Send delivers the reports. An error means that the report did not get through;
	// it is tried again later. Nil writes the reports to the log. It may be
	// called from several goroutines at once, but never for the same pod.
	Send func(context.Context, Report) error
	// Outcome, if set, is called with what became of each attempt, from several
	// goroutines at once. If nil, failures are logged.
	Outcome func(workqueue.Outcome[types.NamespacedName])
	// History, if set, records what happens to each key, for a page of package inspect.
	History *history.Recorder
	// Log gets what goes wrong; nil discards it.
	Log *slog.Logger
}

// Controller reports the phases of pods.
type Controller struct {
	pods    *informer.Informer[*corev1.Pod]
	handler *informer.Registration
	queue   *workqueue.RateLimitingQueue[types.NamespacedName]

	send    func(context.Context, Report) error
	outcome func(workqueue.Outcome[types.NamespacedName])
	sent    sync.Map // by pod, of those that still exist: the last delivered Report
	ran     atomic.Bool
	log     *slog.Logger
}

// New returns a controller for the API server that cfg reaches. It makes no
// request yet.
func New(cfg *rest.Config, opts Options) (*Controller, error) {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	c := &Controller{send: opts.Send, outcome: opts.Outcome, log: opts.Log}
	if c.send == nil {
		c.send = func(_ context.Context, r Report) error {
			c.log.Info(r.String())
			return nil
		}
	}

	source, err := reflector.NewResource[*corev1.Pod](cfg, corev1.SchemeGroupVersion.WithResource("pods"), reflector.ResourceOptions{
		Namespace: opts.Namespace, LabelSelector: Label + "=" + LabelValue,
	})
	if err != nil {
		return nil, err
	}
	if c.pods, err = informer.New(source, informer.Options[*corev1.Pod]{Name: "pods", Logger: opts.Log, History: opts.History}); err != nil {
		return nil, err
	}
	c.queue = workqueue.NewRateLimiting(
		workqueue.Exponential[types.NamespacedName](workqueue.ExponentialOptions{Base: FirstDelay, Max: LongestDelay}),
		workqueue.Options[types.NamespacedName]{
			Name: "pods", MaxWait: maxWait, Observe: history.Queue[types.NamespacedName](opts.History, "pods"),
		},
	)
	c.handler, err = c.pods.AddHandler(c.enqueue(), informer.HandlerOptions{Name: "enqueue"})
	return c, err
}

// Pods returns the informer of the pods that the controller sees.
func (c *Controller) Pods() *informer.Informer[*corev1.Pod] { return c.pods }

// Inspect returns the contents of the queue, for display.
func (c *Controller) Inspect() workqueue.Inspection[types.NamespacedName] {
	return c.queue.Inspect(math.MaxInt)
}

// Parts returns the controller's sources for a page of package inspect.
func (c *Controller) Parts() []inspect.Source {
	return []inspect.Source{inspect.Informer(c.pods), inspect.Queue(c.queue)}
}

// Run works until ctx ends. Then it goes on with what is queued for a moment,
// and returns when everything it started has ended. The keys that it did not get to
// are dropped and counted. They are no loss: the next start finds all pods by its list.
// It may be called once: informers and queues do not start again.
func (c *Controller) Run(ctx context.Context, workers int) error {
	if c.ran.Swap(true) {
		return errors.New("controller: Run may be called only once; make a new Controller")
	}
	// The cache outlives ctx: what is still queued then must see the pods as they are.
	group, err := informer.NewGroup(c.pods)
	if err != nil {
		return err
	}
	return group.Run(ctx, func(ctx context.Context) error { return c.work(ctx, workers) })
}

func (c *Controller) work(ctx context.Context, workers int) error {
	// Once the handler is synced, every pod that was there is in the queue.
	if err := informer.WaitForSync(ctx, c.handler); err != nil {
		return err
	}
	c.log.Info("the cache of pods is synced", "objects", c.pods.Snapshot().Len(), "workers", workers)
	return workqueue.ProcessWith(ctx, c.queue, c.processOptions(workers), c.sync)
}

func (c *Controller) processOptions(workers int) workqueue.ProcessOptions[types.NamespacedName] {
	opts := workqueue.ProcessOptions[types.NamespacedName]{
		Workers:     workers,
		MaxAttempts: MaxAttempts,
		ItemTimeout: syncTimeout,
		Drain:       true,
		StopTimeout: stopTimeout,
		OnOutcome:   c.outcome,
		Logger:      c.log,
	}
	if c.outcome != nil {
		opts.Logger = slog.New(slog.DiscardHandler) // every outcome is reported already
	}
	return opts
}

// The priority classes of the queue. After a start there may be thousands of pods
// to check. A pod that changes in the meantime does not wait behind them.
const (
	Changed = iota // something happened to the pod
	Known          // the pod was there already when the controller started
)

// maxWait limits how long a pod of each priority class may wait behind the other
// class. It keeps a flood of changes from starving the first list.
var maxWait = []time.Duration{Changed: 0, Known: 30 * time.Second}

// enqueue returns the handler. It only adds the key of the pod to the queue,
// whatever the event: a worker decides from the state that it finds. A key that is
// queued already is not queued twice. A change moves a key from class Known to
// class Changed.
func (c *Controller) enqueue() informer.Handler[*corev1.Pod] {
	return informer.WhenElse(informer.InitialOrResync[*corev1.Pod](),
		informer.EnqueueKey[*corev1.Pod](c.queue.PriorityClass(Known)),
		informer.EnqueueKey[*corev1.Pod](c.queue))
}
