package informer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/internal/httpclient"
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

// maxDiscovery bounds what is read of one answer: the core group's has 20 kB.
const maxDiscovery = 8 << 20

// maxForeign bounds in bytes each text of a server that is kept: a name, an error.
const maxForeign = 1 << 10

// brief returns err, or an error that begins as it does and does not keep the rest
// in memory. Errors of decoders quote the answer, and redirects can be long.
func brief(err error) error {
	text := err.Error()
	if len(text) <= maxForeign {
		return err
	}
	// Clone: a substring would keep the whole text in memory.
	return fmt.Errorf("%s… (%d bytes)", strings.ToValidUTF8(strings.Clone(text[:maxForeign-32]), ""), len(text))
}

// discovery asks an API server which resources it has.
//
// It reads /api/v1 or /apis/GROUP/VERSION, one document per group and version, rather
// than all groups: one group whose aggregated API server is down does not matter then.
type discovery struct {
	client *http.Client
	base   *url.URL
}

// newDiscovery returns a client for the discovery of one API server. It makes no
// request.
func newDiscovery(cfg *rest.Config) (*discovery, error) {
	cfg = rest.CopyConfig(cfg)
	if cfg.UserAgent == "" {
		cfg.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	cfg.GroupVersion = &schema.GroupVersion{Version: "v1"} // for the defaults only
	client, err := httpclient.For(cfg)
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, err
	}
	return &discovery{client: client, base: base}, nil
}

// find returns the resource whose kind is gvk's. If the server does not have it,
// the error satisfies apierrors.IsNotFound.
func (d *discovery) find(ctx context.Context, gvk schema.GroupVersionKind) (metav1.APIResource, error) {
	return d.search(ctx, gvk.GroupVersion(), gvk.Kind, func(r *metav1.APIResource) bool { return r.Kind == gvk.Kind })
}

// search returns the resource of a group and version that matches; name is for the
// error if there is none. Subresources do not count.
func (d *discovery) search(ctx context.Context, gv schema.GroupVersion, name string, match func(*metav1.APIResource) bool) (metav1.APIResource, error) {
	list, err := d.resources(ctx, gv)
	if err != nil {
		return metav1.APIResource{}, err
	}
	for _, r := range list.APIResources {
		// The document also has subresources, such as "pods/status" of the kind Pod, which
		// would match by kind but cannot be listed.
		if !strings.Contains(r.Name, "/") && match(&r) {
			if len(r.Name) > maxForeign {
				return metav1.APIResource{}, fmt.Errorf("the server says that %s in %s is served under a name of %d bytes; is this an API server?", name, gv, len(r.Name))
			}
			return r, nil
		}
	}
	return metav1.APIResource{}, notServed(gv, name)
}

// notServed is the error for what the server does not have.
func notServed(gv schema.GroupVersion, name string) error {
	err := apierrors.NewNotFound(schema.GroupResource{Group: gv.Group, Resource: name}, "")
	err.ErrStatus.Message = fmt.Sprintf("the server does not serve %s in %s (yet); is its CustomResourceDefinition installed?", name, gv)
	return err
}

// resources asks for the resources of one group and version.
func (d *discovery) resources(ctx context.Context, gv schema.GroupVersion) (*metav1.APIResourceList, error) {
	path := []string{"apis", gv.Group, gv.Version}
	if gv.Group == "" {
		path = []string{"api", gv.Version}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.base.JoinPath(path...).String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := d.client.Do(req)
	if err != nil {
		return nil, brief(err)
	}
	defer func() { _ = resp.Body.Close() }()
	// The limit protects the memory of the program from an answer without end. One that is
	// cut off does not decode, and is reported as such.
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDiscovery))
	if err != nil {
		return nil, fmt.Errorf("reading the resources of %s: %w", gv, err)
	}
	switch {
	case resp.StatusCode == http.StatusNotFound:
		// No resource of the group and version is served: that of a CustomResourceDefinition
		// that is not installed, for example.
		return nil, notServed(gv, "anything")
	case resp.StatusCode != http.StatusOK:
		return nil, apierrors.NewGenericServerResponse(resp.StatusCode, "get",
			schema.GroupResource{Group: gv.Group}, "", "asking for the resources of "+gv.String(), 0, false)
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("decoding the resources of %s; is this an API server? %w", gv, brief(err))
	}
	return &list, nil
}
