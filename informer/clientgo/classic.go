package clientgo

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	upstream "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/informerkit/informerkit/informer"
)

// client-go's older constructors: a store, and a controller that fills it and calls one
// handler. They have the arguments and results of its functions of the same names.

// NewInformerWithOptions returns a store, and a controller that keeps it equal to the
// server's state and calls the handler. Write to the store only while it does not run.
func NewInformerWithOptions(options upstream.InformerOptions) (upstream.Store, upstream.Controller) {
	return newController(options)
}

// NewInformer is [NewInformerWithOptions] with its most common options.
func NewInformer(lw upstream.ListerWatcher, example runtime.Object, resync time.Duration, h upstream.ResourceEventHandler) (upstream.Store, upstream.Controller) {
	return newController(upstream.InformerOptions{ListerWatcher: lw, ObjectType: example, ResyncPeriod: resync, Handler: h})
}

// NewIndexerInformer is [NewInformer] with indexes.
func NewIndexerInformer(lw upstream.ListerWatcher, example runtime.Object, resync time.Duration, h upstream.ResourceEventHandler, indexers upstream.Indexers) (upstream.Indexer, upstream.Controller) {
	return newController(upstream.InformerOptions{ListerWatcher: lw, ObjectType: example, ResyncPeriod: resync, Handler: h, Indexers: indexers})
}

// NewTransformingInformer is [NewInformer] with a function that changes objects before they
// are stored.
func NewTransformingInformer(lw upstream.ListerWatcher, example runtime.Object, resync time.Duration, h upstream.ResourceEventHandler, transform upstream.TransformFunc) (upstream.Store, upstream.Controller) {
	return newController(upstream.InformerOptions{ListerWatcher: lw, ObjectType: example, ResyncPeriod: resync, Handler: h, Transform: transform})
}

// NewTransformingIndexerInformer is [NewTransformingInformer] with indexes.
func NewTransformingIndexerInformer(lw upstream.ListerWatcher, example runtime.Object, resync time.Duration, h upstream.ResourceEventHandler, indexers upstream.Indexers, transform upstream.TransformFunc) (upstream.Indexer, upstream.Controller) {
	return newController(upstream.InformerOptions{ListerWatcher: lw, ObjectType: example, ResyncPeriod: resync, Handler: h, Indexers: indexers, Transform: transform})
}

// controller is an informer with one handler.
type controller struct {
	informer *SharedInformer[informer.Object]
	handler  upstream.ResourceEventHandlerRegistration
	log      *klog.Logger // nil: that of the context
}

func newController(options upstream.InformerOptions) (upstream.Indexer, upstream.Controller) {
	s := newClassic(options.ListerWatcher, options.ObjectType, upstream.SharedIndexInformerOptions{
		ResyncPeriod: options.ResyncPeriod, Indexers: options.Indexers,
		Identifier: options.Identifier, InformerMetricsProvider: options.InformerMetricsProvider,
	}, max(0, options.MinWatchTimeout))
	s.classic.intake.transform = options.Transform
	h := options.Handler
	if h == nil {
		h = upstream.ResourceEventHandlerFuncs{}
	}
	reg, err := s.AddEventHandler(h)
	if err != nil {
		panic(err) // it has not been started, so nothing can be wrong
	}
	return s.indexer, &controller{informer: s, handler: reg, log: options.Logger}
}

// Run implements cache.Controller.
func (c *controller) Run(stop <-chan struct{}) { c.RunWithContext(wait.ContextForChannel(stop)) }

// RunWithContext implements cache.Controller.
func (c *controller) RunWithContext(ctx context.Context) {
	if c.log != nil {
		ctx = klog.NewContext(ctx, *c.log)
	}
	c.informer.RunWithContext(ctx)
}

// HasSynced reports whether the handler has got all of the first list.
func (c *controller) HasSynced() bool { return c.handler.HasSynced() }

// HasSyncedChecker returns what cache.WaitFor waits for.
func (c *controller) HasSyncedChecker() upstream.DoneChecker { return c.handler.HasSyncedChecker() }

// LastSyncResourceVersion returns the resourceVersion that the store has reached.
func (c *controller) LastSyncResourceVersion() string { return c.informer.LastSyncResourceVersion() }
