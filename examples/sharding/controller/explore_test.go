package controller

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/foo/api"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/informertest/explore"
)

// Two replicas survive crashes, lost Leases and stale views: see the README of package
// explore. More schedules: -explore.schedules=2000.
func TestTheReplicasSurvive(t *testing.T) {
	crd, err := os.ReadFile("../crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	deployments := appsv1.SchemeGroupVersion.WithResource("deployments")
	opts := explore.Options{
		Schedules: 8, Replicas: 2, Steps: 100_000,
		// A Foo that is gone, or has been made again, and the old one is still in the cache.
		First: []string{"gap@a4:foos:3", "gap@a4:foos:1"},
	}
	explore.Run(t, opts, explore.Subject{
		Setup: func(s *informertest.Server) {
			if err := demo.Install(context.Background(), s.Config(), crd); err != nil {
				panic(err)
			}
		},
		Start: func(ctx context.Context, cfg *rest.Config) error {
			c, err := New(cfg, Options{Identity: explore.Replica(ctx), LeaseNamespace: "default", Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				return err
			}
			return c.Run(ctx, 2)
		},
		Act: func(w *explore.World) {
			w.Create(newFoo("a"))
			w.Create(newFoo("b"))
			w.Change(api.Resource, "default", "a", func(u *unstructured.Unstructured) { u.Object["spec"].(map[string]any)["replicas"] = int64(3) })
			w.Delete(api.Resource, "default", "b")
			w.Create(newFoo("b"))
		},
		Eventually: func(v explore.View) error {
			for _, name := range []string{"a", "b"} {
				foo, d := explore.Get[api.Foo](v, api.Resource, "default", name), explore.Get[appsv1.Deployment](v, deployments, "default", name)
				switch {
				case foo == nil:
					return fmt.Errorf("Foo %s is gone", name)
				case d == nil || !metav1.IsControlledBy(d, foo):
					return fmt.Errorf("there is no Deployment of Foo %s", name)
				case *d.Spec.Replicas != *foo.Spec.Replicas:
					return fmt.Errorf("Deployment %s has %d replicas, want %d", name, *d.Spec.Replicas, *foo.Spec.Replicas)
				}
			}
			return nil
		},
	})
}

// newFoo returns a Foo that asks for one replica.
func newFoo(name string) *api.Foo {
	one := int32(1)
	foo := &api.Foo{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: api.FooSpec{DeploymentName: name, Replicas: &one}}
	foo.Kind, foo.APIVersion = "Foo", api.Resource.GroupVersion().String()
	return foo
}
