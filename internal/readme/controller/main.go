// Command controller reconciles config maps.
package main

import (
	"context"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/workqueue"
)

func run(cfg *rest.Config) error {
	factory, err := informer.NewFactory(cfg, informer.FactoryOptions{})
	if err != nil {
		return err
	}
	resource := corev1.SchemeGroupVersion.WithResource("configmaps")
	configMaps, err := informer.For(factory, informer.ForOptions[*corev1.ConfigMap]{Resource: resource})
	if err != nil {
		return err
	}
	queue := workqueue.NewRateLimiting(nil, workqueue.Options[types.NamespacedName]{}) // nil: the usual rate limiter
	if _, err := informer.EnqueueKeysOf(configMaps, queue); err != nil {
		return err
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	return factory.Run(ctx, func(ctx context.Context) error {
		// Two workers, until the context ends. An error puts the key back, after a
		// delay that grows with each failure of that key.
		return workqueue.Process(ctx, queue, 2, func(_ context.Context, key types.NamespacedName) error {
			configMap, err := configMaps.Lister().Get(key)
			if apierrors.IsNotFound(err) {
				return nil // deleted: clean up what belonged to it
			}
			if err != nil {
				return err
			}
			fmt.Println("reconciling", key, configMap.Data)
			cancel() // one is enough here
			return nil
		})
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
