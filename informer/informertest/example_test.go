package informertest_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/informertest"
)

// coreClient is what a program under test would make of a rest.Config.
func coreClient(cfg *rest.Config) *rest.RESTClient {
	cfg.APIPath = "/api"
	cfg.GroupVersion = &corev1.SchemeGroupVersion
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.RESTClientFor(cfg)
	if err != nil {
		panic(err)
	}
	return client
}

// A client talks to the server as to any cluster; the test looks behind it.
func ExampleServer() {
	server, err := informertest.NewServer(informertest.Options{})
	if err != nil {
		panic(err)
	}
	defer server.Close()

	client := coreClient(server.Config())
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"color": "red"}}
	if err := client.Post().Namespace("default").Resource("configmaps").Body(cm).Do(context.Background()).Into(cm); err != nil {
		panic(err)
	}

	stored, err := server.Get(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "default", "settings")
	if err != nil {
		panic(err)
	}
	fmt.Println(stored.GetUID() == cm.UID, stored.Object["data"])
	fmt.Println(server.Count("create", "configmaps"))
	// Output:
	// true map[color:red]
	// 1
}

// The methods of Server write whole objects, status included, and make namespaces.
func ExampleServer_Create() {
	server, err := informertest.NewServer(informertest.Options{})
	if err != nil {
		panic(err)
	}
	defer server.Close()

	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", GenerateName: "web-"},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	if err := server.Create(pod); err != nil {
		panic(err)
	}
	fmt.Println(len(pod.Name), pod.Status.Phase)
	// Output: 9 Running
}

// A custom kind needs a description, or a CustomResourceDefinition that a
// client creates.
func ExampleServer_Register() {
	server, err := informertest.NewServer(informertest.Options{})
	if err != nil {
		panic(err)
	}
	defer server.Close()

	err = server.Register(informertest.Resource{Group: "example.test", Versions: []string{"v1"}, Kind: "Widget", StatusSubresource: true})
	if err != nil {
		panic(err)
	}
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.test/v1", "kind": "Widget",
		"metadata": map[string]any{"namespace": "default", "name": "one"},
	}}
	if err := server.Create(widget); err != nil {
		panic(err)
	}
	fmt.Println(widget.GetName(), widget.GetGeneration())
	// Output: one 1
}

// Two lists are refused, as by a server that has too much to do.
func ExampleServer_Inject() {
	server, err := informertest.NewServer(informertest.Options{})
	if err != nil {
		panic(err)
	}
	defer server.Close()

	server.Inject(informertest.Fault{
		Verb: "list", Resource: "pods", Times: 2,
		Effect: informertest.Refuse(apierrors.NewInternalError(fmt.Errorf("etcdserver: leader changed"))),
	})
	client := coreClient(server.Config())
	for range 3 {
		err := client.Get().Resource("pods").Do(context.Background()).Error()
		fmt.Println(apierrors.IsInternalError(err))
	}
	// Output:
	// true
	// true
	// false
}
