package clients

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/clientgo/informers"
	"github.com/informerkit/informerkit/reflector"
)

func step3(ctx context.Context, cfg *rest.Config, reconcile func(ctx context.Context, pod *corev1.Pod, err error) error) error {
	clientset, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	resource := corev1.SchemeGroupVersion.WithResource("pods")
	source, err := reflector.NewResource[*corev1.Pod](cfg, resource, reflector.ResourceOptions{})
	if err != nil {
		return err
	}
	cached, err := informer.New(source, informer.Options[*corev1.Pod]{})
	if err != nil {
		return err
	}
	factory := informers.NewFactory(clientset, 30*time.Second)
	informers.Provide(factory, cached)
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]())
	go func() { <-ctx.Done(); queue.ShutDown() }()
	if _, err := informer.EnqueueKeysOf(cached, queue, informer.HandlerOptions{ResyncPeriod: 30 * time.Second}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if err := informer.WaitForSync(ctx, cached); err != nil {
		return err // it names what is not synced, and why
	}
	for {
		key, quit := queue.Get()
		if quit {
			factory.Shutdown()
			return nil
		}
		pod, err := cached.Lister().Get(key)
		if err := reconcile(ctx, pod, err); err != nil {
			queue.AddRateLimited(key)
		} else {
			queue.Forget(key)
		}
		queue.Done(key)
	}
}
