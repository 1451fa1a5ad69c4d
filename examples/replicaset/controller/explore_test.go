package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/replicaset/api"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/informertest/explore"
)

// The controller survives crashes, lost answers and stale views: see the README of package
// explore. More schedules: -explore.schedules=2000.
func TestTheControllerSurvives(t *testing.T) {
	explore.Run(t, explore.Options{
		Schedules: 15,
		First:     []string{"gap@a6:replicasets"}, // a set that is gone, and still in the cache
		Server: informertest.Options{Resources: []informertest.Resource{{
			Group: api.Group, Versions: []string{api.Version}, Plural: api.Resource, Kind: api.Kind, StatusSubresource: true,
		}}},
	}, explore.Subject{
		Start: func(ctx context.Context, cfg *rest.Config) error {
			return New(controller.Options{Config: cfg, Workers: 2, Logger: slog.New(slog.DiscardHandler)}).Run(ctx)
		},
		Act: func(w *explore.World) {
			w.Create(newSet("web", 2))
			w.Change(api.GroupVersionResource, "default", "web", replicas(4))
			w.Do("delete a pod", func(s *informertest.Server) error {
				pods, err := s.List(podResource, "default", nil)
				if err != nil || len(pods) == 0 {
					return err
				}
				return s.Delete(podResource, "default", pods[0].GetName())
			})
			w.Change(api.GroupVersionResource, "default", "web", replicas(1))
			w.Create(newSet("other", 1))
			w.Delete(api.GroupVersionResource, "default", "other")
		},
		Eventually: func(v explore.View) error {
			pods := explore.List[corev1.Pod](v, podResource, "default")
			set := explore.Get[api.ReplicaSet](v, api.GroupVersionResource, "default", "web")
			if set == nil {
				return errors.New("the set is gone")
			}
			active := 0
			for i := range pods {
				if metav1.IsControlledBy(&pods[i], set) && pods[i].DeletionTimestamp == nil {
					active++
				}
			}
			if active != set.Replicas() || len(pods) != active {
				return fmt.Errorf("%d active pods of %d, want %d", active, len(pods), set.Replicas())
			}
			if int(set.Status.Replicas) != active || set.Status.ObservedGeneration != set.Generation {
				return fmt.Errorf("the status says %d replicas at generation %d, there are %d at %d", set.Status.Replicas, set.Status.ObservedGeneration, active, set.Generation)
			}
			return nil
		},
	})
}

// replicas is a change by users.
func replicas(n int64) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(u.Object, n, "spec", "replicas"); err != nil {
			panic(err)
		}
	}
}
