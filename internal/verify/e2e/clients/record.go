package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Exchange is a request and what was answered, without what differs from one run to
// the next: names of namespaces, UIDs, versions, times and addresses.
type Exchange struct {
	Request string
	Code    int
	Reason  metav1.StatusReason
	Kind    string
	Object  map[string]any
}

// Record runs a scenario and returns its exchanges in order.
func Record(t *testing.T, cfg *rest.Config, s Scenario) []Exchange {
	ns := namespace(t, cfg)
	cfg = rest.CopyConfig(cfg)
	r := &recording{namespace: ns}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) { return r.roundTrip(next, req) })
	})
	s.run(t, cfg, ns)
	return r.exchanges
}

// Scenario is one whose requests come in one order.
type Scenario struct{ scenario }

// Name is the name of the scenario.
func (s Scenario) Name() string { return s.name }

// Scenarios returns the scenarios that can be recorded.
func Scenarios() []Scenario {
	var out []Scenario
	for _, s := range ordered {
		out = append(out, Scenario{s})
	}
	return out
}

// roundTripper is an http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// recording keeps what passes.
type recording struct {
	namespace string
	mu        sync.Mutex
	exchanges []Exchange
}

func (r *recording) roundTrip(next http.RoundTripper, req *http.Request) (*http.Response, error) {
	resp, err := next.RoundTrip(req)
	if err != nil || req.URL.Query().Get("watch") != "" {
		return resp, err // a watch has no end to wait for
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // it was read to its end
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	// What a server has beside its objects is compared elsewhere.
	if !strings.Contains(req.URL.Path, "/namespaces/") && !strings.Contains(req.URL.Path+string(body), r.namespace) {
		return resp, nil
	}
	e := Exchange{Request: req.Method + " " + r.neutral(neutralPath(req.URL)), Code: resp.StatusCode}
	e.Object = r.decode(body)
	e.Kind, _ = e.Object["kind"].(string)
	if e.Kind == "Table" {
		neutralTable(e.Object)
	}
	if e.Kind == "Status" {
		reason, _ := e.Object["reason"].(string)
		e.Reason = metav1.StatusReason(reason)
		delete(e.Object, "message") // sentences are for people
		if details, ok := e.Object["details"].(map[string]any); ok {
			dropMessages(details)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exchanges = append(r.exchanges, e)
	return resp, nil
}

// neutralPath is the path and query of a request, with the parts of field selectors
// in one order: clients keep them in maps.
func neutralPath(u *url.URL) string {
	query := u.Query()
	if selector := query.Get("fieldSelector"); selector != "" {
		parts := strings.Split(selector, ",")
		slices.Sort(parts)
		query.Set("fieldSelector", strings.Join(parts, ","))
	}
	if len(query) == 0 {
		return u.Path
	}
	return u.Path + "?" + query.Encode()
}

// decode returns the JSON of a body in JSON or protobuf, made neutral. Differences
// that the documentation of informertest lists are removed.
func (r *recording) decode(body []byte) map[string]any {
	if bytes.HasPrefix(body, []byte("k8s\x00")) {
		obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			return map[string]any{"undecodable": err.Error()}
		}
		if body, err = json.Marshal(obj); err != nil {
			return map[string]any{"undecodable": err.Error()}
		}
	}
	out := map[string]any{}
	if err := json.Unmarshal([]byte(r.neutral(string(body))), &out); err != nil {
		return map[string]any{"undecodable": err.Error()}
	}
	out = neutralValue(out).(map[string]any)
	if status, ok := out["status"].(map[string]any); ok && len(status) == 0 {
		delete(out, "status") // of a kind that has it in newer Go types only
	}
	dropProtection(out)
	return out
}

// dropProtection removes the finalizers that an admission plugin of a cluster gives
// to volumes.
func dropProtection(object map[string]any) {
	meta, _ := object["metadata"].(map[string]any)
	finalizers, _ := meta["finalizers"].([]any)
	for _, f := range finalizers {
		if name, _ := f.(string); strings.HasSuffix(name, "-protection") {
			delete(meta, "finalizers")
		}
	}
	rows, _ := object["rows"].([]any)
	for _, r := range rows {
		row, _ := r.(map[string]any)
		if inner, ok := row["object"].(map[string]any); ok {
			dropProtection(inner)
		}
	}
}

// What differs from run to run, wherever it stands.
var (
	uids  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	times = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	ips   = regexp.MustCompile(`"10\.\d+\.\d+\.\d+"`)
)

// neutral replaces it in a text.
func (r *recording) neutral(text string) string {
	text = strings.ReplaceAll(text, r.namespace, "NAMESPACE")
	return ips.ReplaceAllString(times.ReplaceAllString(uids.ReplaceAllString(text, "UID"), "TIME"), `"IP"`)
}

// neutralValue replaces versions. Members that hold nothing are as good as absent:
// the encodings differ in that.
func neutralValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			member = neutralValue(member)
			if s, ok := member.(string); ok && name == "resourceVersion" && s != "" {
				member = "VERSION"
			}
			if v[name] = member; empty(member) {
				delete(v, name)
			}
		}
		if managers, ok := v["managedFields"].([]any); ok {
			sortManagers(managers)
		}
	case []any:
		for i := range v {
			v[i] = neutralValue(v[i])
		}
	}
	return v
}

// sortManagers brings managers into one order. API servers sort them by the second
// in which they wrote, which depends on the machine.
func sortManagers(managers []any) {
	key := func(v any) string {
		m, _ := v.(map[string]any)
		return fmt.Sprint(m["manager"], m["operation"], m["subresource"], m["apiVersion"])
	}
	slices.SortFunc(managers, func(a, b any) int { return strings.Compare(key(a), key(b)) })
}

// empty reports whether a member holds nothing. An empty object is something in
// managedFields only, whose members all are such.
func empty(v any) bool { return v == nil || v == "" }

// neutralTable leaves the name in each row of a table: the embedded server has few columns
// for built-in kinds.
func neutralTable(table map[string]any) {
	delete(table, "columnDefinitions")
	rows, _ := table["rows"].([]any)
	for _, r := range rows {
		if row, ok := r.(map[string]any); ok {
			delete(row, "conditions")
			if cells, _ := row["cells"].([]any); len(cells) > 0 {
				row["cells"] = cells[:1]
			}
		}
	}
}

// dropMessages removes the sentences from the details of a Status.
func dropMessages(details map[string]any) {
	causes, _ := details["causes"].([]any)
	for _, c := range causes {
		if cause, ok := c.(map[string]any); ok {
			delete(cause, "message")
		}
	}
}
