package readme_test

import (
	"context"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
)

func Example_controller() {
	cfg, stop := anAPIServer()
	defer stop()

	source, err := reflector.NewResource[*corev1.ConfigMap](cfg,
		corev1.SchemeGroupVersion.WithResource("configmaps"), reflector.ResourceOptions{})
	if err != nil {
		log.Fatal(err)
	}
	configMaps, err := informer.New(source, informer.Options[*corev1.ConfigMap]{})
	if err != nil {
		log.Fatal(err)
	}
	queue := workqueue.NewRateLimiting[types.NamespacedName](nil, workqueue.Options[types.NamespacedName]{})
	if _, err := configMaps.AddHandler(informer.EnqueueKey[*corev1.ConfigMap](queue), informer.HandlerOptions{}); err != nil {
		log.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	go configMaps.Run(ctx)
	if err := informer.WaitForSync(ctx, configMaps); err != nil {
		log.Fatal(err)
	}

	// Two workers, until the context ends. An error puts the key back, after a
	// delay that grows with each failure of that key.
	err = workqueue.Process(ctx, queue, 2, func(_ context.Context, key types.NamespacedName) error {
		configMap, err := configMaps.Lister().Get(key.Namespace, key.Name)
		if apierrors.IsNotFound(err) {
			return nil // it is gone: clean up what belonged to it
		}
		if err != nil {
			return err
		}
		fmt.Println("reconciling", key, configMap.Data)
		cancel()
		return nil
	})
	fmt.Println(err)
	// Output:
	// reconciling default/colours map[sky:blue]
	// <nil>
}
