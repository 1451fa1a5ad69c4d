package bench

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/intern"
	"github.com/informerkit/informerkit/reflector"
)

// informers is what both implementations can do.
type informers interface {
	// Run syncs, and continues until ctx is done.
	Run(ctx context.Context)
	// OnUpdate adds a handler that never misses an update, and waits until it is synced.
	OnUpdate(f func(before, after metav1.Object)) (remove func())
	// AddStalled adds a handler with the default options that does not return from its first update
	// before release.
	AddStalled(release <-chan struct{})
	// AddIdle adds a handler that does nothing, and returns what has to be kept of it.
	AddIdle() any
	// Len is the number of objects in the cache.
	Len() int
}

type ourInformer[T informer.Object] struct{ *informer.Informer[T] }

// newFedOurs returns our informer of a feed.
func newFedOurs(f *feed) informers {
	source := reflector.FromFuncs[*corev1.Pod](f.List, f.Watch)
	return ourInformer[*corev1.Pod]{must(informer.New(source, informer.Options[*corev1.Pod]{}))}
}

// newServedOurs returns our informer of a server, which stores equal parts in the pool if there is one.
func newServedOurs(url string, what Served, pool *intern.Pool) informers {
	switch collections[what.Collection].resource.Resource {
	case "pods":
		return newTyped[*corev1.Pod](url, what, pool)
	case "configmaps":
		return newTyped[*corev1.ConfigMap](url, what, pool)
	case "nodes":
		return newTyped[*corev1.Node](url, what, pool)
	default:
		return newTyped[*unstructured.Unstructured](url, what, pool)
	}
}

func newTyped[T informer.Object](url string, what Served, pool *intern.Pool) informers {
	opts := reflector.ResourceOptions{Encoding: reflector.EncodingJSON}
	if what.Protobuf {
		opts.Encoding = reflector.EncodingProtobuf
	}
	source := must(reflector.NewResource[T](&rest.Config{Host: url}, collections[what.Collection].resource, opts))
	return ourInformer[T]{must(informer.New(source, informer.Options[T]{Transform: intern.Transform[T](pool)}))}
}

func (i ourInformer[T]) Run(ctx context.Context) {
	go func() { check(i.Informer.Run(ctx)) }()
	<-i.Synced()
}

func (i ourInformer[T]) add(onUpdate func(before, after T), opts informer.HandlerOptions) *informer.Registration {
	r := must(i.AddHandler(informer.HandlerFuncs[T]{UpdateFunc: onUpdate}, opts))
	<-r.Synced()
	return r
}

// OnUpdate adds a lossless handler: otherwise events beyond the bound of its queue would be
// coalesced, and the implementations would not do the same.
func (i ourInformer[T]) OnUpdate(f func(before, after metav1.Object)) (remove func()) {
	return i.add(func(before, after T) { f(before, after) }, informer.HandlerOptions{Lossless: true}).Remove
}

func (i ourInformer[T]) AddStalled(release <-chan struct{}) {
	i.add(func(_, _ T) { <-release }, informer.HandlerOptions{})
}

func (i ourInformer[T]) AddIdle() any { return i.add(nil, informer.HandlerOptions{}) }

func (i ourInformer[T]) Len() int { return i.Snapshot().Len() }

type clientGoInformer[T metav1.Object] struct{ cache.SharedIndexInformer }

// listOnly is a source that does not offer WatchList, like the feed.
type listOnly struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported is how client-go's fakes declare that.
func (listOnly) IsWatchListSemanticsUnSupported() bool { return true }

var byNamespace = cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}

// newFedClientGo returns client-go's informer of a feed.
func newFedClientGo(f *feed) informers {
	lw := listOnly{&cache.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return f.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return f.Watch(ctx, o) },
	}}
	return clientGoInformer[*corev1.Pod]{cache.NewSharedIndexInformerWithOptions(lw, &corev1.Pod{}, cache.SharedIndexInformerOptions{Indexers: byNamespace})}
}

// newServedClientGo returns client-go's informer of a server.
func newServedClientGo(url string, what Served) informers {
	cfg := &rest.Config{Host: url}
	cfg.ContentType = "application/json"
	if what.Protobuf {
		cfg.ContentType = "application/vnd.kubernetes.protobuf"
		cfg.AcceptContentTypes = cfg.ContentType + ",application/json"
	}
	client := must(kubernetes.NewForConfig(cfg))
	switch resource := collections[what.Collection].resource; resource.Resource {
	case "pods":
		return clientGoInformer[*corev1.Pod]{coreinformers.NewPodInformer(client, "", 0, byNamespace)}
	case "configmaps":
		return clientGoInformer[*corev1.ConfigMap]{coreinformers.NewConfigMapInformer(client, "", 0, byNamespace)}
	case "nodes":
		return clientGoInformer[*corev1.Node]{coreinformers.NewNodeInformer(client, 0, byNamespace)}
	default:
		dynamics := must(dynamic.NewForConfig(cfg))
		return clientGoInformer[*unstructured.Unstructured]{dynamicinformer.NewFilteredDynamicInformer(dynamics, resource, "", 0, byNamespace, nil).Informer()}
	}
}

func (i clientGoInformer[T]) Run(ctx context.Context) {
	go i.RunWithContext(ctx)
	<-i.HasSyncedChecker().Done()
}

func (i clientGoInformer[T]) add(h cache.ResourceEventHandlerFuncs) cache.ResourceEventHandlerRegistration {
	r := must(i.AddEventHandler(h))
	<-r.HasSyncedChecker().Done()
	return r
}

func (i clientGoInformer[T]) OnUpdate(f func(before, after metav1.Object)) (remove func()) {
	r := i.add(cache.ResourceEventHandlerFuncs{UpdateFunc: func(before, after any) { f(before.(T), after.(T)) }})
	return func() { check(i.RemoveEventHandler(r)) }
}

func (i clientGoInformer[T]) AddStalled(release <-chan struct{}) {
	i.add(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) { <-release }})
}

func (i clientGoInformer[T]) AddIdle() any { return i.add(cache.ResourceEventHandlerFuncs{}) }

func (i clientGoInformer[T]) Len() int { return len(i.GetStore().ListKeys()) }
