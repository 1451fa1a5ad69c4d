// Command informer prints what is in a cache.
package main

import (
	"context"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
)

func run(cfg *rest.Config) error { // of any cluster
	factory, err := informer.NewFactory(cfg, informer.FactoryOptions{Namespaces: []string{"default"}})
	if err != nil {
		return err
	}
	resource := corev1.SchemeGroupVersion.WithResource("configmaps")
	configMaps, err := informer.For(factory, informer.ForOptions[*corev1.ConfigMap]{Resource: resource})
	if err != nil {
		return err
	}
	return factory.Run(context.Background(), func(ctx context.Context) error { // called when it is synced
		for event := range configMaps.Events(ctx) { // what exists, then each change; AddHandler is for callbacks
			fmt.Println(event.Type, event.Key)
			break
		}
		// From the cache, without a lock; a NotFound error if there is no such object.
		colours, err := configMaps.Lister().Get(types.NamespacedName{Namespace: "default", Name: "colours"})
		if err == nil {
			fmt.Println("the sky is", colours.Data["sky"])
		}
		return err
	})
}

func main() {
	server, err := informertest.NewServer(informertest.Options{}) // an API server in this process
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	colours := metav1.ObjectMeta{Namespace: "default", Name: "colours"}
	if err := server.Create(&corev1.ConfigMap{ObjectMeta: colours, Data: map[string]string{"sky": "blue"}}); err != nil {
		log.Fatal(err)
	}
	if err := run(server.Config()); err != nil {
		log.Fatal(err)
	}
}
