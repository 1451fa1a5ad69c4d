package bugs

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/informer/informertest/explore"
	"github.com/informerkit/informerkit/workqueue"
)

// jobs are where the server has Jobs.
var jobs = batchv1.SchemeGroupVersion.WithResource("jobs")

// generateName runs a Job, such as a migration, for each new specification of an App, and notes its name in the status. If the
// answer of the server is lost, or the status cannot be written, there is no name, and it runs another one.
//
// In Tekton: "after create new pod, at the end of reconcile it try to update the taskrun but failed", and the retry created extra
// pods; also https://github.com/tektoncd/pipeline/issues/4358. It was mended as here, by
// https://github.com/tektoncd/pipeline/pull/4361.
//
// Mended: the name is that of the App, with its UID and its generation.
func generateName() Case {
	return Case{
		Name:   "creates twice after a lost answer",
		Source: "https://github.com/tektoncd/pipeline/issues/1976",
		Buggy:  migrations(func(job *batchv1.Job, app *App) { job.GenerateName = app.Name + "-" }),
		Mended: migrations(func(job *batchv1.Job, app *App) {
			job.Name = fmt.Sprintf("%s-%.8s-%d", app.Name, app.UID, app.Generation)
		}),
		Subject: explore.Subject{
			Act: func(w *explore.World) {
				w.Create(newApp("shop", AppSpec{Image: "example.com/shop:1"}))
				w.Change(Apps, "default", "shop", func(app *unstructured.Unstructured) {
					_ = unstructured.SetNestedField(app.Object, "example.com/shop:2", "spec", "image")
				})
			},
			Always: func(v explore.View) error {
				ran := map[string]string{}
				for _, job := range explore.List[batchv1.Job](v, jobs, "default") {
					image, app := job.Spec.Template.Spec.Containers[0].Image, job.OwnerReferences[0].UID
					if other, twice := ran[image+string(app)]; twice {
						return fmt.Errorf("the migration to %s runs twice, as %s and as %s", image, other, job.Name)
					}
					ran[image+string(app)] = job.Name
				}
				return nil
			},
			Eventually: func(v explore.View) error {
				app := explore.Get[App](v, Apps, "default", "shop")
				job := explore.Get[batchv1.Job](v, jobs, "default", app.Status.Job)
				if job == nil || job.Spec.Template.Spec.Containers[0].Image != app.Spec.Image {
					return fmt.Errorf("status.job is %q, which is no Job for %s", app.Status.Job, app.Spec.Image)
				}
				return nil
			},
		},
	}
}

// migrations is the controller. It names a Job by the function.
func migrations(name func(job *batchv1.Job, app *App)) Start {
	return func(ctx context.Context, cfg *rest.Config) error {
		c := controller.New(controller.Options{Config: cfg, Name: "migrations"})
		apps := controller.For[*App](c, Apps)
		jobs := controller.Owns[*batchv1.Job](c, jobs)
		return c.Run(ctx, func(ctx context.Context, key types.NamespacedName) (result workqueue.Result, err error) {
			app, err := apps.Get(key)
			if err != nil || app.Status.ObservedGeneration == app.Generation {
				return result, client.IgnoreNotFound(err)
			}
			// A Job of an App that is gone would be garbage, and be made again and again.
			if now, err := apps.Client.Get(ctx, key); err != nil || now.UID != app.UID {
				return result, client.IgnoreNotFound(err)
			}
			job := &batchv1.Job{}
			job.Namespace = app.Namespace
			name(job, app)
			job.Spec.Template.Spec = corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: "migrate", Image: app.Spec.Image}},
			}
			if err := client.SetController(job, app, apps.Kind); err != nil {
				return result, err
			}
			made, err := jobs.Create(ctx, job)
			if client.IgnoreAlreadyExists(err) != nil {
				return result, err
			}
			if err != nil {
				made = job // it is this one
			}
			app = app.DeepCopy()
			app.Status.Job, app.Status.ObservedGeneration = made.Name, app.Generation
			_, err = apps.Status().Update(ctx, app)
			return result, client.IgnoreNotFound(err)
		})
	}
}
