package clientgo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	upstream "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/reflector"
)

// SharedInformer is an informer of this library with the methods of
// cache.SharedIndexInformer. All methods may be called concurrently.
//
// Its handlers get every event, as client-go's do: a slow one makes the event log grow.
// A handler that may catch up by differences is added to [SharedInformer.Unwrap].
type SharedInformer[T informer.Object] struct {
	informer  informer.Cache[T]
	indexer   *Indexer[T]
	resync    time.Duration
	transform *transform[T] // nil for an informer that was made elsewhere
	classic   *classic      // nil unless it was made by one of client-go's constructors
	started   atomic.Bool

	// mu guards handlers, the registrations that were made here and not removed yet. No
	// lock of the informer is taken while it is held.
	mu       sync.Mutex
	handlers map[*registration]bool
}

// classic is what an informer has that is made by one of client-go's constructors, for a
// program that knows nothing of ours.
type classic struct {
	intake  *intake
	log     *logHandler
	errors  *watchErrors
	pending []*registration // to be attached at the start; guarded by the mutex of handlers
}

// NewSharedInformer returns an informer of what lw reads. The resync period is that of
// handlers which are added without one; 0 means none.
func NewSharedInformer[T informer.Object](lw reflector.ListerWatcher[T], resync time.Duration, opts informer.Options[T]) (*SharedInformer[T], error) {
	// SetTransform comes after the informer was made, so the informer gets a function
	// that looks up which one it is.
	t := &transform[T]{before: opts.Transform}
	opts.Transform = t.apply
	inf, err := informer.New(lw, opts)
	if err != nil {
		return nil, err
	}
	s := FromInformer[T](inf, resync)
	s.transform = t
	return s, nil
}

// FromInformer returns an informer as client-go's interface. Its transform cannot be
// set any more. Call Run of inf or of the result, not of both. If a factory runs inf, which is
// then an informer.Shared, Run of the result only waits until it has stopped. A nil inf
// panics.
func FromInformer[T informer.Object](inf informer.Cache[T], resync time.Duration) *SharedInformer[T] {
	if inf == nil {
		panic("clientgo: FromInformer needs an informer, from informer.New or informer.For")
	}
	s := &SharedInformer[T]{
		informer: inf, indexer: NewIndexer[T](inf), resync: resync,
		handlers: map[*registration]bool{},
	}
	if own, ok := inf.(*informer.Informer[T]); ok {
		s.indexer.edit = own.Edit
	}
	return s
}

// Unwrap returns the informer behind the interface.
func (s *SharedInformer[T]) Unwrap() informer.Cache[T] { return s.informer }

// AddEventHandler adds a handler with the resync period of the informer.
func (s *SharedInformer[T]) AddEventHandler(h upstream.ResourceEventHandler) (upstream.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(h, upstream.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod adds a handler that gets each object once in each
// period, of a second at least; 0 means never.
func (s *SharedInformer[T]) AddEventHandlerWithResyncPeriod(h upstream.ResourceEventHandler, period time.Duration) (upstream.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(h, upstream.HandlerOptions{ResyncPeriod: &period})
}

// AddEventHandlerWithOptions adds a handler, at any time before the informer stops. A
// nil handler is an error. The logger of the options gets the panics of the handler only.
func (s *SharedInformer[T]) AddEventHandlerWithOptions(h upstream.ResourceEventHandler, options upstream.HandlerOptions) (upstream.ResourceEventHandlerRegistration, error) {
	if h == nil {
		return nil, errors.New("clientgo: the handler is nil")
	}
	// A handler without a period of its own has that of the informer, as in client-go;
	// 0 is a period of its own.
	period := s.resync
	if options.ResyncPeriod != nil {
		period = *options.ResyncPeriod
	}
	// Lossless, as handlers that were written for client-go may count on each event.
	opts := informer.HandlerOptions{Lossless: true}
	if s.classic != nil && s.resync <= 0 {
		period = 0 // client-go's informer without a period has no resync at all
	}
	if period > 0 {
		// client-go raises a shorter period to a second as well (minimumResyncPeriod).
		opts.ResyncPeriod = max(period, time.Second)
	} else {
		opts.NoResync = true // 0 for informer.HandlerOptions is the period of informer.Options
	}
	logger := klog.Background()
	if options.Logger != nil {
		logger = *options.Logger
	}
	added := &registration{name: fmt.Sprintf("%s %T", s.informer.Name(), h), attach: func() (*informer.Registration, error) {
		return s.informer.AddHandler(&eventHandler[T]{next: h, logger: logger}, opts)
	}}
	s.mu.Lock()
	wait := s.classic != nil && !s.started.Load()
	if wait {
		s.classic.pending = append(s.classic.pending, added)
		s.handlers[added] = true
	}
	s.mu.Unlock()
	if wait {
		return added, nil
	}
	err := added.start()
	// In client-go's words, which programs compare.
	if errors.Is(err, informer.ErrStopped) {
		return nil, fmt.Errorf("handler %T was not added to shared informer because it has stopped already", h)
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers[added] = true
	return added, nil
}

// RemoveEventHandler removes a handler; one that is being called finishes that call. A
// handler that is not there is not an error; a handle that no informer of this package
// has returned is one, as with client-go.
func (s *SharedInformer[T]) RemoveEventHandler(handle upstream.ResourceEventHandlerRegistration) error {
	reg, ok := handle.(*registration)
	if !ok {
		return fmt.Errorf("clientgo: a %T is no handle of this informer; pass what AddEventHandler has returned", handle)
	}
	s.mu.Lock()
	own := s.handlers[reg]
	delete(s.handlers, reg)
	s.mu.Unlock()
	// Deleted under the lock, so that of two calls with one handle only one gets here.
	if own {
		reg.remove()
	}
	return nil
}

// GetStore returns the cache. It can be written to while the informer does not run.
func (s *SharedInformer[T]) GetStore() upstream.Store { return s.indexer }

// GetIndexer returns the cache. It can be written to while the informer does not run.
func (s *SharedInformer[T]) GetIndexer() upstream.Indexer { return s.indexer }

// AddIndexers adds indexes, also while the informer runs.
func (s *SharedInformer[T]) AddIndexers(indexers upstream.Indexers) error {
	if s.IsStopped() {
		return errors.New("informer was stopped already")
	}
	return s.indexer.AddIndexers(indexers)
}

// GetController returns the informer itself.
func (s *SharedInformer[T]) GetController() upstream.Controller { return s }

// Run keeps the cache equal to the server's state until stop is closed.
func (s *SharedInformer[T]) Run(stop <-chan struct{}) {
	s.RunWithContext(wait.ContextForChannel(stop))
}

// RunWithContext is Run with a context. A second call logs a warning and returns, as in
// client-go.
func (s *SharedInformer[T]) RunWithContext(ctx context.Context) {
	// With mu held, so that a handler is either pending or finds that it is started.
	s.mu.Lock()
	again := s.started.Swap(true)
	s.mu.Unlock()
	if s.classic != nil && !again {
		stop := s.startClassic(ctx)
		defer stop()
	}
	if again {
		if s.classic != nil {
			klog.FromContext(ctx).Info("Warning: the informer has been started already, and runs once", "informer", s.informer.Name())
			return
		}
		slog.WarnContext(ctx, "the informer has been started already: run more than once is not allowed", "informer", s.informer.Name())
		return
	}
	// What a factory shares is run by the factory.
	own, ok := s.informer.(*informer.Informer[T])
	if !ok {
		select {
		case <-ctx.Done():
		case <-s.informer.Done():
		}
		return
	}
	// The interface has no error to return. One that comes with the end of the context
	// is what the caller asked for.
	err := own.Run(ctx)
	switch {
	case err == nil || ctx.Err() != nil:
	case s.classic != nil:
		utilruntime.HandleErrorWithContext(ctx, err, "The informer has ended", "informer", s.informer.Name())
	default:
		slog.ErrorContext(ctx, "the informer has ended", "informer", s.informer.Name(), "error", err)
	}
}

// startClassic attaches the handlers, and prepares what needs the context of the run. Stop
// ends what it has started.
func (s *SharedInformer[T]) startClassic(ctx context.Context) (stop func()) {
	c := s.classic
	c.log.use(klog.FromContext(ctx))
	c.errors.ctx = ctx
	s.mu.Lock()
	pending := c.pending
	c.pending = nil
	s.mu.Unlock()
	for _, reg := range pending {
		if err := reg.start(); err != nil {
			utilruntime.HandleErrorWithContext(ctx, err, "A handler is not called", "handler", reg.name)
		}
	}
	if c.intake.detector == nil {
		return func() {}
	}
	ended := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { c.intake.detector.Run(ended) })
	return func() { close(ended); running.Wait() }
}

// HasSynced reports whether the first list is in the cache.
func (s *SharedInformer[T]) HasSynced() bool { return s.informer.HasSynced() }

// HasSyncedChecker returns what cache.WaitFor waits for.
func (s *SharedInformer[T]) HasSyncedChecker() upstream.DoneChecker {
	return checker{"SharedIndexInformer " + s.informer.Name(), s.informer.Synced()}
}

// LastSyncResourceVersion returns the resourceVersion that the cache has reached.
func (s *SharedInformer[T]) LastSyncResourceVersion() string {
	return s.indexer.LastStoreSyncResourceVersion()
}

// IsStopped reports whether the informer has stopped.
func (s *SharedInformer[T]) IsStopped() bool {
	select {
	case <-s.informer.Done():
		return true
	default:
		return false
	}
}

// SetWatchErrorHandler sets what is called when the collection cannot be read, or a watch
// not be started; see [SharedInformer.SetWatchErrorHandlerWithContext].
func (s *SharedInformer[T]) SetWatchErrorHandler(handler upstream.WatchErrorHandler) error {
	return s.SetWatchErrorHandlerWithContext(func(_ context.Context, r *upstream.Reflector, err error) { handler(r, err) })
}

// SetWatchErrorHandlerWithContext sets what is called when the collection cannot be read,
// or a watch not be started, in place of cache.DefaultWatchErrorHandler. The reflector that
// it gets has only a name and a type description. It fails once the informer has been
// started, and for one that [NewSharedInformer] or [FromInformer] made:
// reflector.Options.Policy of its options is called for each failure.
func (s *SharedInformer[T]) SetWatchErrorHandlerWithContext(handler upstream.WatchErrorHandlerWithContext) error {
	if s.classic == nil {
		return errors.New("clientgo: a watch error handler is not supported here: set reflector.Options.Policy in the options of the informer")
	}
	if handler == nil {
		return errors.New("clientgo: the watch error handler is nil")
	}
	// A change during the run would race with a call.
	if s.started.Load() {
		return errors.New("informer has already started")
	}
	s.classic.errors.handler = handler
	return nil
}

// SetTransform sets the function that changes objects before they are stored. It must
// return objects of the informer's type. It fails once the informer has been started,
// and for one made by [FromInformer].
func (s *SharedInformer[T]) SetTransform(fn upstream.TransformFunc) error {
	if s.classic != nil && !s.started.Load() {
		s.classic.intake.transform = fn
		return nil
	}
	if s.transform == nil && s.classic == nil {
		return errors.New("clientgo: set informer.Options.Transform of the informer that FromInformer got")
	}
	// A change during the run would leave objects of both kinds in the cache.
	if s.started.Load() {
		return errors.New("informer has already started")
	}
	s.transform.fn.Store(&fn)
	return nil
}

// transform is a function that may be set until the informer is started. The pointer is
// atomic because SetTransform and Run may be called by different goroutines.
type transform[T informer.Object] struct {
	before func(T) (T, error)
	fn     atomic.Pointer[upstream.TransformFunc]
}

// apply calls both functions, that of the options first. It is called by one goroutine
// of the informer, and fn does not change any more then.
func (t *transform[T]) apply(obj T) (T, error) {
	if t.before != nil {
		var err error
		if obj, err = t.before(obj); err != nil {
			return obj, err
		}
	}
	fn := t.fn.Load()
	if fn == nil || *fn == nil {
		return obj, nil
	}
	changed, err := (*fn)(obj)
	if err != nil {
		return obj, err
	}
	// client-go's transforms may return anything. A cache of T cannot hold it, so the
	// object is quarantined with this error.
	typed, ok := changed.(T)
	if !ok {
		return obj, fmt.Errorf("the transform returned a %T instead of a %T", changed, obj)
	}
	return typed, nil
}
