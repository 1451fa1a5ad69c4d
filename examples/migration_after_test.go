package examples

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/workqueue"
)

func after(ctx context.Context, cfg *rest.Config, reconcile func(ctx context.Context, pod *corev1.Pod, err error) error) error {
	factory, err := informer.NewFactory(cfg, informer.FactoryOptions{ResyncPeriod: 30 * time.Second})
	if err != nil {
		return err
	}
	pods, err := informer.For(factory, informer.ForOptions[*corev1.Pod]{Resource: corev1.SchemeGroupVersion.WithResource("pods")})
	if err != nil {
		return err
	}
	queue := workqueue.NewRateLimiting(nil, workqueue.Options[types.NamespacedName]{})
	if _, err := informer.EnqueueKeysOf(pods, queue); err != nil {
		return err
	}
	return factory.Run(ctx, func(ctx context.Context) error { // its error names what is not synced, and why
		return workqueue.Process(ctx, queue, 1, func(ctx context.Context, key types.NamespacedName) error {
			pod, err := pods.Lister().Get(key)
			return reconcile(ctx, pod, err)
		})
	})
}
