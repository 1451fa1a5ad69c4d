package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/reflector"
)

// RunDeployments plays, until ctx ends, what becomes of Deployments in a cluster:
// as many replicas are available as are wanted, and a Deployment whose controller
// (an object of opts.Owners) is gone is deleted.
func RunDeployments(ctx context.Context, cfg *rest.Config, opts Options) error {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	resource := appsv1.SchemeGroupVersion.WithResource("deployments")
	source, err := reflector.NewResource[*appsv1.Deployment](cfg, resource, reflector.ResourceOptions{Namespace: opts.Namespace})
	if err != nil {
		return err
	}
	deployments, err := informer.New(source, informer.Options[*appsv1.Deployment]{Name: "cluster-deployments", Logger: opts.Log})
	if err != nil {
		return err
	}
	ownerSource, err := reflector.NewResource[*metav1.PartialObjectMetadata](cfg, opts.Owners, reflector.ResourceOptions{Namespace: opts.Namespace})
	if err != nil {
		return err
	}
	owners, err := informer.New(ownerSource, informer.Options[*metav1.PartialObjectMetadata]{Name: "cluster-owners", Logger: opts.Log})
	if err != nil {
		return err
	}
	writer, err := client.New[*appsv1.Deployment](demo.PrintWrites(cfg, opts.Transcript, "cluster", func(w demo.Write) string {
		if w.Verb == "delete" {
			return "deleted deployment " + w.Object.Name + ", whose owner is gone"
		}
		return "runs the pods of deployment " + w.Object.Name
	}), resource, client.Options{})
	if err != nil {
		return err
	}
	live, err := client.New[*unstructured.Unstructured](cfg, opts.Owners, client.Options{})
	if err != nil {
		return err
	}

	queue := newQueue("cluster-deployments")
	_, errDeployments := deployments.AddHandler(informer.EnqueueKey[*appsv1.Deployment](queue), informer.HandlerOptions{})
	_, errOwners := owners.AddHandler(informer.HandlerFuncs[*metav1.PartialObjectMetadata]{
		DeleteFunc: func(owner *metav1.PartialObjectMetadata) {
			for d := range deployments.Snapshot().ByNamespace(owner.Namespace) {
				queue.AddAfter(client.KeyOf(d), sweep)
			}
		},
	}, informer.HandlerOptions{})
	if err := errors.Join(errDeployments, errOwners); err != nil {
		return err
	}
	return demo.Beside(ctx, func(ctx context.Context) error {
		return process(ctx, queue, opts.Log, func(ctx context.Context, key types.NamespacedName) error {
			d, ok := deployments.Snapshot().Get(key)
			if !ok {
				return nil
			}
			if ref := metav1.GetControllerOf(d); ref != nil && ref.Kind == opts.OwnerKind {
				owner, err := live.Get(ctx, types.NamespacedName{Namespace: key.Namespace, Name: ref.Name})
				if apierrors.IsNotFound(err) || err == nil && owner.GetUID() != ref.UID {
					return writer.Delete(ctx, key, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &d.UID}})
				}
				if err != nil {
					return fmt.Errorf("look up owner %s: %w", ref.Name, err)
				}
			}
			_, err := writer.Status().Modify(ctx, key, func(fresh *appsv1.Deployment) error {
				fresh.Status.ObservedGeneration = fresh.Generation
				n := *fresh.Spec.Replicas
				fresh.Status.Replicas, fresh.Status.ReadyReplicas, fresh.Status.AvailableReplicas = n, n, n
				return nil
			})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		})
	}, deployments.Run, owners.Run)
}
