//go:build samplecontroller

package main

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	samplev1alpha1 "k8s.io/sample-controller/pkg/apis/samplecontroller/v1alpha1"
	clientset "k8s.io/sample-controller/pkg/generated/clientset/versioned"
	samplescheme "k8s.io/sample-controller/pkg/generated/clientset/versioned/scheme"
	informers "k8s.io/sample-controller/pkg/generated/informers/externalversions"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/informertest/explore"
	"github.com/informerkit/informerkit/internal/verify/explored"
)

// Each new controller adds its types to the scheme of the whole process, which others may be reading: several run at
// once here. So that is done once, before.
func TestMain(m *testing.M) {
	utilruntime.Must(samplescheme.AddToScheme(scheme.Scheme))
	samplescheme.AddToScheme = func(*runtime.Scheme) error { return nil }
	explored.Prepare()
	os.Exit(m.Run())
}

var (
	foos        = samplev1alpha1.SchemeGroupVersion.WithResource("foos")
	deployments = appsv1.SchemeGroupVersion.WithResource("deployments")
)

// runSample is main of the sample controller, without its flags.
func runSample(ctx context.Context, cfg *rest.Config, clients kubernetes.Interface) error {
	sampleClients, err := clientset.NewForConfig(cfg)
	if err != nil {
		return err
	}
	kubeFactory := kubeinformers.NewSharedInformerFactory(clients, 30*time.Second)
	sampleFactory := informers.NewSharedInformerFactory(sampleClients, 30*time.Second)
	c := NewController(ctx, clients, sampleClients, kubeFactory.Apps().V1().Deployments(), sampleFactory.Samplecontroller().V1alpha1().Foos())
	kubeFactory.Start(ctx.Done())
	sampleFactory.Start(ctx.Done())
	defer kubeFactory.Shutdown()
	defer sampleFactory.Shutdown()
	return c.Run(ctx, 2)
}

func newFoo(replicas int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": samplev1alpha1.SchemeGroupVersion.String(), "kind": "Foo",
		"metadata": map[string]any{"namespace": "default", "name": "foo"},
		"spec":     map[string]any{"deploymentName": "web", "replicas": replicas},
	}}
}

func foosSubject() explore.Subject {
	return explore.Subject{
		Setup: func(s *informertest.Server) {
			err := s.Register(informertest.Resource{
				Group: samplev1alpha1.SchemeGroupVersion.Group, Versions: []string{samplev1alpha1.SchemeGroupVersion.Version}, Kind: "Foo",
				StatusSubresource: true, RequireResourceVersion: true,
			})
			if err != nil {
				panic(err)
			}
		},
		Start: explored.Start(runSample),
		Act: func(w *explore.World) {
			w.Create(newFoo(1))
			w.Change(foos, "default", "foo", func(u *unstructured.Unstructured) {
				if err := unstructured.SetNestedField(u.Object, int64(3), "spec", "replicas"); err != nil {
					panic(err)
				}
			})
			w.Delete(deployments, "default", "web")
			w.Delete(foos, "default", "foo")
			w.Create(newFoo(2))
		},
		Eventually: deployed,
	}
}

// deployed: the deployment of the Foo is there, is its own, and has its replicas.
func deployed(v explore.View) error {
	foo := explore.Get[samplev1alpha1.Foo](v, foos, "default", "foo")
	if foo == nil {
		return fmt.Errorf("the Foo is gone")
	}
	d := explore.Get[appsv1.Deployment](v, deployments, "default", "web")
	switch {
	case d == nil:
		return fmt.Errorf("the Foo has no deployment")
	case !metav1.IsControlledBy(d, foo):
		return fmt.Errorf("the deployment is not controlled by the Foo")
	case *d.Spec.Replicas != *foo.Spec.Replicas:
		return fmt.Errorf("the deployment has %d replicas, not %d", *d.Spec.Replicas, *foo.Spec.Replicas)
	}
	return nil
}

// Two findings. The sample controller is there to be read, and is kept short for that.
//
// The deployment is updated as a whole and without a resourceVersion, so what other writers have set is lost (syncHandler).
//
// While the Foo is gone and the cache still has it, deployments are created for it about once a second.
func TestFoos(t *testing.T) {
	explored.Case{
		Subject: foosSubject(),
		Known: []explored.Finding{{
			Schedule: "conflict@w6", Rule: "put-back", Reason: "a1 has put .metadata.annotations.explore/touched of deployments.apps default/web back to nothing",
			Trace: []string{"another writer annotates deployments default/web", "a1       w6 update deployments default/web → 200"},
		}, {
			Schedule: "gap@a4:foos", Rule: "dead-owner", Reason: "a1 has created deployments 5 times for foos.samplecontroller.k8s.io default/foo, which is gone",
			Trace: []string{"update foos/status default/foo → 404", "garbage is collected", "create deployments default/web → 201"},
		}},
		Searches: []explored.Search{{Name: "all faults", Subject: foosSubject(), Without: []string{"dead-owner", "put-back"}}},
	}.Test(t)
}
