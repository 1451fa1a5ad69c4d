// Package cluster plays the parts of a cluster that an API server alone does not
// have: a node that runs pods, the controller of Deployments, and the garbage collector
// that deletes what an object owned that is gone.
//
// An example that runs on an API server without nodes and without
// kube-controller-manager needs them to see its objects become ready and go away.
// They are controllers like any other, and small ones to read.
package cluster

import (
	"context"
	"log/slog"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/workqueue"
)

const (
	// sweep is how long after an owner its objects go. At once would be too early: the
	// owner's controller may not know yet that it is gone, and would replace them.
	sweep = 200 * time.Millisecond
	// startTime is how long a container takes to start on this node.
	startTime = 50 * time.Millisecond
)

// Options configures the parts. Owners and OwnerKind are required.
type Options struct {
	// Namespace restricts the cluster to one namespace; empty means all.
	Namespace string
	// Owners is a custom resource and OwnerKind its kind: the garbage collector
	// deletes the objects whose controller is an object of it that is gone.
	Owners    schema.GroupVersionResource
	OwnerKind string
	// Transcript prints what the cluster does; nil prints nothing.
	Transcript *demo.Transcript
	// Log gets what goes wrong; nil discards it.
	Log *slog.Logger
}

// RunPods plays a node and the garbage collector of pods until ctx ends.
func RunPods(ctx context.Context, cfg *rest.Config, opts Options) error {
	return run(ctx, cfg, corev1.SchemeGroupVersion.WithResource("pods"), "pod", "runs pod ", opts, func(pod *corev1.Pod) {
		if pod.Status.Phase != "" && pod.Status.Phase != corev1.PodPending {
			return
		}
		time.Sleep(startTime)
		now := metav1.Now()
		pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &now
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now}}
	})
}

// RunDeployments plays the controller of Deployments, for which as many replicas are available as
// are wanted, and their garbage collector, until ctx ends.
func RunDeployments(ctx context.Context, cfg *rest.Config, opts Options) error {
	return run(ctx, cfg, appsv1.SchemeGroupVersion.WithResource("deployments"), "deployment", "runs the pods of deployment ", opts, func(d *appsv1.Deployment) {
		n := *d.Spec.Replicas
		d.Status.ObservedGeneration, d.Status.Replicas, d.Status.ReadyReplicas, d.Status.AvailableReplicas = d.Generation, n, n, n
	})
}

// run keeps the status of the objects of a resource as live sets it, and deletes those whose owner is gone.
func run[T informer.Object](ctx context.Context, cfg *rest.Config, resource schema.GroupVersionResource, what, runs string, opts Options, live func(obj T)) error {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Transcript != nil {
		cfg = demo.PrintWrites(cfg, opts.Transcript, "cluster", func(w demo.Write) string {
			if w.Verb == "delete" {
				return "deleted " + what + " " + w.Object.Name + ", whose owner is gone"
			}
			return runs + w.Object.Name
		})
	}
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	settings := controller.Options{Config: cfg, Name: "cluster", Workers: 16, Logger: opts.Log}
	if opts.Namespace != "" {
		settings.Informers.Namespaces = []string{opts.Namespace}
	}
	c := controller.New(settings)
	byOwner := indexer.OwnerUIDIndex[T]()
	objects := controller.For(c, resource, controller.ResourceOptions[T]{Informer: informer.ForOptions[T]{
		Indexer: indexer.Options[T]{Indexes: []indexer.IndexDefinition[T]{byOwner}},
	}})
	// Nothing but the metadata of the owners is needed, so nothing else is cached.
	owners := controller.Watches(c, opts.Owners, func(owner *metav1.PartialObjectMetadata) (keys []types.NamespacedName) {
		for obj := range indexer.ByIndex(objects.Cache.Snapshot(), byOwner, owner.UID) {
			keys = append(keys, client.KeyOf(obj))
		}
		return keys
	})
	return c.Run(ctx, func(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
		obj, err := objects.Get(key)
		if err != nil || obj.GetDeletionTimestamp() != nil {
			return workqueue.Result{}, client.IgnoreNotFound(err)
		}
		ref := metav1.GetControllerOf(obj)
		if ref != nil && ref.Kind == opts.OwnerKind && ref.APIVersion == opts.Owners.GroupVersion().String() {
			// The server is asked, not the cache: the cache may lag behind, and a deletion
			// cannot be taken back.
			owner, err := owners.Client.Get(ctx, types.NamespacedName{Namespace: key.Namespace, Name: ref.Name})
			switch {
			case apierrors.IsNotFound(err) || err == nil && owner.UID != ref.UID:
				time.Sleep(sweep)
				err = objects.Delete(ctx, key, client.Exactly(obj))
				if apierrors.IsConflict(err) {
					err = nil // another object has the name by now
				}
				return workqueue.Result{}, client.IgnoreNotFound(err)
			case err != nil:
				return workqueue.Result{}, err
			}
		}
		_, err = objects.ModifyStatus(ctx, key, func(obj T) error {
			live(obj)
			return nil
		})
		return workqueue.Result{}, client.IgnoreNotFound(err)
	})
}
