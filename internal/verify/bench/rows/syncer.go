package rows

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// syncer is an informer of a served collection.
type syncer interface {
	// Run syncs, and goes on until ctx ends.
	Run(ctx context.Context)
	// OnUpdate calls f for every update that changes something.
	OnUpdate(f func())
	// Len is the number of objects in the cache.
	Len() int
}

type ourSyncer[T informer.Object] struct{ inf *informer.Informer[T] }

// newOurSyncer returns our side, which shares equal parts in the pool if there is one.
func newOurSyncer(url string, what Served, pool *intern.Pool) syncer {
	switch collections[what.Collection].resource.Resource {
	case "pods":
		return newTypedSyncer[*corev1.Pod](url, what, pool)
	case "configmaps":
		return newTypedSyncer[*corev1.ConfigMap](url, what, pool)
	case "nodes":
		return newTypedSyncer[*corev1.Node](url, what, pool)
	default:
		return newTypedSyncer[*unstructured.Unstructured](url, what, pool)
	}
}

func newTypedSyncer[T informer.Object](url string, what Served, pool *intern.Pool) syncer {
	opts := reflector.ResourceOptions{Encoding: reflector.EncodingJSON}
	if what.Protobuf {
		opts.Encoding = reflector.EncodingProtobuf
	}
	lw := must(reflector.NewResource[T](&rest.Config{Host: url}, collections[what.Collection].resource, opts))
	return ourSyncer[T]{must(informer.New(lw, informer.Options[T]{Transform: intern.Transform[T](pool)}))}
}

func (s ourSyncer[T]) Run(ctx context.Context) {
	go func() { check(s.inf.Run(ctx)) }()
	<-s.inf.Synced()
}

// OnUpdate adds a handler that receives each event, however far it is behind, as a handler
// of client-go does.
func (s ourSyncer[T]) OnUpdate(f func()) {
	_ = must(s.inf.AddHandler(informer.HandlerFuncs[T]{UpdateFunc: func(_, _ T) { f() }},
		informer.HandlerOptions{Lossless: true}))
}

func (s ourSyncer[T]) Len() int { return s.inf.Snapshot().Len() }

type clientGoSyncer struct{ inf cache.SharedIndexInformer }

func newClientGoSyncer(url string, what Served) syncer {
	cfg := &rest.Config{Host: url}
	cfg.ContentType = "application/json"
	if what.Protobuf {
		cfg.ContentType = "application/vnd.kubernetes.protobuf"
		cfg.AcceptContentTypes = cfg.ContentType + ",application/json"
	}
	indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	client := must(kubernetes.NewForConfig(cfg))
	switch resource := collections[what.Collection].resource; resource.Resource {
	case "pods":
		return clientGoSyncer{coreinformers.NewPodInformer(client, "", 0, indexers)}
	case "configmaps":
		return clientGoSyncer{coreinformers.NewConfigMapInformer(client, "", 0, indexers)}
	case "nodes":
		return clientGoSyncer{coreinformers.NewNodeInformer(client, 0, indexers)}
	default:
		return clientGoSyncer{dynamicinformer.NewFilteredDynamicInformer(must(dynamic.NewForConfig(cfg)), resource, "", 0, indexers, nil).Informer()}
	}
}

func (s clientGoSyncer) Run(ctx context.Context) {
	go s.inf.RunWithContext(ctx)
	<-s.inf.HasSyncedChecker().Done()
}

// OnUpdate does not count the updates that change nothing: after a relist client-go
// delivers one for every object.
func (s clientGoSyncer) OnUpdate(f func()) {
	_ = must(s.inf.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(before, after any) {
		if before.(metav1.Object).GetResourceVersion() != after.(metav1.Object).GetResourceVersion() {
			f()
		}
	}}))
}

func (s clientGoSyncer) Len() int { return len(s.inf.GetStore().ListKeys()) }
