package informer

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/reflector"
)

// absentRetry is how long after a resource was found not to exist the server is
// asked again.
// A CustomResourceDefinition that is installed is noticed soon, at the cost of one small
// request per interval.
const absentRetry = 3 * time.Second

// collection is a source of a resource that may not exist yet, and may cease to:
// that of a custom resource whose definition is installed, removed and installed
// again. It finds the resource of a kind by discovery.
type collection[T Object] struct {
	cfg       *rest.Config
	discovery *discovery
	gvk       schema.GroupVersionKind // if gvr is not given
	opts      reflector.ResourceOptions
	tweak     func(*metav1.ListOptions) // of each request; may be nil

	mu     sync.Mutex // not held during a request: String must not wait for one
	gvr    schema.GroupVersionResource
	source reflector.ListerWatcher[T] // nil until the resource is known
}

// resolve returns the source for the resource, once there is one.
func (c *collection[T]) resolve(ctx context.Context) (reflector.ListerWatcher[T], error) {
	// Two goroutines may get past this and both ask the server; the later result stays, and is
	// equal to the other.
	c.mu.Lock()
	source, gvr, opts := c.source, c.gvr, c.opts
	c.mu.Unlock()
	if source != nil {
		return source, nil
	}
	if gvr.Resource == "" {
		found, err := c.discovery.find(ctx, c.gvk)
		// Nothing is stored: the next attempt asks again. When is up to the reflector.
		if err != nil {
			return nil, err
		}
		if !found.Namespaced && opts.Namespace != "" {
			return nil, fmt.Errorf("informer: %s is not in namespaces, so it cannot be read by namespace; set ForOptions.Whole", c.gvk.Kind)
		}
		gvr = c.gvk.GroupVersion().WithResource(found.Name)
		opts.Kind = c.gvk.Kind
	}
	source, err := reflector.NewResource[T](c.cfg, gvr, opts)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gvr, c.source = gvr, source
	return source, nil
}

// Metadata returns a source of the metadata of the same collection, for audits.
func (c *collection[T]) Metadata() (reflector.ListerWatcher[*metav1.PartialObjectMetadata], error) {
	return &collection[*metav1.PartialObjectMetadata]{cfg: c.cfg, discovery: c.discovery, gvk: c.gvk, opts: c.opts, tweak: c.tweak, gvr: c.gvr}, nil
}

// List lists the resource.
func (c *collection[T]) List(ctx context.Context, req reflector.Request, each func(reflector.WatchEvent[T]) error) (metav1.ListMeta, error) {
	source, err := c.resolve(ctx)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	c.tweakOptions(&req.ListOptions)
	return source.List(ctx, req, each)
}

// tweakOptions applies what the factory says about all requests.
//
// It comes last, so it sees the options as the reflector has set them.
func (c *collection[T]) tweakOptions(opts *metav1.ListOptions) {
	if c.tweak != nil {
		c.tweak(opts)
	}
}

// Watch watches the resource.
func (c *collection[T]) Watch(ctx context.Context, req reflector.Request) (reflector.Stream[T], error) {
	source, err := c.resolve(ctx)
	if err != nil {
		return nil, err
	}
	c.tweakOptions(&req.ListOptions)
	return source.Watch(ctx, req)
}

// Served reports whether the server has the resource. The reflector asks after a
// 404: a server that is starting may not know its custom resources yet, and must
// not empty the cache.
func (c *collection[T]) Served(ctx context.Context) (bool, error) {
	c.mu.Lock()
	gvr := c.gvr
	c.mu.Unlock()
	err := c.discovery.has(ctx, gvr)
	// Only this is an answer. Any other error leaves the question open.
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return true, err
}

// SupportsWatchList reports that a current server streams lists.
func (c *collection[T]) SupportsWatchList() bool { return true }

// Namespace is the namespace of the collection, or "" for all of them.
func (c *collection[T]) Namespace() string { return c.opts.Namespace }

// Selector describes what is selected within the collection.
func (c *collection[T]) Selector() string { return c.opts.Selector() }

// String names the resource as far as it is known.
func (c *collection[T]) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gvr.Resource == "" {
		return c.gvk.GroupKind().String()
	}
	return c.gvr.GroupResource().String()
}

// retryAbsent is a policy that asks for a resource that does not exist at a
// steady pace, rather than ever more rarely.
func retryAbsent(f reflector.Failure) reflector.Decision {
	if f.Class == reflector.ClassNotFound {
		return reflector.RetryAfter(absentRetry)
	}
	return reflector.Retry()
}
