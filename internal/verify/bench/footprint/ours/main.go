// Ours watches pods and reconciles their keys with this library.
package main

import (
	"context"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
)

func main() { log.Fatal(run(context.Background())) }

func run(ctx context.Context) error {
	cfg, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	source, err := reflector.NewResource[*corev1.Pod](cfg, corev1.SchemeGroupVersion.WithResource("pods"), reflector.ResourceOptions{})
	if err != nil {
		return err
	}
	pods, err := informer.New(source, informer.Options[*corev1.Pod]{})
	if err != nil {
		return err
	}
	queue := workqueue.NewRateLimiting[types.NamespacedName](nil, workqueue.Options[types.NamespacedName]{})
	if _, err := pods.AddHandler(informer.EnqueueKey[*corev1.Pod](queue), informer.HandlerOptions{}); err != nil {
		return err
	}
	go func() { _ = pods.Run(ctx) }()
	if err := informer.WaitForSync(ctx, pods); err != nil {
		return err
	}
	return workqueue.Process(ctx, queue, 1, func(_ context.Context, key types.NamespacedName) error {
		pod, err := pods.Lister().Get(key)
		if err == nil {
			fmt.Println(key, pod.Status.Phase)
		}
		return nil
	})
}
