package rows

import (
	"context"

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

// List is the list function of a clientset.
func (f *feed) List(context.Context, metav1.ListOptions) (*corev1.PodList, error) {
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1900000"}, Items: make([]corev1.Pod, len(f.initial))}
	for i, p := range f.initial {
		list.Items[i] = *p
	}
	return list, nil
}

// Watch is the watch function of a clientset.
func (f *feed) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) { return f, nil }

// ResultChan and Stop implement watch.Interface.
func (f *feed) ResultChan() <-chan watch.Event { return f.events }

// Stop does nothing: the process ends soon.
func (f *feed) Stop() {}

// ourInformer is our informer.
type ourInformer struct {
	*feed
	inf *informer.Informer[*corev1.Pod]
	ctx context.Context
}

func newOurInformer() shared { return newOurInformerOf(running(), newFeed()) }

func newOurInformerOf(ctx context.Context, f *feed) shared {
	return ourInformer{f, must(informer.New(reflector.FromFuncs[*corev1.Pod](f.List, f.Watch), informer.Options[*corev1.Pod]{})), ctx}
}

func (i ourInformer) Start(initial []*corev1.Pod) {
	i.initial = initial
	go func() { check(i.inf.Run(i.ctx)) }()
	<-i.inf.Synced()
}

func (i ourInformer) add(h informer.HandlerFuncs[*corev1.Pod], opts informer.HandlerOptions) *informer.Registration {
	r := must(i.inf.AddHandler(h, opts))
	<-r.Synced()
	return r
}

// AddHandler adds a lossless handler: without that, what is queued beyond the bound would be
// coalesced, and the two sides would not do the same.
func (i ourInformer) AddHandler(onUpdate func()) (remove func()) {
	return i.add(informer.HandlerFuncs[*corev1.Pod]{UpdateFunc: func(_, p *corev1.Pod) {
		if p != nil {
			onUpdate()
		}
	}}, informer.HandlerOptions{Lossless: true}).Remove
}

func (i ourInformer) AddStalled(release <-chan struct{}) {
	i.add(informer.HandlerFuncs[*corev1.Pod]{UpdateFunc: func(_, _ *corev1.Pod) { <-release }}, informer.HandlerOptions{})
}

func (i ourInformer) AddIdle() any {
	return i.add(informer.HandlerFuncs[*corev1.Pod]{}, informer.HandlerOptions{})
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
	*feed
	inf    cache.SharedIndexInformer
	lister corev1listers.PodLister
}

// listOnly is a source that does not offer WatchList, like the feed itself.
type listOnly struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported is how client-go's fakes say so.
func (listOnly) IsWatchListSemanticsUnSupported() bool { return true }

func newClientGoInformer() shared { return newClientGoInformerOf(newFeed()) }

func newClientGoInformerOf(f *feed) shared {
	lw := listOnly{&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return f.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return f.Watch(ctx, o)
		},
	}}
	inf := cache.NewSharedIndexInformerWithOptions(lw, &corev1.Pod{}, cache.SharedIndexInformerOptions{
		Indexers: cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
	})
	return clientGoInformer{f, inf, corev1listers.NewPodLister(inf.GetIndexer())}
}

func (i clientGoInformer) Start(initial []*corev1.Pod) {
	i.initial = initial
	go i.inf.Run(nil)
	<-i.inf.HasSyncedChecker().Done()
}

func (i clientGoInformer) add(onUpdate func()) cache.ResourceEventHandlerRegistration {
	var h cache.ResourceEventHandlerFuncs
	if onUpdate != nil {
		h.UpdateFunc = func(_, obj any) {
			if p, ok := obj.(*corev1.Pod); ok && p != nil {
				onUpdate()
			}
		}
	}
	r := must(i.inf.AddEventHandler(h))
	<-r.HasSyncedChecker().Done()
	return r
}

func (i clientGoInformer) AddHandler(onUpdate func()) (remove func()) {
	r := i.add(onUpdate)
	return func() { check(i.inf.RemoveEventHandler(r)) }
}

func (i clientGoInformer) AddStalled(release <-chan struct{}) { i.add(func() { <-release }) }

func (i clientGoInformer) AddIdle() any { return i.add(nil) }

func (i clientGoInformer) InNamespace(namespace string) int {
	return visited(must(i.lister.Pods(namespace).List(labels.Everything())))
}
