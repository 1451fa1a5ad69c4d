// A program that uses client-go and knows nothing of this library.
package main

import (
	"context"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// fakeClient sends no initial events, as clients of tests.
type fakeClient struct{}

func (fakeClient) IsWatchListSemanticsUnSupported() bool { return true }

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	lw := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &corev1.PodList{
				ListMeta: metav1.ListMeta{ResourceVersion: "1"},
				Items:    []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", ResourceVersion: "1"}}},
			}, nil
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil },
	}, fakeClient{})
	pods := cache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, nil)
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: lw, ObjectType: &corev1.Pod{}, Handler: cache.ResourceEventHandlerFuncs{},
	})
	ended := make(chan struct{}, 2)
	for _, run := range []func(context.Context){pods.RunWithContext, controller.RunWithContext} {
		go func() { run(ctx); ended <- struct{}{} }()
	}
	if !cache.WaitForCacheSync(ctx.Done(), pods.HasSynced, controller.HasSynced) {
		os.Exit(1)
	}
	fmt.Printf("%T %v\n%T %v\n", pods, pods.GetStore().ListKeys(), controller, store.ListKeys())
	cancel()
	<-ended
	<-ended
}
