// Command controller reconciles config maps.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/workqueue"
)

// run calls reconcile for every config map that is new or has changed, until ctx ends.
func run(ctx context.Context, cfg *rest.Config, reconcile func(context.Context, *corev1.ConfigMap) error) error {
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
	return factory.Run(ctx, func(ctx context.Context) error { // called when the cache is synced
		return workqueue.Process(ctx, queue, 2, func(ctx context.Context, key types.NamespacedName) error { // two workers
			configMap, err := configMaps.Lister().Get(key) // from the cache, without a lock
			if apierrors.IsNotFound(err) {
				return nil // deleted: clean up what belonged to it
			}
			if err != nil {
				return err
			}
			return reconcile(ctx, configMap) // an error puts the key back, after a delay that grows
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err = run(ctx, server.Config(), func(_ context.Context, configMap *corev1.ConfigMap) error {
		fmt.Println("reconciling", configMap.Namespace+"/"+configMap.Name, configMap.Data)
		stop() // one is enough here
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
}
