package bugs

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/informer/informertest/explore"
	"github.com/informerkit/informerkit/workqueue"
)

// orphan gives each pod of an App a claim. When the App gets smaller it deletes the surplus pods, and after each the claim. If
// it ends between the two, the claim stays: the pod that would lead to it is gone.
//
// In CassKop: scaling down "might end up in a dirty state (the pod is deleted but the pvc is still there) if the operator
// crashes in the middle of a reconcile". A relative in the RabbitMQ operator: https://github.com/rabbitmq/cluster-operator/issues/782.
//
// Mended: the surplus claims lead to what is to be deleted, and they go last.
func orphan() Case {
	return Case{
		Name:   "a crash between two writes leaves an orphan",
		Source: "https://github.com/Orange-OpenSource/casskop/issues/370",
		Buggy: database(func(d *databases, ctx context.Context, app *App) error {
			for _, pod := range d.pods.Owned(app) {
				if ordinal(pod) < app.Spec.Replicas || pod.DeletionTimestamp != nil {
					continue
				}
				if err := d.pods.Delete(ctx, client.KeyOf(pod), client.Exactly(pod)); client.IgnoreNotFound(err) != nil {
					return err
				}
				if err := d.claims.Delete(ctx, client.KeyOf(pod), metav1.DeleteOptions{}); client.IgnoreNotFound(err) != nil {
					return err
				}
			}
			return nil
		}),
		Mended: database(func(d *databases, ctx context.Context, app *App) error {
			for _, claim := range d.claims.Owned(app) {
				if ordinal(claim) < app.Spec.Replicas {
					continue
				}
				if err := d.pods.Delete(ctx, client.KeyOf(claim), metav1.DeleteOptions{}); client.IgnoreNotFound(err) != nil {
					return err
				}
				if err := d.claims.Delete(ctx, client.KeyOf(claim), client.Exactly(claim)); client.IgnoreNotFound(err) != nil {
					return err
				}
			}
			return nil
		}),
		Subject: explore.Subject{
			Act: func(w *explore.World) {
				w.Create(newApp("db", AppSpec{Replicas: 3}))
				w.Change(Apps, "default", "db", func(app *unstructured.Unstructured) {
					_ = unstructured.SetNestedField(app.Object, int64(1), "spec", "replicas")
				})
			},
			Always: func(v explore.View) error {
				for _, pod := range explore.List[corev1.Pod](v, pods, "default") {
					if pod.DeletionTimestamp == nil && v.Get(claims, pod.Namespace, pod.Name) == nil {
						return fmt.Errorf("pod %s has no claim", pod.Name)
					}
				}
				return nil
			},
			Eventually: func(v explore.View) error {
				var want []string
				for i := range explore.Get[App](v, Apps, "default", "db").Spec.Replicas {
					want = append(want, fmt.Sprint("db-", i))
				}
				if err := differ("pods", names(explore.List[corev1.Pod](v, pods, "default")), want); err != nil {
					return err
				}
				return differ("claims", names(explore.List[corev1.PersistentVolumeClaim](v, claims, "default")), want)
			},
		},
	}
}

// databases is the controller.
type databases struct {
	apps   *controller.Resource[*App]
	pods   *controller.Resource[*corev1.Pod]
	claims *controller.Resource[*corev1.PersistentVolumeClaim]
}

// database runs the controller, which makes an App smaller by the function.
func database(shrink func(d *databases, ctx context.Context, app *App) error) Start {
	return func(ctx context.Context, cfg *rest.Config) error {
		c := controller.New(controller.Options{Config: cfg, Name: "databases"})
		d := &databases{
			apps:   controller.For[*App](c, Apps),
			pods:   controller.Owns[*corev1.Pod](c, pods),
			claims: controller.Owns[*corev1.PersistentVolumeClaim](c, claims),
		}
		return c.Run(ctx, func(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
			app, err := d.apps.Get(key)
			if err != nil {
				return workqueue.Result{}, client.IgnoreNotFound(err)
			}
			for i := range app.Spec.Replicas {
				if err := d.ensure(ctx, app, i); err != nil {
					return workqueue.Result{}, err
				}
			}
			return workqueue.Result{}, shrink(d, ctx, app)
		})
	}
}

// ensure creates a pod with its claim.
func (d *databases) ensure(ctx context.Context, app *App, i int) error {
	key := types.NamespacedName{Namespace: app.Namespace, Name: fmt.Sprintf("%s-%d", app.Name, i)}
	owner := []metav1.OwnerReference{*metav1.NewControllerRef(app, Kind)}
	if _, err := d.pods.Get(key); err == nil {
		return nil
	}
	claim, pod := newClaim(key), newPod(key)
	claim.OwnerReferences, pod.OwnerReferences = owner, owner
	if _, err := d.claims.Create(ctx, claim); client.IgnoreAlreadyExists(err) != nil { // whatever the cache says
		return err
	}
	if _, err := d.pods.Create(ctx, pod); client.IgnoreAlreadyExists(err) != nil {
		return err
	}
	return nil
}

// ordinal is the number in a name.
func ordinal(obj metav1.Object) int {
	name := obj.GetName()
	n, err := strconv.Atoi(name[strings.LastIndex(name, "-")+1:])
	if err != nil {
		return -1 // not made by this controller
	}
	return n
}
