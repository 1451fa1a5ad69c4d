package rows

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/reflector"
)

// ourInformer is our informer.
type ourInformer struct {
	inf *informer.Informer[*corev1.Pod]
	ctx context.Context
}

func newOurInformer(f *feed) shared { return ourInformer{ourInformerOf(f), running()} }

func ourInformerOf(f *feed) *informer.Informer[*corev1.Pod] {
	lw := reflector.FromFuncs[*corev1.Pod](f.List, f.Watch)
	return must(informer.New(lw, informer.Options[*corev1.Pod]{}))
}

func (i ourInformer) Start() {
	go func() { check(i.inf.Run(i.ctx)) }()
	<-i.inf.Synced()
}

func (i ourInformer) AddHandler(onUpdate func()) (remove func()) {
	r := must(i.inf.AddHandler(informer.HandlerFuncs[*corev1.Pod]{
		UpdateFunc: func(_, p *corev1.Pod) {
			if p != nil {
				onUpdate()
			}
		},
		// Without it, what is queued beyond the bound would be coalesced, and
		// the two sides would not do the same.
	}, informer.HandlerOptions{Overflow: informer.Lossless}))
	<-r.Synced()
	return r.Remove
}

func (i ourInformer) InNamespace(namespace string) (n int) {
	for p := range i.inf.Lister().Namespace(namespace).List(labels.Everything()) {
		if p != nil {
			n++
		}
	}
	return n
}

// clientGoInformer is client-go's shared informer.
type clientGoInformer struct {
	inf    cache.SharedIndexInformer
	lister corev1listers.PodLister
}

// listOnly is a source that does not offer WatchList, like the feed itself.
type listOnly struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported is how client-go's fakes say so.
func (listOnly) IsWatchListSemanticsUnSupported() bool { return true }

func newClientGoInformer(f *feed) shared { return clientGoInformerOf(f, 0) }

func clientGoInformerOf(f *feed, resync time.Duration) clientGoInformer {
	lw := listOnly{&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return f.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return f.Watch(ctx, o)
		},
	}}
	inf := cache.NewSharedIndexInformerWithOptions(lw, &corev1.Pod{}, cache.SharedIndexInformerOptions{
		ResyncPeriod: resync,
		Indexers:     cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
	})
	return clientGoInformer{inf, corev1listers.NewPodLister(inf.GetIndexer())}
}

func (i clientGoInformer) Start() {
	go i.inf.Run(nil)
	<-i.inf.HasSyncedChecker().Done()
}

func (i clientGoInformer) AddHandler(onUpdate func()) (remove func()) {
	r := must(i.inf.AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, obj any) {
			if p, ok := obj.(*corev1.Pod); ok && p != nil {
				onUpdate()
			}
		},
	}, 0))
	<-r.HasSyncedChecker().Done()
	return func() { check(i.inf.RemoveEventHandler(r)) }
}

func (i clientGoInformer) InNamespace(namespace string) int {
	return visited(must(i.lister.Pods(namespace).List(labels.Everything())))
}
