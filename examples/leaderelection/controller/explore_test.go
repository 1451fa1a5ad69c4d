package controller

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/informertest/explore"
)

// Two replicas survive crashes, lost Leases and stale views: see the README of package
// explore. More schedules: -explore.schedules=2000.
func TestTheReplicasSurvive(t *testing.T) {
	explore.Run(t, explore.Options{Schedules: 20, Replicas: 2}, explore.Subject{
		Start: func(ctx context.Context, cfg *rest.Config) error {
			c, err := New(cfg, Options{Identity: explore.Replica(ctx), Namespace: "default", Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				return err
			}
			return c.Run(ctx)
		},
		Act: func(w *explore.World) {
			for _, name := range []string{"a", "b", "c"} {
				w.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
					Namespace: "default", Name: name, Labels: map[string]string{"examples.informerkit.dev/controller": "leaderelection"},
				}})
			}
			w.Delete(configMaps, "default", "b")
		},
		Eventually: func(v explore.View) error {
			for _, cm := range explore.List[corev1.ConfigMap](v, configMaps, "default") {
				if cm.Annotations[Annotation] == "" {
					return fmt.Errorf("nobody has handled %s", cm.Name)
				}
			}
			return nil
		},
	})
}
