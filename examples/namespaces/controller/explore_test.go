package controller

import (
	"context"
	"log/slog"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/informertest/explore"
)

// The controller writes nothing: the rules are that it ends in time, leaves no goroutine
// and does not panic, whatever order things come in. See the README of package explore.
func TestTheControllerSurvives(t *testing.T) {
	namespaces := corev1.SchemeGroupVersion.WithResource("namespaces")
	watch := func(value string) func(*unstructured.Unstructured) {
		return func(u *unstructured.Unstructured) {
			u.SetLabels(map[string]string{"examples.informerkit.dev/watch": value})
		}
	}
	explore.Run(t, explore.Options{Schedules: 40}, explore.Subject{
		Start: func(ctx context.Context, cfg *rest.Config) error {
			c, err := New(cfg, slog.New(slog.DiscardHandler), func(string, string, ...any) {})
			if err != nil {
				return err
			}
			return c.Run(ctx)
		},
		Act: func(w *explore.World) {
			w.Change(namespaces, "", "default", watch("true"))
			w.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
			w.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", Labels: map[string]string{"examples.informerkit.dev/watch": "true"}}})
			w.Change(namespaces, "", "default", watch("false"))
			w.Delete(namespaces, "", "team")
			w.Change(namespaces, "", "default", watch("true"))
		},
	})
}
