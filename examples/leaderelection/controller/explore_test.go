package controller

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/informertest/explore"
	"github.com/informerkit/informerkit/informer/leader"
)

// Two replicas survive crashes, lost Leases and stale views: see the README of package
// explore. More schedules: -explore.schedules=2000.
func TestTheReplicasSurvive(t *testing.T) {
	explore.Run(t, explore.Options{Schedules: 20, Replicas: 2}, explore.Subject{
		Start: func(ctx context.Context, cfg *rest.Config) error {
			return newQuiet(cfg, leader.Options{Identity: explore.Replica(ctx), Namespace: "default"}).Run(ctx)
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
