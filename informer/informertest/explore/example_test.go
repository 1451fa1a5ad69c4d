package explore_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/informer/informertest/explore"
	"github.com/informerkit/informerkit/workqueue"
)

var (
	configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")
	secrets    = corev1.SchemeGroupVersion.WithResource("secrets")
)

// runController keeps a secret for each config map with data. Put your own in its place.
func runController(ctx context.Context, cfg *rest.Config) error {
	c := controller.New(controller.Options{Config: cfg, Name: "secrets", Logger: slog.New(slog.DiscardHandler)})
	maps := controller.For[*corev1.ConfigMap](c, configMaps)
	owned := controller.Owns[*corev1.Secret](c, secrets)
	return c.Run(ctx, func(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
		cm, err := maps.Get(key)
		if err != nil || len(cm.Data) == 0 {
			return workqueue.Result{}, client.IgnoreNotFound(err)
		}
		if len(owned.Owned(cm)) > 0 {
			return workqueue.Result{}, nil
		}
		// Of the same name each time: a second attempt is refused, not carried out again.
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: cm.Namespace, Name: cm.Name}}
		if err := client.SetController(secret, cm, corev1.SchemeGroupVersion.WithKind("ConfigMap")); err != nil {
			return workqueue.Result{}, err
		}
		if _, err = owned.Create(ctx, secret); apierrors.IsAlreadyExists(err) {
			err = fmt.Errorf("the cache does not have it yet, or it is of another owner: %w", err)
		}
		return workqueue.Result{}, err
	})
}

// TestMyController is what README.md of this package shows.
func TestMyController(t *testing.T) {
	explore.Run(t, explore.Options{}, explore.Subject{
		Start: runController,
		Act: func(w *explore.World) {
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Data: map[string]string{"k": "v"}}
			w.Create(cm)
			w.Delete(secrets, "default", "a") // the controller makes it again
		},
		Always: func(v explore.View) error {
			if n := len(v.List(secrets, "default")); n > 1 {
				return fmt.Errorf("there are %d secrets", n)
			}
			return nil
		},
		Eventually: func(v explore.View) error {
			cm, secret := explore.Get[corev1.ConfigMap](v, configMaps, "default", "a"), explore.Get[corev1.Secret](v, secrets, "default", "a")
			if cm == nil || secret == nil || !metav1.IsControlledBy(secret, cm) {
				return fmt.Errorf("the config map has no secret")
			}
			return nil
		},
	})
}

// A test calls Run in one line; go test runs it.
func ExampleRun() {
	_ = func(t *testing.T) {
		explore.Run(t, explore.Options{}, explore.Subject{
			Start: runController,
			Act: func(w *explore.World) {
				w.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Data: map[string]string{"k": "v"}})
				w.Delete(secrets, "default", "a")
			},
			Eventually: func(v explore.View) error {
				if v.Get(secrets, "default", "a") == nil {
					return fmt.Errorf("the config map has no secret")
				}
				return nil
			},
		})
	}
	// Output:
}
