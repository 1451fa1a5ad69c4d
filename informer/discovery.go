package informer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
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
	"github.com/informerkit/informerkit/internal/object"
)

const (
	// absentRetry is the pause before another request for what the server does not serve, so that
	// a CustomResourceDefinition that is installed is noticed soon.
	absentRetry = 3 * time.Second
	// absentSlow replaces it after absentQuick, or changedQuick after a definition has changed.
	absentSlow   = 30 * time.Second
	absentQuick  = 5 * time.Minute
	changedQuick = time.Minute
	// locateEvery is how often the discovery of a group is read after a 404, by all informers of a
	// factory together.
	locateEvery = 30 * time.Second
	// locateTimeout bounds one such look.
	locateTimeout = 10 * time.Second
)

// definitions is what the informers of a factory share about groups in which something is missing.
type definitions struct {
	mu     sync.Mutex
	groups map[string]*group
}

// group is what is known of one API group. Guarded by the mutex of definitions.
type group struct {
	located time.Time // when discovery was read last
	served  []served
	changed time.Time     // when a definition has changed last
	wake    chan struct{} // closed when one changes, to end a long pause
}

// served is a resource that discovery has named.
type served struct {
	schema.GroupVersionResource
	kind       string
	namespaced bool
}

// groupLocked returns the entry of a group; the mutex must be held.
func (d *definitions) groupLocked(name string) *group {
	g, ok := d.groups[name]
	if !ok {
		g = &group{wake: make(chan struct{})}
		if d.groups == nil {
			d.groups = map[string]*group{}
		}
		d.groups[name] = g
	}
	return g
}

// awake returns a channel that is closed when a definition of the group changes.
func (d *definitions) awake(name string) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.groupLocked(name).wake
}

// noteChanged notes that a definition of the group has changed. Pauses are short for a while then, so
// the next changes need not end them.
func (d *definitions) noteChanged(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.groupLocked(name)
	g.located = time.Time{}
	if now := time.Now(); now.Sub(g.changed) > changedQuick {
		g.changed = now
		close(g.wake)
		g.wake = make(chan struct{})
	}
}

// pause returns how long to wait for what has been absent since then.
func (d *definitions) pause(name string, since time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(since) < absentQuick || time.Since(d.groupLocked(name).changed) < changedQuick {
		return absentRetry
	}
	return absentSlow
}

// locate returns the resources that a group has by discovery, those of the preferred version first. It asks
// the server if it has not done so for locateEvery. An error is not an answer: then there are none.
func (d *discovery) locate(ctx context.Context, name string) []served {
	d.mu.Lock()
	g := d.groupLocked(name)
	if have := g.served; time.Since(g.located) < locateEvery {
		d.mu.Unlock()
		return have
	}
	g.located, g.served = time.Now(), nil
	d.mu.Unlock()
	// A separate context: the caller's counts requests, and these have their own pace.
	own, cancel := context.WithTimeout(context.Background(), locateTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	versions := []metav1.GroupVersionForDiscovery{{Version: "v1"}} // of the core group
	if name != "" {
		var doc metav1.APIGroup
		if err := d.read(own, schema.GroupVersion{Group: name}, "apis/"+name, &doc); err != nil || doc.Name != name {
			return nil
		}
		versions = append([]metav1.GroupVersionForDiscovery{doc.PreferredVersion}, doc.Versions...)
	}
	var found []served
	for i, v := range versions {
		if i > 0 && v.Version == versions[0].Version {
			continue
		}
		gv := schema.GroupVersion{Group: name, Version: v.Version}
		list, err := d.resources(own, gv)
		if err != nil {
			continue
		}
		for r := range resourcesOf(list) {
			found = append(found, served{gv.WithResource(r.Name), r.Kind, r.Namespaced})
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	g.served = found
	return found
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
	definitions
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
	if apierrors.IsNotFound(err) {
		return metav1.APIResource{}, notServed(gv, name, err.Error())
	}
	if err != nil {
		return metav1.APIResource{}, err
	}
	for _, r := range list.APIResources {
		if match(&r) && len(r.Name) > maxForeign {
			return metav1.APIResource{}, fmt.Errorf("the server says that %s in %s is served under a name of %d bytes; is this an API server?", name, gv, len(r.Name))
		}
	}
	for r := range resourcesOf(list) {
		if match(&r) {
			return r, nil
		}
	}
	return metav1.APIResource{}, notServed(gv, name, "it is not in the discovery of the server")
}

// resourcesOf yields what can be listed. The document also has subresources, such as "pods/status" of
// the kind Pod.
func resourcesOf(list *metav1.APIResourceList) iter.Seq[metav1.APIResource] {
	return func(yield func(metav1.APIResource) bool) {
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") && len(r.Name) <= maxForeign && len(r.Kind) <= maxForeign && !yield(r) {
				return
			}
		}
	}
}

// notServed is the error for what the server does not have.
func notServed(gv schema.GroupVersion, name, why string) error {
	err := apierrors.NewNotFound(schema.GroupResource{Group: gv.Group, Resource: name}, "")
	advice := "is its CustomResourceDefinition installed?"
	if object.BuiltIn(gv.Group) {
		advice = "is the version right, and does the API server respond, or something in front of it?"
	}
	err.ErrStatus.Message = fmt.Sprintf("the server does not serve %s in %s (yet): %s; %s", name, gv, why, advice)
	return err
}

// resources asks for the resources of one group and version.
func (d *discovery) resources(ctx context.Context, gv schema.GroupVersion) (*metav1.APIResourceList, error) {
	path := "apis/" + gv.String()
	if gv.Group == "" {
		path = "api/" + gv.Version
	}
	var list metav1.APIResourceList
	return &list, d.read(ctx, gv, path, &list)
}

// read reads one document of discovery.
func (d *discovery) read(ctx context.Context, gv schema.GroupVersion, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.base.JoinPath(path).String(), nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := d.client.Do(req)
	if err != nil {
		return brief(err)
	}
	defer func() { _ = resp.Body.Close() }()
	// The limit protects the memory of the program from an answer without end. One that is
	// cut off does not decode, and is reported as such.
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDiscovery))
	switch {
	case err != nil:
		return fmt.Errorf("reading the resources of %s: %w", gv, err)
	case resp.StatusCode == http.StatusNotFound:
		// No resource of the group and version is served, or something else has answered.
		missing := apierrors.NewNotFound(schema.GroupResource{Group: gv.Group}, "")
		missing.ErrStatus.Message = fmt.Sprintf("/%s: HTTP status 404, with the text %q", path, strings.TrimSpace(strings.ToValidUTF8(string(body[:min(len(body), 300)]), "")))
		return missing
	case resp.StatusCode != http.StatusOK:
		return apierrors.NewGenericServerResponse(resp.StatusCode, "get",
			schema.GroupResource{Group: gv.Group}, "", "asking for the resources of "+gv.String(), httpclient.RetryAfter(resp), false)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("decoding the resources of %s; is this an API server? %w", gv, brief(err))
	}
	return nil
}
