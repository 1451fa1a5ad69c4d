package reconcile

import (
	"maps"
	"net/http"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// Requests counts requests to an API server by verb and resource, such as
// "create pods" or "update replicasets/status". The zero value is ready to use.
type Requests struct {
	mu     sync.Mutex
	counts map[string]int
}

// Of returns a configuration like cfg whose requests are counted.
func (r *Requests) Of(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &counter{r, next} })
	return cfg
}

// Counts returns how many there were so far.
func (r *Requests) Counts() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.counts)
}

type counter struct {
	to   *Requests
	next http.RoundTripper
}

// RoundTrip counts the request and sends it on.
func (c *counter) RoundTrip(req *http.Request) (*http.Response, error) {
	name := describe(req)
	c.to.mu.Lock()
	if c.to.counts == nil {
		c.to.counts = map[string]int{}
	}
	c.to.counts[name]++
	c.to.mu.Unlock()
	return c.next.RoundTrip(req)
}

// describe returns verb and resource of a request for objects of a namespace:
//
//	/api/v1/namespaces/NAMESPACE/pods/NAME
//	/apis/GROUP/VERSION/namespaces/NAMESPACE/replicasets/NAME/status
func describe(req *http.Request) string {
	_, path, found := strings.Cut(req.URL.Path, "/namespaces/")
	parts := strings.Split(path, "/")[1:] // without the namespace
	if !found || len(parts) == 0 {
		return req.Method + " " + req.URL.Path
	}
	what := parts[0]
	if len(parts) > 2 {
		what += "/" + parts[2]
	}
	verb := map[string]string{
		http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
	}[req.Method]
	switch query := req.URL.Query(); {
	case verb != "":
	case len(parts) > 1:
		verb = "get"
	case query.Get("watch") == "true" || query.Get("watch") == "1":
		verb = "watch"
	default:
		verb = "list"
	}
	return verb + " " + what
}
