package bugs

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/informertest/explore"
	"github.com/informerkit/informerkit/workqueue"
)

// unseen gives each pod a claim, and deletes the claim when the pod is being deleted. If the pod goes while the controller is
// down, or its watch is, it never sees the deletionTimestamp, and the claim stays.
//
// In Instaclustr's Cassandra operator: "if the delete event for such a to-be-deleted pod comes earlier and removes the
// Cassandra pod from the local indexer, then AllDeletedPods will never see such a deletionTimestamp […] In that way, the pvc
// belonging to this pod will never be deleted by the controller".
//
// Mended: a claim without a pod is deleted, whatever was seen of the pod; and claims are events, too.
func unseen() Case {
	return Case{
		Name:   "needs to see an intermediate state",
		Source: "https://github.com/instaclustr/cassandra-operator/issues/398",
		Buggy:  volumes(false),
		Mended: volumes(true),
		Subject: explore.Subject{
			Act: func(w *explore.World) {
				start := func(name string) func(s *informertest.Server) error {
					return func(s *informertest.Server) error {
						pod := newPod(types.NamespacedName{Namespace: "default", Name: name})
						pod.Spec.NodeName = "node" // it ends when the kubelet says so
						return s.Create(pod)
					}
				}
				w.Do("start pod ca-0", start("ca-0"))
				w.Do("start pod ca-1", start("ca-1"))
				w.Delete(pods, "default", "ca-1")
			},
			Eventually: func(v explore.View) error {
				want := names(explore.List[corev1.Pod](v, pods, "default"))
				if len(want) != 1 {
					return errors.New("pod ca-1 was deleted and is still there")
				}
				return differ("claims", names(explore.List[corev1.PersistentVolumeClaim](v, claims, "default")), want)
			},
		},
	}
}

// volumes is the controller. If it collects claims, it deletes those whose pods are gone.
func volumes(collect bool) Start {
	return func(ctx context.Context, cfg *rest.Config) error {
		factory, err := informer.NewFactory(cfg, informer.FactoryOptions{})
		if err != nil {
			return err
		}
		podCache, err := informer.For(factory, informer.ForOptions[*corev1.Pod]{Resource: pods})
		if err != nil {
			return err
		}
		claimCache, err := informer.For(factory, informer.ForOptions[*corev1.PersistentVolumeClaim]{Resource: claims})
		if err != nil {
			return err
		}
		podClient, err := client.New[*corev1.Pod](cfg, pods, client.Options{})
		if err != nil {
			return err
		}
		claimClient, err := client.New[*corev1.PersistentVolumeClaim](cfg, claims, client.Options{})
		if err != nil {
			return err
		}
		queue := workqueue.NewRateLimiting(nil, workqueue.Options[types.NamespacedName]{Name: "volumes"})
		if _, err := informer.EnqueueKeysOf(podCache, queue); err != nil {
			return err
		}
		if collect {
			if _, err := informer.EnqueueKeysOf(claimCache, queue); err != nil {
				return err
			}
		}
		reconcile := func(ctx context.Context, key types.NamespacedName) error {
			claim, missing := claimCache.Lister().Get(key)
			pod, err := podCache.Lister().Get(key)
			switch {
			case apierrors.IsNotFound(err) && collect && missing == nil:
				// Not in the cache: is it on the server?
				if _, err := podClient.Get(ctx, key); err == nil {
					return fmt.Errorf("the cache has to see pod %s first", key) // it may go before that, without an event
				} else if !apierrors.IsNotFound(err) {
					return err
				}
				return client.IgnoreNotFound(claimClient.Delete(ctx, key, client.Exactly(claim)))
			case err != nil:
				return client.IgnoreNotFound(err)
			case pod.DeletionTimestamp != nil:
				return client.IgnoreNotFound(claimClient.Delete(ctx, key, metav1.DeleteOptions{}))
			case missing != nil:
				_, err = claimClient.Create(ctx, newClaim(key))
				return client.IgnoreAlreadyExists(err)
			}
			return nil
		}
		return factory.Run(ctx, func(ctx context.Context) error {
			return workqueue.Process(ctx, queue, 1, reconcile)
		})
	}
}
