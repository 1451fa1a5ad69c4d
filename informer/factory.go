package informer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/internal/httpclient"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue/history"
)

// FactoryOptions configures a [Factory]. The zero value is ready to use.
type FactoryOptions struct {
	// Scheme knows the kinds of generated Go types. It is needed only for those
	// types for which [ForOptions] names neither the resource nor the kind.
	Scheme *runtime.Scheme
	// Namespaces, if there are any, are read instead of all; each by requests of
	// its own, so that no right to read across namespaces is needed. More can be
	// added, and some removed, with [Factory.AddNamespace] and RemoveNamespace.
	Namespaces []string
	// ByNamespace reads namespaces one by one also while there are none: those that
	// AddNamespace adds. It is implied by Namespaces.
	ByNamespace bool
	// ResyncPeriod is that of handlers whose options have none; 0 is no resync.
	ResyncPeriod time.Duration
	// Transform, if set, modifies each object of all informers before it is stored,
	// for example to drop managedFields, and before the Transform of [ForOptions].
	Transform func(obj Object) error
	// TweakListOptions, if set, modifies the options of each list and watch, for
	// example to add a selector. It may be called from several goroutines.
	TweakListOptions func(*metav1.ListOptions)
	// MaxObjectSize, MaxObjects and MaxBytes bound what is read; see
	// [reflector.ResourceOptions].
	MaxObjectSize, MaxObjects int
	MaxBytes                  int64
	// Reflector configures how all of the informers list and watch.
	Reflector reflector.Options
	// Logger gets what goes wrong in all informers. The default is slog.Default()
	// at the time of NewFactory; slog.New(slog.DiscardHandler) silences them.
	Logger *slog.Logger
	// Metrics, if set, gets the measurements of all informers.
	Metrics MetricsProvider
	// History, if set, records what happens to the objects of all informers; see
	// [Options].
	History *history.Recorder
}

// Factory makes informers of one API server and shares them: calls of [For] that
// ask for the same thing get the same informer, and it stops when the last of them
// has released it.
// All methods may be called from any goroutine.
type Factory struct {
	// Lock order: namespacing, mu, then the locks of one informer. With mu held nothing
	// may wait for a request or for a handler, because For takes mu, and a handler may
	// call For.

	cfg       *rest.Config
	discovery *discovery
	opts      FactoryOptions

	namespacing sync.Mutex // held while a namespace is added or removed; taken before mu

	mu      sync.Mutex // guards all below
	spaces  []string   // the namespaces that are read; replaced, never modified
	shared  map[sharedKey]sharedInformer
	launch  func(run func(context.Context) error) (stop func()) // not nil once started
	cancel  context.CancelFunc
	running sync.WaitGroup
	down    bool
}

// sharedKey is what must be equal for an informer to be shared.
//
// Functions, such as Transform, cannot be part of it: they are not comparable. Variant
// stands for them.
type sharedKey struct {
	typ          reflect.Type
	resource     schema.GroupVersionResource
	kind         schema.GroupVersionKind
	label, field string
	whole        bool
	layer        string
	variant      string
}

// sharedInformer is a *share[T] of some T.
//
// A map of informers of different types needs an interface without type parameters.
type sharedInformer interface {
	Syncable
	Readiness
	Health() Health
	Name() string
	Find(key types.NamespacedName) (Object, bool)
	addNamespace(namespace string) error
	removeNamespace(namespace string)
	begin(launch func(run func(context.Context) error) (stop func()))
}

// NewFactory returns a factory for the API server that cfg describes. It makes
// no request.
func NewFactory(cfg *rest.Config, opts FactoryOptions) (*Factory, error) {
	if cfg == nil {
		return nil, errors.New("informer: NewFactory needs a rest.Config; read one with clientcmd or rest.InClusterConfig")
	}
	if slices.Contains(opts.Namespaces, "") {
		return nil, errors.New("informer: FactoryOptions.Namespaces has an empty one; leave the list empty to read all namespaces")
	}
	// A namespace that is listed twice must not get two sources for one part of the cache.
	namespaces := slices.Compact(slices.Sorted(slices.Values(opts.Namespaces)))
	opts.ByNamespace = opts.ByNamespace || len(namespaces) > 0
	if r := opts.ResyncPeriod; r != 0 && r < minResyncStep {
		return nil, fmt.Errorf("informer: FactoryOptions.ResyncPeriod is %v; use 0 for no resync, or at least %v", r, minResyncStep)
	}
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	// Informers of a factory may be of resources that are installed later.
	if opts.Reflector.Policy == nil {
		opts.Reflector.Policy = retryAbsent
	}
	// One transport for all informers: Dial or Proxy would give each of them its own connection.
	cfg, err := httpclient.Share(cfg)
	if err != nil {
		return nil, fmt.Errorf("informer: %w", err)
	}
	d, err := newDiscovery(cfg)
	if err != nil {
		return nil, fmt.Errorf("informer: %w", err)
	}
	return &Factory{
		cfg: cfg, discovery: d, opts: opts, spaces: namespaces,
		shared: map[sharedKey]sharedInformer{},
	}, nil
}

// Start runs the informers that were asked for, and from then on each one as
// soon as it is asked for, until ctx ends or Shutdown is called. It does not
// wait. Only the first call has an effect.
func (f *Factory) Start(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.launch != nil || f.down {
		return
	}
	// Each informer has a context of its own below this one, so that the release of the
	// last user ends one informer, and Shutdown all.
	ctx, f.cancel = context.WithCancel(ctx)
	f.launch = func(run func(context.Context) error) func() {
		ctx, cancel := context.WithCancel(ctx)
		f.running.Go(func() {
			defer cancel()
			if err := run(ctx); err != nil {
				f.opts.Logger.Error("an informer has failed", "error", err)
			}
		})
		return cancel
	}
	// With mu held, so that For either finds launch set or is in the map by now.
	for _, s := range f.shared {
		s.begin(f.launch)
	}
}

// WaitForSync waits until all informers that were asked for so far are synced;
// see the function [WaitForSync]. An informer of a resource that does not exist
// is not synced.
// It waits without the lock, so For may be called meanwhile; what it returns is not waited for.
func (f *Factory) WaitForSync(ctx context.Context) error {
	var all []Syncable
	for _, s := range f.inUse() {
		all = append(all, s)
	}
	return WaitForSync(ctx, all...)
}

// inUse returns the informers that were asked for and are not released.
func (f *Factory) inUse() []sharedInformer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.shared))
}

// Health returns the health of each informer that was asked for and is not
// released, ordered by name.
func (f *Factory) Health() []Health {
	all := f.inUse()
	health := make([]Health, 0, len(all))
	for _, s := range all { // without the lock: For need not wait for it
		health = append(health, s.Health())
	}
	slices.SortFunc(health, func(a, b Health) int { return cmp.Compare(a.Name, b.Name) })
	return health
}

// Ready returns the errors of all informers that are in use; see [Informer.Ready].
func (f *Factory) Ready() error {
	var whys []error
	for _, s := range f.inUse() {
		whys = append(whys, s.Ready())
	}
	return errors.Join(whys...)
}

// Unsynced returns why informers in use are not synced yet, or nil if all are. Unlike Ready it stays nil when the API
// server is away, for the readiness of programs that serve from their caches.
func (f *Factory) Unsynced() error {
	var whys []error
	for _, s := range f.inUse() {
		whys = append(whys, s.Unsynced())
	}
	return errors.Join(whys...)
}

// Find returns the objects with this key that are in the caches, by the names of their
// informers.
func (f *Factory) Find(key types.NamespacedName) map[string]Object {
	found := map[string]Object{}
	for _, s := range f.inUse() {
		if obj, ok := s.Find(key); ok {
			found[s.Name()] = obj
		}
	}
	return found
}

// Discover returns what discovery has about a resource, such as its kind and whether it is in namespaces. It asks the
// server on each call, and returns an error after 10 seconds without a response. If the server does not serve the
// resource, apierrors.IsNotFound holds for the error.
func (f *Factory) Discover(ctx context.Context, resource schema.GroupVersionResource) (metav1.APIResource, error) {
	ctx, cancel := context.WithTimeout(ctx, locateTimeout)
	defer cancel()
	return f.discovery.search(ctx, resource.GroupVersion(), resource.Resource, func(r *metav1.APIResource) bool { return r.Name == resource.Resource })
}

// AddNamespace makes all informers read one more namespace: those that exist, save
// for those with Whole, and those that will be asked for. Handlers get its
// objects as those of a first list; see [Informer.AddNamespace]. It fails if the
// factory does not read by namespace, or has the namespace already.
func (f *Factory) AddNamespace(namespace string) error {
	switch {
	case namespace == "":
		return errors.New("informer: Factory.AddNamespace: the namespace is empty; a factory without Namespaces reads all of them")
	case !f.opts.ByNamespace:
		return fmt.Errorf("informer: Factory.AddNamespace(%q): the factory reads all namespaces; set FactoryOptions.ByNamespace for one that does not", namespace)
	}
	// A removal waits without mu. This keeps the namespace from being added again until
	// it has ended in all informers.
	f.namespacing.Lock()
	defer f.namespacing.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.down:
		return fmt.Errorf("informer: Factory.AddNamespace(%q): the factory was shut down: %w", namespace, ErrStopped)
	case slices.Contains(f.spaces, namespace):
		return fmt.Errorf("informer: Factory.AddNamespace: %q was added before; remove it first", namespace)
	}
	f.spaces = append(slices.Clone(f.spaces), namespace)
	var errs []error
	for _, s := range f.shared {
		// An informer that has stopped by itself needs no namespace: For replaces it.
		if err := s.addNamespace(namespace); err != nil && !errors.Is(err, ErrStopped) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// RemoveNamespace makes all informers stop reading a namespace, and removes its
// objects from their caches; see [Informer.RemoveNamespace]. It returns false if
// the factory does not read it. It waits for the requests that are running.
func (f *Factory) RemoveNamespace(namespace string) bool {
	f.namespacing.Lock()
	defer f.namespacing.Unlock()
	f.mu.Lock()
	// Taken off the list first: an informer that For makes meanwhile does not read it.
	i := slices.Index(f.spaces, namespace)
	if i >= 0 {
		f.spaces = slices.Delete(slices.Clone(f.spaces), i, i+1)
	}
	all := slices.Collect(maps.Values(f.shared))
	f.mu.Unlock()
	if i < 0 {
		return false
	}
	for _, s := range all { // without mu, as it waits
		s.removeNamespace(namespace)
	}
	return true
}

// Shutdown stops all informers and waits until they and their handlers have
// ended. It returns the context's cause if that is first; then they end without
// being waited for. For fails from then on. A handler must not call it without a
// deadline, as it would wait for itself.
func (f *Factory) Shutdown(ctx context.Context) error {
	f.mu.Lock()
	// Before the wait: For must not begin an informer that nothing waits for.
	f.down = true
	// Nil if it was never started: then there is nothing to wait for either.
	if f.cancel != nil {
		f.cancel()
	}
	f.mu.Unlock()
	// If ctx ends first this goroutine outlives the call, until the last handler returns.
	ended := make(chan struct{})
	go func() {
		f.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("informer: a handler was still running at the end of Shutdown: %w", context.Cause(ctx))
	}
}

// typeOf names a Go type for errors.
func typeOf[T any]() string { return reflect.TypeFor[T]().String() }
