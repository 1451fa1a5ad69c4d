package sharding_test

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/sharding"
	"github.com/informerkit/informerkit/workqueue"
)

// Replicas share ConfigMaps: each has a part of them in its cache, and works on these. With
// one replica, that is all of them.
func ExampleRanges() {
	server, err := informertest.NewServer(informertest.Options{})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	for _, name := range []string{"blue", "green", "red"} {
		if err := server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}); err != nil {
			panic(err)
		}
	}
	factory, err := sharding.NewFactory(server.Config(), informer.FactoryOptions{})
	if err != nil {
		panic(err)
	}
	configMaps, err := sharding.For(factory, sharding.HashUID, informer.ForOptions[*corev1.ConfigMap]{Resource: corev1.SchemeGroupVersion.WithResource("configmaps")})
	if err != nil {
		panic(err)
	}
	ranges, err := sharding.NewRanges(server.Config(), sharding.RangesOptions[*corev1.ConfigMap]{
		Options: sharding.Options{Name: "my-controller", Namespace: "default", Identity: "replica-1", Parts: 8},
		Objects: configMaps, Reader: factory,
	})
	if err != nil {
		panic(err)
	}

	reconciled := make(chan string, 3)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		ended <- factory.Run(ctx, func(ctx context.Context) error {
			return ranges.Run(ctx, workqueue.ProcessOptions[sharding.Key]{Workers: 2},
				func(_ context.Context, _ *sharding.Part, key types.NamespacedName) (workqueue.Result, error) {
					reconciled <- key.Name
					return workqueue.Result{}, nil
				})
		})
	}()
	names := []string{<-reconciled, <-reconciled, <-reconciled}
	slices.Sort(names)
	fmt.Println(names)
	cancel() // the parts are handed over
	if err := <-ended; err != nil {
		panic(err)
	}
	// Output: [blue green red]
}
