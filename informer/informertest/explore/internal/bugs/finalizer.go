package bugs

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/informertest/explore"
	"github.com/informerkit/informerkit/workqueue"
)

// finalizer keeps a record of each App in another namespace, and removes it before the App goes. If the App has changed when
// it removes the finalizer, it leaves the rest to the event of that change; but changes of metadata are no events for it.
//
// In Envoy AI Gateway: "If the error is swallowed instead of returned, reconcile may not requeue, and because many controllers
// use GenerationChangedPredicate, metadata-only changes […] may not trigger another reconcile. This can leave resources
// permanently stuck in Terminating".
//
// Mended: a conflict is an error, and so it is tried again.
func finalizer() Case {
	return Case{
		Name:   "a finalizer stays if the object changes meanwhile",
		Source: "https://github.com/envoyproxy/ai-gateway/issues/2565",
		Buggy: recorded(func(err error) error {
			if apierrors.IsConflict(err) {
				return nil // the change is an event
			}
			return err
		}),
		Mended: recorded(func(err error) error { return err }),
		Subject: explore.Subject{
			Setup: func(s *informertest.Server) {
				if err := s.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "registry"}}); err != nil {
					panic(err)
				}
			},
			Act: func(w *explore.World) {
				w.Create(newApp("a", AppSpec{Image: "example.com/a"}))
				w.Create(newApp("b", AppSpec{Image: "example.com/b"}))
				w.Change(Apps, "default", "a", func(app *unstructured.Unstructured) {
					app.SetLabels(map[string]string{"tier": "front"})
				})
				w.Delete(Apps, "default", "a")
				w.Change(Apps, "default", "a", func(app *unstructured.Unstructured) { // kubectl label --all
					app.SetLabels(map[string]string{"tier": "back"})
				})
			},
			Eventually: func(v explore.View) error {
				var want []string
				for _, app := range explore.List[App](v, Apps, "") {
					want = append(want, app.Namespace+"."+app.Name)
					if app.DeletionTimestamp != nil {
						return errors.New("App " + app.Name + " was deleted and is still there")
					}
				}
				return differ("records", names(explore.List[corev1.ConfigMap](v, maps, "registry")), want)
			},
		},
	}
}

// recordFinalizer keeps an App until its record is removed.
const recordFinalizer = "shop.example.com/record"

// recorded is the controller. The function says what an error of the removal of the finalizer means.
func recorded(meaning func(err error) error) Start {
	return func(ctx context.Context, cfg *rest.Config) error {
		c := controller.New(controller.Options{Config: cfg, Name: "records"})
		apps := controller.For(c, Apps, controller.ResourceOptions[*App]{When: informer.GenerationChanged[*App]()})
		records := controller.Reads[*corev1.ConfigMap](c, maps)
		return c.Run(ctx, func(ctx context.Context, key types.NamespacedName) (result workqueue.Result, err error) {
			app, err := apps.Get(key)
			if err != nil {
				return result, client.IgnoreNotFound(err)
			}
			record := types.NamespacedName{Namespace: "registry", Name: key.Namespace + "." + key.Name}
			app = app.DeepCopy()
			if app.DeletionTimestamp != nil {
				if !slices.Contains(app.Finalizers, recordFinalizer) {
					return result, nil
				}
				if err := records.Delete(ctx, record, metav1.DeleteOptions{}); client.IgnoreNotFound(err) != nil {
					return result, err
				}
				client.RemoveFinalizer(app, recordFinalizer)
				_, err = apps.Update(ctx, app)
				return result, meaning(client.IgnoreNotFound(err))
			}
			if client.AddFinalizer(app, recordFinalizer) {
				if _, err := apps.Update(ctx, app); err != nil {
					return result, client.IgnoreNotFound(err)
				}
			}
			_, _, err = records.CreateOrUpdate(ctx, record, func(m *corev1.ConfigMap) error {
				m.Data = map[string]string{"image": app.Spec.Image}
				return nil
			})
			return result, err
		})
	}
}
