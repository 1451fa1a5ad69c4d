package informer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/reflector"
)

// FactoryOptions configures a [Factory]. The zero value is good.
type FactoryOptions struct {
	// Scheme tells the kinds of generated Go types. It is needed only for those
	// types for which [ForOptions] names neither the resource nor the kind.
	Scheme *runtime.Scheme
	// Namespaces, if there are any, are read instead of all; each by requests of
	// its own, so that no right to read across namespaces is needed.
	Namespaces []string
	// Reflector configures how all of the informers list and watch.
	Reflector reflector.Options
	// Logger gets what goes wrong in all informers. The default is slog.Default()
	// at the time of NewFactory; slog.New(slog.DiscardHandler) silences them.
	Logger *slog.Logger
	// Metrics, if set, gets the measurements of all informers.
	Metrics Metrics
}

// Factory makes informers of one API server and shares them: who asks for the
// same thing gets the same informer, and it stops when nobody needs it any more.
// All methods may be called from any goroutine.
type Factory struct {
	cfg       *rest.Config
	discovery *discovery
	opts      FactoryOptions

	mu      sync.Mutex
	shared  map[sharedKey]sharedInformer
	launch  func(run func(context.Context) error) (stop func()) // not nil once started
	cancel  context.CancelFunc
	running sync.WaitGroup
	down    bool
}

// sharedInformer is a *share[T] of some T.
type sharedInformer interface {
	Syncable
	Health() Health
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
	opts.Namespaces = slices.Clone(opts.Namespaces)
	slices.Sort(opts.Namespaces)
	opts.Namespaces = slices.Compact(opts.Namespaces)
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	if opts.Reflector.Policy == nil {
		opts.Reflector.Policy = retryAbsent
	}
	d, err := newDiscovery(cfg)
	if err != nil {
		return nil, fmt.Errorf("informer: %w", err)
	}
	return &Factory{cfg: cfg, discovery: d, opts: opts, shared: map[sharedKey]sharedInformer{}}, nil
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
	for _, s := range f.shared {
		s.begin(f.launch)
	}
}

// WaitForSync waits until all informers that were asked for so far are synced;
// see the function [WaitForSync]. An informer of a resource that does not exist
// is not synced.
func (f *Factory) WaitForSync(ctx context.Context) error {
	f.mu.Lock()
	all := make([]Syncable, 0, len(f.shared))
	for _, s := range f.shared {
		all = append(all, s)
	}
	f.mu.Unlock()
	return WaitForSync(ctx, all...)
}

// Health returns the health of each informer that was asked for and is not
// released, ordered by name.
func (f *Factory) Health() []Health {
	f.mu.Lock()
	all := make([]sharedInformer, 0, len(f.shared))
	for _, s := range f.shared {
		all = append(all, s)
	}
	f.mu.Unlock()
	health := make([]Health, 0, len(all))
	for _, s := range all { // without the lock: For need not wait for it
		health = append(health, s.Health())
	}
	slices.SortFunc(health, func(a, b Health) int { return cmp.Compare(a.Name, b.Name) })
	return health
}

// Shutdown stops all informers and waits until they and their handlers have
// ended. It returns the context's cause if that is first; then they end without
// being waited for. For fails from then on. A handler must not call it without a
// deadline, as it would wait for itself.
func (f *Factory) Shutdown(ctx context.Context) error {
	f.mu.Lock()
	f.down = true
	if f.cancel != nil {
		f.cancel()
	}
	f.mu.Unlock()
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
