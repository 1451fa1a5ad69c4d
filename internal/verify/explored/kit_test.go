package explored

import (
	"context"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func TestMain(m *testing.M) {
	Prepare()
	os.Exit(m.Run())
}

// runnable is a controller of Kubernetes.
type runnable interface {
	Run(ctx context.Context, workers int)
}

// resync is the shortest period that kube-controller-manager selects by default.
const resync = 12 * time.Hour

// managed returns a Start that makes a controller and runs it as kube-controller-manager does, with one worker.
func managed(build func(ctx context.Context, clients kubernetes.Interface, factory informers.SharedInformerFactory) (runnable, error)) func(context.Context, *rest.Config) error {
	return Start(func(ctx context.Context, _ *rest.Config, clients kubernetes.Interface) error {
		factory := informers.NewSharedInformerFactory(clients, resync)
		c, err := build(ctx, clients, factory)
		if err != nil {
			return err
		}
		factory.Start(ctx.Done())
		c.Run(ctx, 1)
		factory.Shutdown()
		return nil
	})
}

var pods = corev1.SchemeGroupVersion.WithResource("pods")

// labels are those of all pods.
var labels = map[string]string{"app": "web"}

// template is that of pods with one container.
func template(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
	}
}

// scaled sets spec.replicas.
func scaled(n int64) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(u.Object, n, "spec", "replicas"); err != nil {
			panic(err)
		}
	}
}

// image changes the image of the template.
func image(name string) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) {
		containers := []any{map[string]any{"name": "main", "image": name}}
		if err := unstructured.SetNestedSlice(u.Object, containers, "spec", "template", "spec", "containers"); err != nil {
			panic(err)
		}
	}
}

// at is the metadata of an object in the namespace of the tests.
func at(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: name} }
