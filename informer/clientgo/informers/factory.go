// Package informers has a factory for client-go's generated informers and listers, some
// of which are informers of this library.
//
//	factory := informers.NewFactory(client, 10*time.Minute)
//	informers.Provide(factory, pods) // pods is an informer.Cache[*corev1.Pod]
//
//	core := core.New(factory, metav1.NamespaceAll, nil).V1() // k8s.io/client-go/informers/core
//	controller := NewController(core.Pods(), core.Nodes())   // takes coreinformers.PodInformer, …
//	factory.Start(ctx.Done())
//
// Here the pods are cached by this library and the nodes by client-go, until they are
// provided, too. The controller sees no difference: the generated listers and event
// handlers work on both.
package informers

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/clientgo"
)

// Factory is what client-go's generated informers are made of. All methods may be
// called concurrently.
type Factory struct {
	client kubernetes.Interface
	resync time.Duration

	mu       sync.Mutex
	made     map[reflect.Type]cache.SharedIndexInformer
	started  map[reflect.Type]bool
	shutdown bool
	running  sync.WaitGroup
}

var _ internalinterfaces.SharedInformerFactory = (*Factory)(nil)

// NewFactory returns a factory. The client is for the informers that are client-go's,
// and may be nil if all are provided. The resync period is that of handlers which are
// added without one; 0 means none.
func NewFactory(client kubernetes.Interface, resync time.Duration) *Factory {
	return &Factory{client: client, resync: resync, made: map[reflect.Type]cache.SharedIndexInformer{}, started: map[reflect.Type]bool{}}
}

// Provide makes inf the factory's informer of its type. Call it before the first use of
// that type: it panics if the factory has an informer of it already.
func Provide[T informer.Object](f *Factory, inf informer.Cache[T]) *clientgo.SharedInformer[T] {
	f.mu.Lock()
	defer f.mu.Unlock()
	kind := reflect.TypeFor[T]()
	if f.made[kind] != nil {
		panic(fmt.Sprintf("informers: the factory has an informer of %s already, provide it before it is used", kind))
	}
	shared := clientgo.FromInformer(inf, f.resync)
	f.made[kind] = shared
	return shared
}

// InformerFor returns the informer of obj's type: the one that was provided, or else
// the one that newInformer returned first. Generated code calls it. The namespace and
// the list options of generated code have no effect on one that was provided, whose
// source has its own.
func (f *Factory) InformerFor(obj runtime.Object, newInformer internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	f.mu.Lock()
	defer f.mu.Unlock()
	kind := reflect.TypeOf(obj)
	if inf := f.made[kind]; inf != nil {
		return inf
	}
	if f.client == nil {
		panic(fmt.Sprintf("informers: no informer of %s was provided, and the factory has no client to make one", kind))
	}
	if newInformer == nil {
		panic(fmt.Sprintf("informers: no informer of %s was provided, and there is no function to make one", kind))
	}
	inf := newInformer(f.client, f.resync)
	f.made[kind] = inf
	return inf
}

// InformerName returns nil: client-go's informers get no name for their metrics.
func (f *Factory) InformerName() *cache.InformerName { return nil }

// Start runs the informers that were made since the last call, until stop is closed. It
// does not wait.
func (f *Factory) Start(stop <-chan struct{}) { f.StartWithContext(wait.ContextForChannel(stop)) }

// StartWithContext is Start with a context.
func (f *Factory) StartWithContext(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shutdown {
		return
	}
	for kind, inf := range f.made {
		if !f.started[kind] {
			f.started[kind] = true
			f.running.Go(func() { inf.RunWithContext(ctx) })
		}
	}
}

// Shutdown waits until all informers have stopped, as they do when what Start got has
// ended. Nothing can be started afterwards.
func (f *Factory) Shutdown() {
	f.mu.Lock()
	f.shutdown = true
	f.mu.Unlock()
	f.running.Wait()
}

// WaitForCacheSync waits until the informers that were started are synced, or stop is
// closed. It returns which are.
func (f *Factory) WaitForCacheSync(stop <-chan struct{}) map[reflect.Type]bool {
	f.mu.Lock()
	started := map[reflect.Type]cache.SharedIndexInformer{}
	for kind := range f.started {
		started[kind] = f.made[kind]
	}
	f.mu.Unlock()
	synced := make(map[reflect.Type]bool, len(started))
	for kind, inf := range started {
		select {
		case <-inf.HasSyncedChecker().Done():
		case <-stop:
		}
		synced[kind] = inf.HasSynced()
	}
	return synced
}
