package clientgo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	upstream "k8s.io/client-go/tools/cache"

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
	started   atomic.Bool

	// mu guards handlers, the registrations that were made here and not removed yet. No
	// lock of the informer is taken while it is held.
	mu       sync.Mutex
	handlers map[*registration]bool
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
	return &SharedInformer[T]{
		informer: inf, indexer: NewIndexer[T](inf), resync: resync,
		handlers: map[*registration]bool{},
	}
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
// nil handler is an error. The informer's own logger is used, not that of the options.
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
	opts := informer.HandlerOptions{Overflow: informer.Lossless}
	if period > 0 {
		// client-go raises a shorter period to a second as well (minimumResyncPeriod).
		opts.ResyncPeriod = max(period, time.Second)
	} else {
		opts.NoResync = true // 0 for informer.HandlerOptions is the period of informer.Options
	}
	reg, err := s.informer.AddHandler(eventHandler[T]{h}, opts)
	// In client-go's words, which programs compare.
	if errors.Is(err, informer.ErrStopped) {
		return nil, fmt.Errorf("handler %T was not added to shared informer because it has stopped already", h)
	}
	if err != nil {
		return nil, err
	}
	added := &registration{reg}
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
		reg.Remove()
	}
	return nil
}

// GetStore returns the cache, which is read-only.
func (s *SharedInformer[T]) GetStore() upstream.Store { return s.indexer }

// GetIndexer returns the cache, which is read-only.
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
	// Swap and not Load and Store: of two calls at once, exactly one goes on.
	if s.started.Swap(true) {
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
	if err := own.Run(ctx); err != nil && ctx.Err() == nil {
		slog.ErrorContext(ctx, "the informer has ended", "informer", s.informer.Name(), "error", err)
	}
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

// SetWatchErrorHandler fails: the handler would get client-go's Reflector.
func (s *SharedInformer[T]) SetWatchErrorHandler(upstream.WatchErrorHandler) error {
	return errWatchErrorHandler
}

// SetWatchErrorHandlerWithContext fails: the handler would get client-go's Reflector.
func (s *SharedInformer[T]) SetWatchErrorHandlerWithContext(upstream.WatchErrorHandlerWithContext) error {
	return errWatchErrorHandler
}

var errWatchErrorHandler = errors.New("clientgo: a watch error handler is not supported: errors are logged once per reason, and Health and reflector.Options.OnStateChange report them")

// SetTransform sets the function that changes objects before they are stored. It must
// return objects of the informer's type. It fails once the informer has been started,
// and for one made by [FromInformer].
func (s *SharedInformer[T]) SetTransform(fn upstream.TransformFunc) error {
	if s.transform == nil {
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

// registration is what AddEventHandler returns.
type registration struct{ *informer.Registration }

// HasSyncedChecker returns what cache.WaitFor waits for.
func (r *registration) HasSyncedChecker() upstream.DoneChecker {
	return checker{r.Name(), r.Synced()}
}

// ShutdownChan returns what cache.ShutDownEventHandler waits for: a channel that is
// closed when the handler is removed and no call of it is running.
func (r *registration) ShutdownChan() <-chan struct{} { return r.Done() }

// checker implements cache.DoneChecker.
type checker struct {
	name string
	done <-chan struct{}
}

func (c checker) Name() string          { return c.name }
func (c checker) Done() <-chan struct{} { return c.done }
