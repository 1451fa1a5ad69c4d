package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Write is a request that changed something on the API server.
type Write struct {
	// Verb is create, update, patch or delete.
	Verb string
	// Resource is the plural name, and Subresource for example "status".
	Resource, Subresource string
	// Object is what was written, as the server stores it; of a deletion it may be
	// no more than the name.
	Object metav1.PartialObjectMetadata
	// Body is the object in JSON.
	Body []byte
}

// Done returns a sentence such as "created pod web-1".
func (w Write) Done() string {
	past := map[string]string{"create": "created", "update": "updated", "patch": "patched", "delete": "deleted"}[w.Verb]
	what := strings.TrimSuffix(w.Resource, "s")
	if w.Subresource != "" {
		what = "the " + w.Subresource + " of " + what
	}
	return fmt.Sprintf("%s %s %s", past, what, w.Object.Name)
}

// PrintWrites returns a copy of cfg whose clients print each of their writes to transcript,
// as done by who, in causal order. The callback describe returns the line. Nothing is
// printed if the line is empty or the server rejects the write.
func PrintWrites(cfg *rest.Config, transcript *Transcript, who string, describe func(Write) string) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return Transport(func(r *http.Request) (*http.Response, error) {
			verb := map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}[r.Method]
			if verb == "" {
				return next.RoundTrip(r)
			}
			r = r.Clone(r.Context())
			r.Header.Set("Accept", "application/json") // what describe gets
			line := transcript.Reserve()
			defer line.Drop() // has no effect after Say
			answer, err := next.RoundTrip(r)
			if err != nil || answer.StatusCode >= 300 {
				return answer, err
			}
			body, err := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			if err != nil {
				return nil, err
			}
			answer.Body = io.NopCloser(bytes.NewReader(body))
			if text := describe(write(verb, r.URL.Path, body)); text != "" {
				line.Say(who, "%s", text)
			}
			return answer, nil
		})
	})
	return cfg
}

// Transport is a function that implements http.RoundTripper.
type Transport func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f Transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// write parses a request: /api/v1/namespaces/NS/pods/NAME/status, or the
// same under /apis/GROUP/VERSION, with or without the namespace.
func write(verb, path string, body []byte) Write {
	w := Write{Verb: verb, Body: body}
	_ = json.Unmarshal(body, &w.Object) // a Status, where the server returns one, has no name
	parts := strings.Split(strings.Trim(path, "/"), "/")
	prefix := 2
	if parts[0] == "apis" {
		prefix = 3
	}
	parts = parts[min(prefix, len(parts)):]
	if len(parts) > 2 && parts[0] == "namespaces" && parts[2] != "status" && parts[2] != "finalize" {
		parts = parts[2:]
	}
	if len(parts) > 0 {
		w.Resource = parts[0]
	}
	if len(parts) > 1 {
		w.Object.Name = parts[1]
	}
	if len(parts) > 2 {
		w.Subresource = parts[2]
	}
	return w
}
