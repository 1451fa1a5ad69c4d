package bugs

import (
	"context"
	"fmt"

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

// hotLoop keeps a pod for each App. If it cannot be created, as the quota is used up, the status says so, and how often it was
// tried. Each write of the status is an event, which starts the next attempt at once: the pause after an error has no effect.
//
// In mxl-k8s: "The write produces a watch event, the event triggers another reconcile, the open fails again, and status is written
// again. The loop is bounded only by apiserver throughput". The same in Longhorn (https://github.com/longhorn/longhorn/issues/13831)
// and Crossplane (https://github.com/crossplane/crossplane/issues/3455).
//
// Mended: the status says what is wrong, and nothing that differs from attempt to attempt.
func hotLoop() Case {
	return Case{
		Name:   "its own status write starts the next reconcile",
		Source: "https://github.com/qvest-digital/mxl-k8s/issues/244",
		Buggy: singles(func(app *App, failure error) {
			app.Status.Attempts++
			meta.SetStatusCondition(&app.Status.Conditions, metav1.Condition{
				Type: "Ready", Status: metav1.ConditionFalse, Reason: "CannotCreate",
				Message: fmt.Sprintf("attempt %d: %v", app.Status.Attempts, failure),
			})
		}),
		Mended: singles(func(app *App, failure error) {
			meta.SetStatusCondition(&app.Status.Conditions, metav1.Condition{
				Type: "Ready", Status: metav1.ConditionFalse, Reason: "CannotCreate", Message: failure.Error(),
			})
		}),
		Subject: explore.Subject{
			Act: func(w *explore.World) {
				w.Create(newApp("cron", AppSpec{Image: "example.com/cron"}))
				w.Delete(pods, "default", "cron")
				w.Change(Apps, "default", "cron", func(app *unstructured.Unstructured) {
					app.SetLabels(map[string]string{"tier": "back"})
				})
			},
			Eventually: func(v explore.View) error {
				app := explore.Get[App](v, Apps, "default", "cron")
				if v.Get(pods, "default", "cron") == nil {
					return fmt.Errorf("App cron has no pod")
				}
				if !meta.IsStatusConditionTrue(app.Status.Conditions, "Ready") {
					return fmt.Errorf("App cron has its pod, and is not Ready")
				}
				return nil
			},
		},
	}
}

// singles is the controller. It writes into the status by the function why there is no pod.
func singles(explain func(app *App, failure error)) Start {
	return func(ctx context.Context, cfg *rest.Config) error {
		c := controller.New(controller.Options{Config: cfg, Name: "singles"})
		apps := controller.For[*App](c, Apps)
		owned := controller.Owns[*corev1.Pod](c, pods)
		return c.Run(ctx, func(ctx context.Context, key types.NamespacedName) (result workqueue.Result, err error) {
			app, err := apps.Get(key)
			if err != nil {
				return result, client.IgnoreNotFound(err)
			}
			var failure error
			if _, err := owned.Get(key); err != nil {
				pod := newPod(key)
				pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(app, Kind)}
				_, err := owned.Create(ctx, pod)
				failure = client.IgnoreAlreadyExists(err)
			}
			_, err = apps.ModifyStatus(ctx, key, func(app *App) error {
				if failure != nil {
					explain(app, failure)
					return nil
				}
				app.Status.Attempts = 0
				meta.SetStatusCondition(&app.Status.Conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Created"})
				return nil
			})
			if failure != nil {
				return result, failure
			}
			return result, client.IgnoreNotFound(err)
		})
	}
}
