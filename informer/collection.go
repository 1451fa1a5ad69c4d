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
const absentRetry = 3 * time.Second

// collection is a source of a resource that may not exist yet, and may cease to:
// that of a custom resource whose definition is installed, removed and installed
// again. It finds the resource of a kind by discovery.
type collection[T Object] struct {
	cfg       *rest.Config
	discovery *discovery
	gvk       schema.GroupVersionKind // if gvr is not given
	opts      reflector.ResourceOptions
	// gone is called when objects have been listed and then the resource does not
	// exist any more.
	gone func(ctx context.Context) error
	// listed is whether there are objects that may be gone. It is for the
	// goroutine of the reflector.
	listed bool

	mu     sync.Mutex // not held during a request: String must not wait for one
	gvr    schema.GroupVersionResource
	source reflector.ListerWatcher[T] // nil until the resource is known
}

// resolve returns the source for the resource, once there is one.
func (c *collection[T]) resolve(ctx context.Context) (reflector.ListerWatcher[T], error) {
	c.mu.Lock()
	source, gvr, opts := c.source, c.gvr, c.opts
	c.mu.Unlock()
	if source != nil {
		return source, nil
	}
	if gvr.Resource == "" {
		found, err := c.discovery.find(ctx, c.gvk)
		if err != nil {
			return nil, err
		}
		if !found.Namespaced && opts.Namespace != "" {
			return nil, fmt.Errorf("informer: %s is not in namespaces, so it cannot be read by namespace; set ForOptions.AllNamespaces", c.gvk.Kind)
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

// List lists the resource.
func (c *collection[T]) List(ctx context.Context, opts metav1.ListOptions, each func(T, error) error) (metav1.ListMeta, error) {
	source, err := c.resolve(ctx)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	meta, err := source.List(ctx, opts, each)
	c.note(ctx, err)
	return meta, err
}

// Watch watches the resource.
func (c *collection[T]) Watch(ctx context.Context, opts metav1.ListOptions) (reflector.Stream[T], error) {
	source, err := c.resolve(ctx)
	if err != nil {
		return nil, err
	}
	stream, err := source.Watch(ctx, opts)
	c.note(ctx, err)
	return stream, err
}

// note looks at the outcome of a request. When the resource is gone, that is
// stated as an empty list, but only if discovery confirms it: a server that is
// starting may not know its custom resources yet, and must not make a cache
// forget them.
func (c *collection[T]) note(ctx context.Context, err error) {
	switch {
	case err == nil:
		c.listed = true
	case c.listed && apierrors.IsNotFound(err) && apierrors.IsNotFound(c.discovery.has(ctx, c.gvr)):
		c.listed = c.gone(ctx) != nil
	}
}

// SupportsWatchList tells the reflector that a current server streams lists.
func (c *collection[T]) SupportsWatchList() bool { return true }

// CheckVersion asks the resource's source. It says nothing about the objects, so
// it does not look whether the resource is gone: the watch beside it will.
func (c *collection[T]) CheckVersion(ctx context.Context, opts metav1.ListOptions) error {
	source, err := c.resolve(ctx)
	if err != nil {
		return err
	}
	if checker, ok := source.(interface {
		CheckVersion(ctx context.Context, opts metav1.ListOptions) error
	}); ok {
		return checker.CheckVersion(ctx, opts)
	}
	return nil
}

// Namespace is the namespace of the collection, or "" for all of them.
func (c *collection[T]) Namespace() string { return c.opts.Namespace }

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
