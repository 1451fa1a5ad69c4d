package clients

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/clientgo/informers"
	"github.com/informerkit/informerkit/reflector"
)

func step1(ctx context.Context, cfg *rest.Config, reconcile func(ctx context.Context, pod *corev1.Pod, err error) error) error {
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
	factory := informers.NewFactory(clientset, 30*time.Second) // informer/clientgo/informers
	informers.Provide(factory, cached)
	pods := core.New(factory, metav1.NamespaceAll, nil).V1().Pods() // k8s.io/client-go/informers/core
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	go func() { <-ctx.Done(); queue.ShutDown() }()
	enqueue := func(obj any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
			queue.Add(key)
		}
	}
	if _, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, DeleteFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) },
	}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), pods.Informer().HasSynced) {
		return errors.New("not synced") // what, and why?
	}
	for {
		key, quit := queue.Get()
		if quit {
			factory.Shutdown()
			return nil
		}
		namespace, name, _ := cache.SplitMetaNamespaceKey(key)
		pod, err := pods.Lister().Pods(namespace).Get(name)
		if err := reconcile(ctx, pod, err); err != nil {
			queue.AddRateLimited(key)
		} else {
			queue.Forget(key)
		}
		queue.Done(key)
	}
}
