package informer_test

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
)

var (
	foos        = schema.GroupVersionResource{Group: "samplecontroller.k8s.io", Version: "v1alpha1", Resource: "foos"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// fooServer is a server with Foos in some namespaces, each of which owns a Deployment.
func fooServer(sharded bool, n int) *informertest.Server {
	server, err := informertest.NewServer(informertest.Options{
		ShardedListAndWatch: sharded,
		Resources:           []informertest.Resource{{Group: foos.Group, Versions: []string{foos.Version}, Kind: "Foo", Plural: foos.Resource}},
	})
	must(err)
	for i := range n {
		foo := &unstructured.Unstructured{}
		foo.SetGroupVersionKind(foos.GroupVersion().WithKind("Foo"))
		foo.SetNamespace(string(rune('a'+i%13)) + "-team")
		foo.SetName(fmt.Sprint("foo-", i))
		must(server.Create(foo))
		must(server.Create(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
			Namespace: foo.GetNamespace(), Name: foo.GetName(),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(foo, foo.GroupVersionKind())},
		}}))
	}
	return server
}

// Namespaces that are named keep owners and what they own together as well.
func ExampleFactory_AddNamespace() {
	server := fooServer(false, 100)
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	factory, err := informer.NewFactory(server.Config(), informer.FactoryOptions{ByNamespace: true})
	must(err)
	owners, err := informer.For(factory, informer.ForOptions[*unstructured.Unstructured]{Resource: foos})
	must(err)
	owned, err := informer.For(factory, informer.ForOptions[*appsv1.Deployment]{Resource: deployments})
	must(err)
	must(factory.AddNamespace("a-team"))
	factory.Start(ctx)
	must(factory.WaitForSync(ctx))
	fmt.Println(owners.Snapshot().Len(), "Foos,", owned.Snapshot().Len(), "Deployments")
	must(factory.Shutdown(ctx))
	// Output: 8 Foos, 8 Deployments
}
