package readme_test

import (
	"context"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
)

func Example_controller() {
	server, source := aServerWithConfigMaps()
	defer server.Close()

	configMaps, err := informer.New(source, informer.Options[*corev1.ConfigMap]{})
	if err != nil {
		log.Fatal(err)
	}
	queue := workqueue.NewRateLimiting[types.NamespacedName](nil, workqueue.Options[types.NamespacedName]{})
	if _, err := configMaps.AddHandler(informer.EnqueueKey[*corev1.ConfigMap](queue), informer.HandlerOptions{}); err != nil {
		log.Fatal(err)
	}

	ctx, stop := context.WithCancel(context.Background())
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
		stop()
		return nil
	})
	fmt.Println(err)
	// Output:
	// reconciling default/colours map[sky:blue]
	// <nil>
}

func aServerWithConfigMaps() (*informertest.Server, reflector.ListerWatcher[*corev1.ConfigMap]) {
	server, err := informertest.NewServer(informertest.Options{})
	if err != nil {
		log.Fatal(err)
	}
	err = server.Create(&corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "colours"},
		Data:       map[string]string{"sky": "blue"},
	})
	if err != nil {
		log.Fatal(err)
	}
	source, err := reflector.NewResource[*corev1.ConfigMap](server.Config(),
		corev1.SchemeGroupVersion.WithResource("configmaps"), reflector.ResourceOptions{})
	if err != nil {
		log.Fatal(err)
	}
	return server, source
}
