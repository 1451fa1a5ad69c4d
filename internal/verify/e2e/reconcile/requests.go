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
	mu        sync.Mutex
	counts    map[string]int
	encodings map[string]string
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

// Encodings returns the media types of the latest answered request of each kind:
// of its body, where it has one, and of the answer's.
func (r *Requests) Encodings() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.encodings)
}

func (r *Requests) sent(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts, r.encodings = map[string]int{}, map[string]string{}
	}
	r.counts[what]++
}

func (r *Requests) answered(what string, body, answer http.Header) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.encodings[what] = body.Get("Content-Type") + " → " + answer.Get("Content-Type")
}

type counter struct {
	to   *Requests
	next http.RoundTripper
}

// RoundTrip counts the request and sends it on.
func (c *counter) RoundTrip(req *http.Request) (*http.Response, error) {
	what := describe(req)
	c.to.sent(what)
	answer, err := c.next.RoundTrip(req)
	if err == nil {
		c.to.answered(what, req.Header, answer.Header)
	}
	return answer, err
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
