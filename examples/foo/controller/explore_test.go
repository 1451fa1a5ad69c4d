package controller

import (
	"context"
	"errors"
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
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/informertest/explore"
)

// The controller survives crashes, lost answers and stale views: see the README of package
// explore. More schedules: -explore.schedules=2000.
func TestTheControllerSurvives(t *testing.T) {
	crd, err := os.ReadFile("../crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	number := func(n int64) func(*unstructured.Unstructured) {
		return func(u *unstructured.Unstructured) { u.Object["spec"].(map[string]any)["replicas"] = n }
	}
	opts := explore.Options{Schedules: 15, First: []string{"gap@a3:foos"}} // a Foo that is gone, and still in the cache
	explore.Run(t, opts, explore.Subject{
		Setup: func(s *informertest.Server) {
			if err := demo.Install(context.Background(), s.Config(), crd); err != nil {
				panic(err)
			}
		},
		Start: func(ctx context.Context, cfg *rest.Config) error {
			return New(controller.Options{Config: cfg, Workers: 2, Logger: slog.New(slog.DiscardHandler)}).Run(ctx)
		},
		Act: func(w *explore.World) {
			w.Create(newFoo("a"))
			w.Create(newFoo("b"))
			w.Delete(api.Resource, "default", "b") // the garbage collector deletes its Deployment
			w.Change(api.Resource, "default", "a", number(3))
			w.Change(deploymentResource, "default", "a", number(7)) // the controller corrects it
			w.Do("the deployment becomes available", func(s *informertest.Server) error {
				return s.Modify(deploymentResource, "default", "a", func(u *unstructured.Unstructured) {
					u.Object["status"] = map[string]any{"replicas": int64(3), "availableReplicas": int64(3)}
				})
			})
			w.Delete(deploymentResource, "default", "a")
			w.Change(api.Resource, "default", "a", number(2))
		},
		Eventually: func(v explore.View) error {
			foo, d := explore.Get[api.Foo](v, api.Resource, "default", "a"), explore.Get[appsv1.Deployment](v, deploymentResource, "default", "a")
			switch {
			case foo == nil:
				return errors.New("the Foo is gone")
			case d == nil || !metav1.IsControlledBy(d, foo):
				return errors.New("there is no Deployment of the Foo")
			case *d.Spec.Replicas != *foo.Spec.Replicas:
				return fmt.Errorf("the Deployment has %d replicas, want %d", *d.Spec.Replicas, *foo.Spec.Replicas)
			case foo.Status.AvailableReplicas != d.Status.AvailableReplicas:
				return fmt.Errorf("the status says %d replicas are available, %d are", foo.Status.AvailableReplicas, d.Status.AvailableReplicas)
			}
			if n := len(v.List(deploymentResource, "")); n > 1 {
				return fmt.Errorf("there are %d Deployments, want 1", n)
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
