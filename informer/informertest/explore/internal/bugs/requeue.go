package bugs

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/informertest/explore"
	"github.com/informerkit/informerkit/workqueue"
)

// requeue keeps a ConfigMap with the image of each App. Its loop returns an error and logs it, but does not add the key again.
//
// In Kubernetes' sample-controller: "When the syncHandler returns an error, I would expect the work item to be re-added to the
// workqueue according to this comment. […] one can see that the work item does not get requeued". The same in Knative
// (https://github.com/knative/serving/issues/2350).
//
// Mended: the key is added again, with a pause.
func requeue() Case {
	return Case{
		Name:   "loses a requeue",
		Source: "https://github.com/kubernetes/sample-controller/issues/31",
		Buggy:  images(func(*workqueue.RateLimitingQueue[types.NamespacedName], types.NamespacedName) {}),
		Mended: images(func(queue *workqueue.RateLimitingQueue[types.NamespacedName], key types.NamespacedName) {
			queue.AddRateLimited(key)
		}),
		Subject: explore.Subject{
			Act: func(w *explore.World) {
				w.Create(newApp("a", AppSpec{Image: "example.com/a:1"}))
				w.Create(newApp("b", AppSpec{Image: "example.com/b:1"}))
				w.Change(Apps, "default", "a", func(app *unstructured.Unstructured) {
					_ = unstructured.SetNestedField(app.Object, "example.com/a:2", "spec", "image")
				})
			},
			Eventually: func(v explore.View) error {
				for _, app := range explore.List[App](v, Apps, "default") {
					m := explore.Get[corev1.ConfigMap](v, maps, app.Namespace, app.Name)
					if m == nil || m.Data["image"] != app.Spec.Image {
						return fmt.Errorf("App %s has the image %s, and its ConfigMap does not", app.Name, app.Spec.Image)
					}
				}
				return nil
			},
		},
	}
}

// images is the controller. It calls the function for a key that failed.
func images(failed func(queue *workqueue.RateLimitingQueue[types.NamespacedName], key types.NamespacedName)) Start {
	return func(ctx context.Context, cfg *rest.Config) error {
		factory, err := informer.NewFactory(cfg, informer.FactoryOptions{})
		if err != nil {
			return err
		}
		appCache, err := informer.For(factory, informer.ForOptions[*App]{Resource: Apps})
		if err != nil {
			return err
		}
		mapCache, err := informer.For(factory, informer.ForOptions[*corev1.ConfigMap]{Resource: maps})
		if err != nil {
			return err
		}
		mapClient, err := client.New[*corev1.ConfigMap](cfg, maps, client.Options{})
		if err != nil {
			return err
		}
		queue := workqueue.NewRateLimiting(nil, workqueue.Options[types.NamespacedName]{Name: "images"})
		if _, err := informer.EnqueueKeysOf(appCache, queue); err != nil {
			return err
		}
		if _, err := informer.EnqueueOwnersOf(mapCache, queue, informer.Owner{Kind: Kind}); err != nil {
			return err
		}
		syncOne := func(ctx context.Context, key types.NamespacedName) error {
			app, err := appCache.Lister().Get(key)
			if err != nil {
				return client.IgnoreNotFound(err)
			}
			have, err := mapCache.Lister().Get(key)
			if client.IgnoreNotFound(err) != nil {
				return err
			}
			_, _, err = mapClient.CreateOrUpdate(ctx, key, have, func(m *corev1.ConfigMap) error {
				m.Data = map[string]string{"image": app.Spec.Image}
				m.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(app, Kind)}
				return nil
			})
			return err
		}
		next := func(ctx context.Context) bool {
			key, ok := queue.Get(ctx)
			if !ok {
				return false
			}
			defer queue.Done(key)
			if err := syncOne(ctx, key); err != nil {
				slog.Warn("an App cannot be synced", "item", key, "error", err)
				failed(queue, key)
				return true
			}
			queue.Forget(key)
			return true
		}
		return factory.Run(ctx, func(ctx context.Context) error {
			defer queue.ShutDown()
			var workers sync.WaitGroup
			for range 2 {
				workers.Go(func() {
					for more := true; more; more = next(ctx) {
					}
				})
			}
			workers.Wait()
			return nil
		})
	}
}
