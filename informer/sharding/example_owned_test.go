package sharding_test

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/sharding"
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

// replica reads some ranges of Foos, and their Deployments, and prints what its caches
// have: no Foo is without its Deployment, and no Deployment without its Foo.
func replica(cfg *rest.Config, foosBy, deploymentsBy sharding.HashKey, ranges ...sharding.HashRange) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	factory, err := sharding.NewFactory(cfg, informer.FactoryOptions{})
	must(err)
	owners, err := sharding.For(factory, foosBy, informer.ForOptions[*unstructured.Unstructured]{Resource: foos})
	must(err)
	// The metadata is enough to know which Foo a Deployment belongs to.
	owned, err := sharding.For(factory, deploymentsBy, informer.ForOptions[*metav1.PartialObjectMetadata]{Resource: deployments})
	must(err)
	factory.Start(ctx)
	must(factory.AddRanges(ranges...))
	must(factory.WaitForRanges(ctx, ranges...))

	apart := 0
	for d := range owned.Snapshot().All() {
		if _, err := owners.Lister().Get(types.NamespacedName{Namespace: d.Namespace, Name: metav1.GetControllerOf(d).Name}); err != nil {
			apart++
		}
	}
	fmt.Printf("%d Foos, %d Deployments, %d apart\n", owners.Snapshot().Len(), owned.Snapshot().Len(), apart)
	factory.RemoveRanges(ranges...)
	fmt.Printf("%d Foos, %d Deployments\n", owners.Snapshot().Len(), owned.Snapshot().Len())
	must(factory.Shutdown(ctx))
}

// Two replicas share Foos by the hash of their UIDs. The Deployments have other UIDs, so
// each replica keeps those whose owner is in its ranges: it receives all of them, as
// metadata, and drops the others.
func ExampleNewRanged_owner() {
	server := fooServer(true, 100)
	defer server.Close()
	halves := sharding.SplitHashes(2)
	replica(server.Config(), sharding.HashUID, sharding.HashOwner, halves[0])
	replica(server.Config(), sharding.HashUID, sharding.HashOwner, halves[1])
	// Output:
	// 55 Foos, 55 Deployments, 0 apart
	// 0 Foos, 0 Deployments
	// 45 Foos, 45 Deployments, 0 apart
	// 0 Foos, 0 Deployments
}

// Two replicas share namespaces by the hash of their names. Owners and what they own are
// in one namespace, and so in one range, and the server can filter both.
func ExampleNewRanged_namespace() {
	server := fooServer(true, 100)
	defer server.Close()
	halves := sharding.SplitHashes(2)
	replica(server.Config(), sharding.HashNamespace, sharding.HashNamespace, halves[0])
	replica(server.Config(), sharding.HashNamespace, sharding.HashNamespace, halves[1])
	// Output:
	// 30 Foos, 30 Deployments, 0 apart
	// 0 Foos, 0 Deployments
	// 70 Foos, 70 Deployments, 0 apart
	// 0 Foos, 0 Deployments
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
