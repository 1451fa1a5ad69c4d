package backup_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/backup"
	"github.com/informerkit/informerkit/examples/backup/api"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/informertest/explore"
)

// Whatever fails on the way, each CronBackup gets its settings and a Job, and one that is deleted goes.
func TestTheOperatorSurvivesFaults(t *testing.T) {
	jobs := batchv1.SchemeGroupVersion.WithResource("jobs")
	opts := explore.Options{
		Schedules: 60,
		First:     []string{"replace@w1", "stale@w12:cronbackups"},
	}
	explore.Run(t, opts, explore.Subject{
		Setup: func(s *informertest.Server) {
			var crd unstructured.Unstructured
			require.NoError(t, yaml.Unmarshal(definition, &crd.Object))
			require.NoError(t, s.Create(&crd))
		},
		Start: func(ctx context.Context, cfg *rest.Config) error {
			return backup.New(controller.Options{Config: cfg, Name: "backup", Logger: slog.New(slog.DiscardHandler)}).Run(ctx)
		},
		Act: func(w *explore.World) {
			for _, name := range []string{"a", "b"} {
				w.Create(&api.CronBackup{
					TypeMeta:   metav1.TypeMeta{APIVersion: api.Resource.GroupVersion().String(), Kind: "CronBackup"},
					ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
					Spec:       api.CronBackupSpec{Every: metav1.Duration{Duration: 1000 * time.Hour}, Keep: 1, Image: "backup:1"},
				})
			}
			w.Delete(api.Resource, "default", "a")
		},
		Others: func(s *informertest.Server) { // Jobs complete, and garbage is collected
			all, err := s.List(jobs, "default", nil)
			require.NoError(t, err)
			for _, job := range all {
				err := s.Modify(jobs, "default", job.GetName(), func(job *unstructured.Unstructured) {
					job.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Complete", "status": "True"}}}
				})
				require.NoError(t, err)
			}
			require.NoError(t, s.CollectGarbage())
		},
		Eventually: func(v explore.View) error {
			for _, b := range explore.List[api.CronBackup](v, api.Resource, "default") {
				made := 0
				for _, m := range explore.List[corev1.ConfigMap](v, corev1.SchemeGroupVersion.WithResource("configmaps"), "default") {
					if metav1.IsControlledBy(&m, &b) {
						made++
					}
				}
				for _, job := range explore.List[batchv1.Job](v, jobs, "default") {
					if metav1.IsControlledBy(&job, &b) {
						made++
					}
				}
				if b.DeletionTimestamp != nil || made != 2 {
					return fmt.Errorf("CronBackup %s has %d objects, want its settings and a Job; deleted: %v", b.Name, made, b.DeletionTimestamp)
				}
			}
			return nil
		},
	})
}
