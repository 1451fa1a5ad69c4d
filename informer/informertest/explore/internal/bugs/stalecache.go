package bugs

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/informertest/explore"
	"github.com/informerkit/informerkit/workqueue"
)

// staleCache starts the pods of an App one after another: it counts those in the cache, and creates one if there are too
// few. The cache need not have the pod that it created a moment ago, or before it was started again.
//
// In KubeRay: "there's currently no accounting mechanism to try to maintain read-after-write consistency. As a result […]
// more pods are launched than necessary". The same in ECK (https://github.com/elastic/cloud-on-k8s/pull/290) and in
// Cluster API (https://github.com/kubernetes-sigs/cluster-api/issues/13649).
//
// Mended: the name says which one of the pods it is, so the server refuses the second one.
func staleCache() Case {
	return Case{
		Name:   "creates again on a stale cache",
		Source: "https://github.com/ray-project/kuberay/issues/715",
		Buggy: replicas(func(pod *corev1.Pod, app *App, _ []*corev1.Pod) {
			pod.GenerateName = app.Name + "-"
		}),
		Mended: replicas(func(pod *corev1.Pod, app *App, have []*corev1.Pod) {
			taken := map[string]bool{}
			for _, pod := range have {
				taken[pod.Name] = true
			}
			for i := 0; pod.Name == "" || taken[pod.Name]; i++ {
				pod.Name = fmt.Sprintf("%s-%d", app.Name, i)
			}
		}),
		Subject: explore.Subject{
			Act: func(w *explore.World) {
				w.Create(newApp("web", AppSpec{Replicas: 2}))
				w.Change(Apps, "default", "web", func(app *unstructured.Unstructured) {
					app.SetAnnotations(map[string]string{"contact": "team-web"})
				})
				w.Change(Apps, "default", "web", func(app *unstructured.Unstructured) {
					_ = unstructured.SetNestedField(app.Object, int64(3), "spec", "replicas")
				})
				w.Change(Apps, "default", "web", func(app *unstructured.Unstructured) {
					app.SetAnnotations(map[string]string{"contact": "team-shop"})
				})
			},
			Always: func(v explore.View) error {
				app := explore.Get[App](v, Apps, "default", "web")
				if have := explore.List[corev1.Pod](v, pods, "default"); app != nil && len(have) > app.Spec.Replicas {
					return fmt.Errorf("there are %d pods, and the App asks for %d", len(have), app.Spec.Replicas)
				}
				return nil
			},
			Eventually: func(v explore.View) error {
				app := explore.Get[App](v, Apps, "default", "web")
				if have := explore.List[corev1.Pod](v, pods, "default"); len(have) != app.Spec.Replicas {
					return fmt.Errorf("there are %d pods, and the App asks for %d", len(have), app.Spec.Replicas)
				}
				return nil
			},
		},
	}
}

// replicas is the controller. It names a new pod by the function.
func replicas(name func(pod *corev1.Pod, app *App, have []*corev1.Pod)) Start {
	return func(ctx context.Context, cfg *rest.Config) error {
		factory, err := informer.NewFactory(cfg, informer.FactoryOptions{})
		if err != nil {
			return err
		}
		appCache, err := informer.For(factory, informer.ForOptions[*App]{Resource: Apps})
		if err != nil {
			return err
		}
		podCache, err := informer.For(factory, informer.ForOptions[*corev1.Pod]{Resource: pods})
		if err != nil {
			return err
		}
		owned := indexer.OwnerUIDIndex[*corev1.Pod]()
		if err := podCache.AddIndex(owned); err != nil {
			return err
		}
		podClient, err := client.New[*corev1.Pod](cfg, pods, client.Options{})
		if err != nil {
			return err
		}
		queue := workqueue.NewRateLimiting(nil, workqueue.Options[types.NamespacedName]{Name: "replicas"})
		if _, err := informer.EnqueueKeysOf(appCache, queue); err != nil {
			return err
		}
		if _, err := informer.EnqueueOwnersOf(podCache, queue, informer.Owner{Kind: Kind}); err != nil {
			return err
		}
		reconcile := func(ctx context.Context, key types.NamespacedName) error {
			app, err := appCache.Lister().Get(key)
			if err != nil {
				return client.IgnoreNotFound(err)
			}
			var have []*corev1.Pod
			for pod := range indexer.ByIndex(podCache.Snapshot(), owned, app.UID) {
				have = append(have, pod)
			}
			if len(have) >= app.Spec.Replicas {
				return nil
			}
			pod := newPod(types.NamespacedName{Namespace: app.Namespace})
			name(pod, app, have)
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(app, Kind)}
			_, err = podClient.Create(ctx, pod) // the next one when this one is an event
			return client.IgnoreAlreadyExists(err)
		}
		return factory.Run(ctx, func(ctx context.Context) error {
			return workqueue.Process(ctx, queue, 1, reconcile)
		})
	}
}
