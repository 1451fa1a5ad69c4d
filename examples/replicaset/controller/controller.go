// Package controller is the classic ReplicaSet controller: it keeps the wanted
// number of pods running that match a selector.
//
// Read it in this order: controller.go says which kinds it reads, and to which keys their events
// lead; reconcile.go is what a worker does with a key, and counts, claim.go decides which pods belong to a set,
// scale.go creates and deletes, rank.go ranks pods for deletion. The decisions
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

	"github.com/informerkit/informerkit/examples/replicaset/api"
	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/informer/intern"
)

// stopTimeout is how long reconciles in progress may take to finish at the end.
const stopTimeout = 5 * time.Second

var podResource = corev1.SchemeGroupVersion.WithResource("pods")

// Controller keeps the pods of all ReplicaSets at their desired number.
type Controller struct {
	*controller.Controller
	pods    *controller.Resource[*corev1.Pod]
	sets    *controller.Resource[*api.ReplicaSet]
	byOwner *indexer.Index[*corev1.Pod, podOwner]
	logger  *slog.Logger
}

// New returns a controller; opts says for which API server. It makes no request yet.
func New(opts controller.Options) *Controller {
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	opts.Name, opts.Process.StopTimeout = "replicaset", stopTimeout
	c := &Controller{Controller: controller.New(opts), byOwner: byController(), logger: opts.Logger}
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
func (c *Controller) Run(ctx context.Context) error { return c.Controller.Run(ctx, c.Reconcile) }

// What the controller does with a pod, as the log has it.
const (
	created  = "created"
	deleted  = "deleted"
	adopted  = "adopted"
	released = "released"
)

func (c *Controller) log(set *api.ReplicaSet, action, pod string) {
	c.logger.Info("the controller has acted on a pod", "action", action, "object", pod, "owner", client.KeyOf(set))
}
