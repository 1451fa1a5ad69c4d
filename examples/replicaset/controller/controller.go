// Package controller is the classic ReplicaSet controller: it keeps the wanted
// number of pods running that match a selector.
//
// Read it in this order: controller.go says which kinds it reads, and to which keys their events
// lead; reconcile.go is what a worker does with a key, claim.go decides which pods belong to a set,
// scale.go creates and deletes, rank.go ranks pods for deletion, status.go counts. The decisions
// that need neither cache nor server are exported: the same controller on other machinery
// (internal/verify/e2e has one on client-go) then differs from this one in its machinery alone.
package controller

import (
	"context"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/replicaset/api"
	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/informer/intern"
	"github.com/informerkit/informerkit/workqueue"
	"github.com/informerkit/informerkit/workqueue/history"
)

// stopTimeout is how long reconciles in progress may take to finish at the end.
const stopTimeout = 5 * time.Second

var podResource = corev1.SchemeGroupVersion.WithResource("pods")

// Options configures New; the zero value serves all namespaces with one worker, silently.
type Options struct {
	// Namespace restricts the controller to one namespace.
	Namespace string
	// Workers is how many sets are reconciled at a time.
	Workers int
	// History, if set, records what happens to each key, for a page of package inspect.
	History *history.Recorder
	// Log gets what the controller does, and what goes wrong; nil discards it.
	Log *slog.Logger
	// Reconciling, if set, is called with the key of a set when a worker begins to
	// reconcile it. It may be called from several goroutines at once.
	Reconciling func(types.NamespacedName)
}

// Controller keeps the pods of all ReplicaSets at their desired number.
type Controller struct {
	*controller.Controller
	pods    *controller.Resource[*corev1.Pod]
	sets    *controller.Resource[*api.ReplicaSet]
	byOwner *indexer.Index[*corev1.Pod, podOwner]
	doomed  DoomedPods
	opts    Options
}

// New returns a controller for the API server that cfg reaches. It makes no
// request yet.
func New(cfg *rest.Config, opts Options) *Controller {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Reconciling == nil {
		opts.Reconciling = func(types.NamespacedName) {}
	}
	settings := controller.Options{
		Config: cfg, Name: "replicaset", Workers: opts.Workers, Logger: opts.Log, History: opts.History,
		Process: workqueue.ProcessOptions[types.NamespacedName]{StopTimeout: stopTimeout},
	}
	if opts.Namespace != "" {
		settings.Informers.Namespaces = []string{opts.Namespace}
	}
	c := &Controller{Controller: controller.New(settings), byOwner: byController(), opts: opts}
	// The pods of a set, and the sets' templates, are mostly equal: equal parts are
	// stored once. It is safe because nothing modifies what is in a cache.
	pool := intern.NewPool()
	c.sets = controller.For(c.Controller, api.GroupVersionResource, controller.ResourceOptions[*api.ReplicaSet]{
		Informer: informer.ForOptions[*api.ReplicaSet]{Name: "replicasets", Transform: intern.Transform[*api.ReplicaSet](pool)},
	})
	// The cache of pods holds only those with the label of this example: on a cluster with many
	// others it stays small. For an update, the set that controlled the pod before counts, too.
	c.pods = controller.Watches(c.Controller, podResource, c.setsOf, controller.ResourceOptions[*corev1.Pod]{
		Informer: informer.ForOptions[*corev1.Pod]{
			LabelSelector: api.Label + "=" + api.LabelValue, Transform: intern.Transform[*corev1.Pod](pool),
			Indexer: indexer.Options[*corev1.Pod]{Indexes: []indexer.IndexDefinition[*corev1.Pod]{c.byOwner}},
		},
	})
	return c
}

// setsOf returns the keys to which what happens to a pod leads: that of the set that controls it. An
// orphan has none, but any set that it matches may adopt it.
func (c *Controller) setsOf(pod *corev1.Pod) (keys []types.NamespacedName) {
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		if ref.Kind == api.Kind && ref.APIVersion == api.GroupVersion.String() {
			keys = append(keys, types.NamespacedName{Namespace: pod.Namespace, Name: ref.Name})
		}
		return keys
	}
	for set := range c.sets.List(pod.Namespace, nil) {
		selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
		if err == nil && !selector.Empty() && selector.Matches(labels.Set(pod.Labels)) {
			keys = append(keys, client.KeyOf(set))
		}
	}
	return keys
}

// Pods returns the cache of the pods that the controller sees.
func (c *Controller) Pods() informer.Shared[*corev1.Pod] { return c.pods.Cache }

// Sets returns the cache of the ReplicaSets.
func (c *Controller) Sets() informer.Shared[*api.ReplicaSet] { return c.sets.Cache }

// Run works until ctx ends and returns when everything it started has ended:
// the reconciles in progress finish, what was queued is left for the next start.
func (c *Controller) Run(ctx context.Context) error { return c.Controller.Run(ctx, c.reconcile) }

// What the controller does with a pod, as the log has it.
const (
	created  = "created"
	deleted  = "deleted"
	adopted  = "adopted"
	released = "released"
)

func (c *Controller) log(set *api.ReplicaSet, action, pod string) {
	c.opts.Log.Info("the controller has acted on a pod", "action", action, "object", pod, "owner", client.KeyOf(set))
}
