package bugs

import (
	"context"
	"encoding/json"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/informer/informertest/explore"
	"github.com/informerkit/informerkit/workqueue"
)

// putBack keeps a ConfigMap for each App and the condition Ready in its status; an approver keeps another condition there. It
// patches the list of conditions as the cache has it, without a resourceVersion: what the approver has written since is gone.
//
// In Cluster API: "The cache is not updated by any write calls", and a patch of what was computed from it loses a part of the status.
// The same in Grove: https://github.com/ai-dynamo/grove/issues/775.
//
// Mended: the version that was read is part of the write, so the server refuses it.
func putBack() Case {
	return Case{
		Name:   "puts back a status that another writer has changed",
		Source: "https://github.com/kubernetes-sigs/cluster-api/issues/7594",
		Buggy: settings(func(apps *controller.Resource[*App], ctx context.Context, app *App, ready metav1.Condition) error {
			status := app.DeepCopy().Status
			if !meta.SetStatusCondition(&status.Conditions, ready) {
				return nil
			}
			patch, err := json.Marshal(map[string]any{"status": status})
			if err != nil {
				return err
			}
			_, err = apps.Status().Patch(ctx, client.KeyOf(app), types.MergePatchType, patch)
			return err
		}),
		Mended: settings(func(apps *controller.Resource[*App], ctx context.Context, app *App, ready metav1.Condition) error {
			_, err := apps.Status().ModifyFrom(ctx, app, func(app *App) error {
				meta.SetStatusCondition(&app.Status.Conditions, ready)
				return nil
			})
			return err
		}),
		Without: []string{"replace"}, // an App that is created again is not approved any more
		Subject: explore.Subject{
			Act: func(w *explore.World) {
				w.Create(newApp("mail", AppSpec{Image: "example.com/mail:1"}))
				w.Change(Apps, "default", "mail", func(app *unstructured.Unstructured) { // the approver
					conditions, _, _ := unstructured.NestedSlice(app.Object, "status", "conditions")
					conditions = append(conditions, map[string]any{
						"type": "Approved", "status": "True", "reason": "Reviewed", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
					})
					_ = unstructured.SetNestedSlice(app.Object, conditions, "status", "conditions")
				})
				w.Delete(maps, "default", "mail")
				w.Change(Apps, "default", "mail", func(app *unstructured.Unstructured) {
					_ = unstructured.SetNestedField(app.Object, "example.com/mail:2", "spec", "image")
				})
			},
			Eventually: func(v explore.View) error {
				app := explore.Get[App](v, Apps, "default", "mail")
				m := explore.Get[corev1.ConfigMap](v, maps, "default", "mail")
				switch {
				case m == nil || m.Data["image"] != app.Spec.Image:
					return errors.New("the ConfigMap of the App is missing or old")
				case !meta.IsStatusConditionTrue(app.Status.Conditions, "Ready"):
					return errors.New("the App is not Ready")
				case !meta.IsStatusConditionTrue(app.Status.Conditions, "Approved"):
					return errors.New("the App was approved, and its status does not say so")
				}
				return nil
			},
		},
	}
}

// settings is the controller. It writes the condition by the function.
func settings(write func(apps *controller.Resource[*App], ctx context.Context, app *App, ready metav1.Condition) error) Start {
	return func(ctx context.Context, cfg *rest.Config) error {
		c := controller.New(controller.Options{Config: cfg, Name: "settings"})
		apps := controller.For[*App](c, Apps)
		settings := controller.Owns[*corev1.ConfigMap](c, maps)
		return c.Run(ctx, func(ctx context.Context, key types.NamespacedName) (result workqueue.Result, err error) {
			app, err := apps.Get(key)
			if err != nil {
				return result, client.IgnoreNotFound(err)
			}
			m, _, err := settings.CreateOrUpdate(ctx, key, func(m *corev1.ConfigMap) error {
				m.Data = map[string]string{"image": app.Spec.Image}
				return client.SetController(m, app, apps.Kind)
			})
			if err != nil {
				return result, err
			}
			ready := metav1.Condition{
				Type: "Ready", Status: metav1.ConditionTrue, Reason: "Written",
				Message: "the settings are in the ConfigMap with the UID " + string(m.UID), ObservedGeneration: app.Generation,
			}
			return result, client.IgnoreNotFound(write(apps, ctx, app, ready))
		})
	}
}
