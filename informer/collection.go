package informer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/reflector"
)

// collection is a source of a resource that may not exist yet, and may cease to:
// that of a custom resource whose definition is installed, removed and installed
// again. It finds the resource of a kind by discovery.
type collection[T Object] struct {
	cfg       *rest.Config
	discovery *discovery
	gvk       schema.GroupVersionKind // if the resource is found by its kind
	opts      reflector.ResourceOptions
	tweak     func(*metav1.ListOptions) // of each request; may be nil

	mu     sync.Mutex // not held during a request: String must not wait for one
	gvr    schema.GroupVersionResource
	source reflector.ListerWatcher[T] // nil until the resource is known
	absent time.Time                  // since when the server responds with 404; zero if it does not
	wake   <-chan struct{}            // closed when a definition has changed since the last request began
	// reread says that objects in the cache may be in the form of another version.
	reread bool
}

// Changed returns a channel that ends the pause after a 404 when a definition of the group changes.
func (c *collection[T]) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wake
}

// group is the API group.
func (c *collection[T]) group() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return cmp.Or(c.gvk.Group, c.gvr.Group)
}

// definesOthers reports whether the objects are definitions: CustomResourceDefinitions or APIServices.
func (c *collection[T]) definesOthers() bool {
	return c.group() == "apiextensions.k8s.io" || c.group() == "apiregistration.k8s.io"
}

// begin prepares a request.
func (c *collection[T]) begin(req *reflector.Request) {
	wake := c.discovery.awake(c.group())
	c.mu.Lock()
	c.wake = wake
	if c.reread {
		req.Known = nil
	}
	c.mu.Unlock()
	c.tweakOptions(&req.ListOptions)
}

// answered notes how a request has ended. After a 404 it looks where discovery has the kind, and
// returns an error that names the pause.
func (c *collection[T]) answered(ctx context.Context, err error) error {
	missing := apierrors.IsNotFound(err)
	c.mu.Lock()
	was := c.absent
	switch {
	case missing && was.IsZero():
		c.absent = time.Now()
	case err == nil:
		c.absent = time.Time{}
	}
	since := c.absent
	c.mu.Unlock()
	if err == nil && !was.IsZero() {
		c.discovery.noteChanged(c.group()) // other kinds of the group may be there as well
	}
	if !missing {
		return err
	}
	if hint := c.relocate(ctx); hint != "" {
		err = fmt.Errorf("%w; %s", err, hint)
	}
	return &absentError{err, c.discovery.pause(c.group(), since)}
}

// relocate looks in discovery for the kind, and reads it from there. It returns what it has found, for
// people. It takes nothing out of the cache: the list of the other resource does.
func (c *collection[T]) relocate(ctx context.Context) (hint string) {
	resources := c.discovery.locate(ctx, c.group())
	c.mu.Lock()
	defer c.mu.Unlock()
	// The same version first, then the preferred one.
	var found *served
	for i, r := range resources {
		if (c.gvk.Kind != "" && r.kind == c.gvk.Kind || c.gvk.Kind == "" && r.Resource == c.gvr.Resource) &&
			(found == nil || r.Version == cmp.Or(c.gvk.Version, c.gvr.Version)) {
			found = &resources[i]
		}
	}
	if found == nil {
		return ""
	}
	hint = fmt.Sprintf("discovery has %s in %s", found.Resource, found.GroupVersion())
	switch {
	case !found.namespaced && c.opts.Namespace != "":
		return hint + ", which is not in namespaces; set ForOptions.Whole"
	case c.gvk.Kind == "" || found.GroupVersionResource == c.gvr || found.Version != c.gvk.Version && !anyVersion[T]():
		return hint
	}
	opts := c.opts
	opts.Kind = c.gvk.Kind
	source, err := reflector.NewResource[T](c.cfg, found.GroupVersionResource, opts)
	if err != nil {
		return fmt.Sprintf("%s: %v", hint, err)
	}
	c.reread = c.reread || found.Version != cmp.Or(c.gvr.Version, c.gvk.Version)
	c.gvr, c.source = found.GroupVersionResource, source
	return hint + ", and is read from there"
}

// anyVersion reports whether T can hold objects of any version: a generated type has one.
func anyVersion[T Object]() bool {
	var obj T
	switch any(obj).(type) {
	case *unstructured.Unstructured, *metav1.PartialObjectMetadata:
		return true
	}
	return false
}

// absentError is a 404, and when to ask again.
type absentError struct {
	error
	pause time.Duration
}

func (e *absentError) Unwrap() error { return e.error }

// notice passes on that a definition has changed. Its name ends with the group: widgets.example.com,
// v1.example.com.
func (c *collection[T]) notice(ev *reflector.WatchEvent[T]) {
	if !object.IsNil(ev.Object) {
		_, group, _ := strings.Cut(ev.Object.GetName(), ".")
		c.discovery.noteChanged(group)
	}
}

// noticing is a watch of definitions.
type noticing[T Object] struct {
	reflector.Stream[T]
	c *collection[T]
}

func (s noticing[T]) Next() (reflector.WatchEvent[T], error) {
	ev, err := s.Stream.Next()
	s.c.notice(&ev)
	return ev, err
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
	c.mu.Lock()
	defer c.mu.Unlock()
	return &collection[*metav1.PartialObjectMetadata]{cfg: c.cfg, discovery: c.discovery, gvk: c.gvk, opts: c.opts, tweak: c.tweak, gvr: c.gvr}, nil
}

// List lists the resource.
func (c *collection[T]) List(ctx context.Context, req reflector.Request, each func(reflector.WatchEvent[T]) error) (metav1.ListMeta, error) {
	c.begin(&req)
	source, err := c.resolve(ctx)
	if err != nil {
		return metav1.ListMeta{}, c.answered(ctx, err)
	}
	take := each
	if c.definesOthers() {
		take = func(ev reflector.WatchEvent[T]) error { c.notice(&ev); return each(ev) }
	}
	meta, err := source.List(ctx, req, take)
	return meta, c.answered(ctx, err)
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
	c.begin(&req)
	source, err := c.resolve(ctx)
	if err != nil {
		return nil, c.answered(ctx, err)
	}
	stream, err := source.Watch(ctx, req)
	if err = c.answered(ctx, err); err == nil && c.definesOthers() {
		stream = noticing[T]{stream, c}
	}
	return stream, err
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

// retryAbsent is a policy that asks for a resource that does not exist at a steady pace: soon, and
// after some minutes rarely, until a definition changes.
func retryAbsent(f reflector.Failure) reflector.Decision {
	if absent := (*absentError)(nil); errors.As(f.Err, &absent) {
		return reflector.RetryAfter(absent.pause)
	}
	if f.Class == reflector.ClassNotFound {
		return reflector.RetryAfter(absentRetry)
	}
	return reflector.Retry()
}
