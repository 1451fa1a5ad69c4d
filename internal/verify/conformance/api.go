package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// patience is how long an answer may take.
const patience = 30 * time.Second

// suite is what all tests share.
type suite struct {
	client *http.Client
	base   *url.URL
	opts   Options
}

// api is what one test works with: the server and a namespace of its own.
type api struct {
	*testing.T
	suite *suite
	ns    string
	ctx   context.Context
}

// object is decoded JSON.
type object = map[string]any

// api creates a namespace for a test.
func (s *suite) api(t *testing.T) *api {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	a := &api{T: t, suite: s, ctx: ctx, ns: fmt.Sprintf("conformance-%08x", rand.Uint32())}
	a.expect(http.StatusCreated, "POST", "/api/v1/namespaces", object{
		"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": a.ns},
	})
	t.Cleanup(func() {
		// The context of the test has ended by now.
		late := *a
		var cancel context.CancelFunc
		late.ctx, cancel = context.WithTimeout(context.Background(), patience)
		defer cancel()
		for _, resource := range []string{"/api/v1/%s/configmaps", "/api/v1/%s/pods", "/api/v1/%s/events", "/apis/apps/v1/%s/replicasets"} {
			late.do("DELETE", fmt.Sprintf(resource, "namespaces/"+a.ns), nil)
		}
		late.do("DELETE", "/api/v1/namespaces/"+a.ns, nil)
	})
	return a
}

// answer is a response.
type answer struct {
	Code   int
	Header http.Header
	Raw    []byte
	Object object // nil unless the body is a JSON object
}

// header is one header of a request; it may stand among the arguments of do.
type header struct{ name, value string }

// raw is a body that is sent as it is.
type raw string

// do sends a request. body is nil, a raw or a value that is sent as JSON.
func (a *api) do(method, path string, body any, headers ...header) answer {
	a.Helper()
	resp := a.open(method, path, body, headers...)
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	require.NoError(a, err, "%s %s", method, path)
	ans := answer{Code: resp.StatusCode, Header: resp.Header, Raw: content}
	_ = json.Unmarshal(content, &ans.Object) // not all answers are objects
	return ans
}

// open sends a request and leaves the body of the response to the caller.
func (a *api) open(method, path string, body any, headers ...header) *http.Response {
	a.Helper()
	var content []byte
	switch body := body.(type) {
	case nil:
	case raw:
		content = []byte(body)
	default:
		var err error
		content, err = json.Marshal(body)
		require.NoError(a, err)
	}
	path, query, _ := strings.Cut(path, "?")
	u := *a.suite.base
	u.Path, u.RawQuery = path, query
	req, err := http.NewRequestWithContext(a.ctx, method, u.String(), bytes.NewReader(content))
	require.NoError(a, err)
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		req.Header.Set(h.name, h.value)
	}
	resp, err := a.suite.client.Do(req)
	require.NoError(a, err, "%s %s", method, path)
	return resp
}

// expect sends a request that must be answered with a code, and returns the
// object in the answer.
func (a *api) expect(code int, method, path string, body any, headers ...header) object {
	a.Helper()
	ans := a.do(method, path, body, headers...)
	require.Equal(a, code, ans.Code, "%s %s: %s", method, path, ans.Raw)
	return ans.Object
}

// refused sends a request that must be answered with a Status of a reason.
func (a *api) refused(code int, reason metav1.StatusReason, method, path string, body any, headers ...header) metav1.Status {
	a.Helper()
	ans := a.do(method, path, body, headers...)
	require.Equal(a, code, ans.Code, "%s %s: %s", method, path, ans.Raw)
	status := metav1.Status{}
	require.NoError(a, json.Unmarshal(ans.Raw, &status), "%s", ans.Raw)
	assert.Equal(a, "Status", status.Kind)
	assert.Equal(a, metav1.StatusFailure, status.Status)
	assert.EqualValues(a, code, status.Code)
	assert.Equal(a, reason, status.Reason, "%s", ans.Raw)
	assert.NotEmpty(a, status.Message)
	return status
}

// configmaps, pods and replicasets are the paths of collections in the
// namespace of the test.
func (a *api) configmaps(rest ...string) string  { return a.path("/api/v1", "configmaps", rest) }
func (a *api) pods(rest ...string) string        { return a.path("/api/v1", "pods", rest) }
func (a *api) replicasets(rest ...string) string { return a.path("/apis/apps/v1", "replicasets", rest) }
func (a *api) events(rest ...string) string      { return a.path("/api/v1", "events", rest) }

// path joins a path; a last element that begins with "?" is the query.
func (a *api) path(root, resource string, rest []string) string {
	p := root + "/namespaces/" + a.ns + "/" + resource
	for _, r := range rest {
		if !strings.HasPrefix(r, "?") {
			p += "/"
		}
		p += r
	}
	return p
}

// configmap is a config map with labels given as key, value, key, value, ...
func configmap(name string, labels ...string) object {
	meta := object{"name": name}
	if len(labels) > 0 {
		set := object{}
		for i := 0; i < len(labels); i += 2 {
			set[labels[i]] = labels[i+1]
		}
		meta["labels"] = set
	}
	return object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": object{"k": "v"}}
}

// makeConfigmap creates a config map.
func (a *api) makeConfigmap(name string, labels ...string) object {
	a.Helper()
	return a.expect(http.StatusCreated, "POST", a.configmaps(), configmap(name, labels...))
}

// replicaset is a complete replica set.
func replicaset(name string, replicas int) object {
	labels := object{"app": name}
	return object{
		"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": object{"name": name},
		"spec": object{
			"replicas": replicas, "selector": object{"matchLabels": labels},
			"template": object{"metadata": object{"labels": labels}, "spec": podSpec()},
		},
	}
}

// pod is a complete pod.
func pod(name string) object {
	return object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": name}, "spec": podSpec()}
}

func podSpec() object {
	return object{"containers": []any{object{"name": "c", "image": "example.test/image"}}}
}

// metadata, and below it the fields that most tests look at.
func metadata(o object) object {
	m, _ := o["metadata"].(object)
	return m
}

func text(o object, path ...string) string {
	s, _, _ := unstructured.NestedString(o, path...)
	return s
}

// value returns what is at a path, or nil.
func value(o object, path ...string) any {
	v, _, _ := unstructured.NestedFieldNoCopy(o, path...)
	return v
}

func rv(o object) string     { return text(o, "metadata", "resourceVersion") }
func nameOf(o object) string { return text(o, "metadata", "name") }
func uidOf(o object) string  { return text(o, "metadata", "uid") }
func without(o object, path ...string) object {
	c := deepCopy(o)
	unstructured.RemoveNestedField(c, path...)
	return c
}

// with returns a copy of an object with a value at a path.
func (a *api) with(o object, value any, path ...string) object {
	a.Helper()
	c := deepCopy(o)
	at := c
	for _, name := range path[:len(path)-1] {
		next, ok := at[name].(object)
		if !ok {
			next = object{}
			at[name] = next
		}
		at = next
	}
	at[path[len(path)-1]] = value
	return c
}

func deepCopy(o object) object {
	b, _ := json.Marshal(o) // it came from JSON
	c := object{}
	_ = json.Unmarshal(b, &c)
	return c
}

// items returns the items of a list and their names.
func items(list object) (all []object, names []string) {
	raw, _ := list["items"].([]any)
	for _, item := range raw {
		o, _ := item.(object)
		all = append(all, o)
		names = append(names, nameOf(o))
	}
	return all, names
}
