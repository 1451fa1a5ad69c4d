package controllerruntime

import (
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/intern"
	"github.com/informerkit/informerkit/reflector"
)

// Options configures what controller-runtime has no option for. The zero value is ready
// to use.
type Options struct {
	// InternPool is where equal parts of objects are stored once; see
	// [intern.Transform]. The default is a pool for all kinds of this cache.
	InternPool *intern.Pool
	// Separate stores each object with all of its parts, as controller-runtime does. A
	// program that modifies objects of the cache is wrong either way; this keeps the
	// damage to the object. It contradicts an InternPool.
	Separate bool
	// Reflector configures how all collections are listed and watched, for example with
	// a Monitor that audits them; see package informer/audit.
	Reflector reflector.Options
	// MaxObjectSize, MaxObjects and MaxBytes bound each collection that is read; see
	// [reflector.ResourceOptions].
	MaxObjectSize, MaxObjects int
	MaxBytes                  int64
	// Logger gets what goes wrong. The default is the logger of controller-runtime,
	// under the name "cache".
	Logger *slog.Logger
	// Metrics, if set, gets the measurements of all informers.
	Metrics informer.MetricsProvider
}

// New is a cache.NewCacheFunc with default options:
//
//	ctrl.NewManager(cfg, ctrl.Options{NewCache: controllerruntime.New})
//
// The result is a [*Cache].
func New(cfg *rest.Config, opts cache.Options) (cache.Cache, error) {
	return newCache(cfg, opts, Options{})
}

// NewWith is [New] with options of this package. The caches that the function makes share
// an InternPool if one is set, and each has its own otherwise.
func NewWith(own Options) cache.NewCacheFunc {
	return func(cfg *rest.Config, opts cache.Options) (cache.Cache, error) {
		return newCache(cfg, opts, own)
	}
}

// withDefaults returns the options with each field that is zero set.
func (o Options) withDefaults() Options {
	if o.InternPool == nil && !o.Separate {
		o.InternPool = intern.NewPool()
	}
	if o.Logger == nil {
		// It passes on to the logger that the program sets later, with log.SetLogger.
		o.Logger = slog.New(logr.ToSlogHandler(log.Log.WithName("cache")))
	}
	return o
}
