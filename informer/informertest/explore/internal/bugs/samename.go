package bugs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/informer/informertest/explore"
	"github.com/informerkit/informerkit/workqueue"
)

// sameName gives each App a ConfigMap for its data, and deletes it before the App goes. Both have the name of the App. A
// controller that was started again may see, in a list from the cache of a server that lags, an App that is being deleted; on the
// server there is another one of this name, and its data are deleted.
//
// In CassKop: "the stale event actually comes from the deletion of a previous CassandraCluster sharing the same name (but with a
// different UID) as the currently running one, so the PVC of the existing CassandraCluster will be listed and deleted
// mistakenly". The same in cass-operator (https://github.com/datastax/cass-operator/issues/412), the RabbitMQ operator
// (https://github.com/rabbitmq/cluster-operator/issues/648) and the node controller of Kubernetes
// (https://github.com/kubernetes/kubernetes/issues/29522).
//
// Mended: it asks the server whether the App is still this one, and deletes only what belongs to it, by its UID.
func sameName() Case {
	return Case{
		Name:   "deletes a new object of the same name",
		Source: "https://github.com/Orange-OpenSource/casskop/issues/316",
		Buggy:  stores((*storage).removeByName),
		Mended: stores((*storage).removeByUID),
		Subject: explore.Subject{
			Act: func(w *explore.World) {
				write := func(m *unstructured.Unstructured) {
					_ = unstructured.SetNestedField(m.Object, "100", "data", "balance")
				}
				w.Create(newApp("bank", AppSpec{Image: "example.com/bank"}))
				w.Change(maps, "default", "bank", write)
				w.Delete(Apps, "default", "bank")
				w.Create(newApp("bank", AppSpec{Image: "example.com/bank"}))
				w.Change(maps, "default", "bank", write)
				w.Change(Apps, "default", "bank", func(app *unstructured.Unstructured) {
					app.SetLabels(map[string]string{"tier": "back"})
				})
			},
			Always: func(v explore.View) error {
				all := v.Writes()
				if len(all) == 0 {
					return nil
				}
				last := all[len(all)-1]
				if last.Verb != "delete" || last.Resource != maps || last.Before == nil || last.After != nil {
					return nil
				}
				app := explore.Get[App](v, Apps, last.Namespace, last.Name)
				if app != nil && app.DeletionTimestamp == nil && metav1.IsControlledBy(last.Before, app) {
					return errors.New("the data of App " + app.Name + " are deleted, and nobody has deleted the App")
				}
				return nil
			},
			Eventually: func(v explore.View) error {
				var want []string
				for _, app := range explore.List[App](v, Apps, "default") {
					want = append(want, app.Name)
					if app.DeletionTimestamp != nil {
						return errors.New("App " + app.Name + " was deleted and is still there")
					}
				}
				return differ("ConfigMaps", names(explore.List[corev1.ConfigMap](v, maps, "default")), want)
			},
		},
	}
}

// dataFinalizer keeps an App until its data are removed.
const dataFinalizer = "shop.example.com/data"

// storage is the controller.
type storage struct {
	apps *controller.Resource[*App]
	data *controller.Resource[*corev1.ConfigMap]
}

// stores runs the controller. It removes the data of an App by the function.
func stores(remove func(s *storage, ctx context.Context, app *App) error) Start {
	return func(ctx context.Context, cfg *rest.Config) error {
		c := controller.New(controller.Options{Config: cfg, Name: "stores"})
		s := &storage{apps: controller.For[*App](c, Apps), data: controller.Owns[*corev1.ConfigMap](c, maps)}
		return c.Run(ctx, func(ctx context.Context, key types.NamespacedName) (result workqueue.Result, err error) {
			app, err := s.apps.Get(key)
			if err != nil {
				return result, client.IgnoreNotFound(err)
			}
			app = app.DeepCopy()
			switch {
			case app.DeletionTimestamp == nil && client.AddFinalizer(app, dataFinalizer):
				_, err = s.apps.Update(ctx, app)
				return result, client.IgnoreNotFound(err)
			case app.DeletionTimestamp == nil:
				return result, s.ensure(ctx, app)
			case !slices.Contains(app.Finalizers, dataFinalizer):
				return result, nil
			}
			if err := remove(s, ctx, app); err != nil {
				return result, err
			}
			client.RemoveFinalizer(app, dataFinalizer)
			_, err = s.apps.Update(ctx, app) // with its UID and resourceVersion
			return result, client.IgnoreNotFound(err)
		})
	}
}

// ensure creates the ConfigMap.
func (s *storage) ensure(ctx context.Context, app *App) error {
	if have, err := s.data.Get(client.KeyOf(app)); err == nil && metav1.IsControlledBy(have, app) {
		return nil
	}
	if err := s.current(ctx, app); err != nil {
		return err
	}
	data := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}}
	if err := client.SetController(data, app, s.apps.Kind); err != nil {
		return err
	}
	_, err := s.data.Create(ctx, data)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	have, err := s.data.Client.Get(ctx, client.KeyOf(app))
	if err == nil && !metav1.IsControlledBy(have, app) {
		err = fmt.Errorf("ConfigMap %s belongs to another App, which is being deleted", app.Name)
	}
	return err
}

// current returns an error if the server has no App of this UID any more.
func (s *storage) current(ctx context.Context, app *App) error {
	now, err := s.apps.Client.Get(ctx, client.KeyOf(app))
	if err == nil && now.UID != app.UID {
		err = fmt.Errorf("App %s is another one now", app.Name)
	}
	return err
}

// removeByName deletes the ConfigMap.
func (s *storage) removeByName(ctx context.Context, app *App) error {
	return client.IgnoreNotFound(s.data.Delete(ctx, client.KeyOf(app), metav1.DeleteOptions{}))
}

// removeByUID deletes the ConfigMap if it is that of this App.
func (s *storage) removeByUID(ctx context.Context, app *App) error {
	have, err := s.data.Client.Get(ctx, client.KeyOf(app)) // the server's: that of the cache may be another one
	if err != nil || !metav1.IsControlledBy(have, app) {
		return client.IgnoreNotFound(err)
	}
	return client.IgnoreNotFound(s.data.Delete(ctx, client.KeyOf(app), client.Exactly(have)))
}
