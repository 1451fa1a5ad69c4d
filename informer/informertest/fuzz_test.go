package informertest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

func FuzzParsePath(f *testing.F) {
	for _, p := range []string{
		"/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1", "/api/v1/pods", "/api/v1/namespaces/default/pods/a/status",
		"/api/v1/namespaces/default", "/api/v1/namespaces/default/status", "/apis/apps/v1/namespaces/x/deployments", "//", "", "api", "/api/v1/a/b/c/d",
	} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, path string) {
		got, ok := parsePath(path)
		if !ok {
			return
		}
		// The parts are those of the path, in its order.
		parts := []string{got.root, got.group, got.version}
		if got.namespace != "" {
			parts = append(parts, "namespaces", got.namespace)
		}
		parts = append(parts, got.resource, got.name, got.subresource)
		var present []string
		for _, p := range parts {
			assert.NotContains(t, p, "/")
			if p != "" {
				present = append(present, p)
			}
		}
		assert.Equal(t, strings.TrimSuffix(path, "/"), "/"+strings.Join(present, "/"))
	})
}

func FuzzContinueToken(f *testing.F) {
	f.Add(continueToken{rv: 5, start: "ns/a\x00"}.String())
	f.Add(continueToken{start: "a"}.String())
	f.Add("garbage")
	f.Add("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhIn0")
	f.Fuzz(func(t *testing.T, s string) {
		token, err := parseContinue(s)
		if err != nil {
			return
		}
		require.NotEmpty(t, token.start)
		again, err := parseContinue(token.String())
		require.NoError(t, err)
		assert.Equal(t, token, again)
	})
}

// FuzzEvents shows an event in the other group and stores what was shown: nothing
// may be lost or made up on the way, but for members that the Go type always has.
func FuzzEvents(f *testing.F) {
	f.Add(`{"involvedObject":{"name":"x"},"source":{},"message":"m","count":2,"metadata":{}}`)
	f.Add(`{"involvedObject":null,"source":1,"reportingComponent":"c","action":"a"}`)
	stored, err := builtinResource{"", "v1", "Event", "events", "", "n", ""}.resource().complete()
	require.NoError(f, err)
	alias := eventsAlias(stored)
	f.Fuzz(func(t *testing.T, content string) {
		o := map[string]any{}
		if utiljson.Unmarshal([]byte(content), &o) != nil || o == nil {
			return
		}
		for core, shown := range eventMembers {
			delete(o, shown) // no stored event has both names
			if o[core] == nil {
				delete(o, core)
			}
		}
		for _, name := range []string{"involvedObject", "source"} {
			if o[name] == nil {
				o[name] = map[string]any{}
			}
		}
		obj := &unstructured.Unstructured{Object: o}
		obj.SetGroupVersionKind(stored.gvk("v1"))
		want := obj.DeepCopy()
		shown := alias.fromStored(obj, "v1")
		assert.Equal(t, "events.k8s.io/v1", shown.GetAPIVersion())
		assert.Equal(t, want, alias.toStored(shown, "v1"))
	})
}

func FuzzSelectors(f *testing.F) {
	f.Add("a=b,c!=d", "metadata.name=x")
	f.Add("a in (b,c),!d", "spec.nodeName!=")
	f.Add("(", "=")
	pods, err := builtins[2].resource().complete()
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, labels, fields string) {
		sel, err := parseSelection(pods, "ns", labels, fields)
		if err != nil {
			assert.EqualValues(t, http.StatusBadRequest, statusOf(err).Code)
			return
		}
		(&version{namespace: "ns", labels: map[string]string{"a": "b"}}).matches(sel)
	})
}

func FuzzAccept(f *testing.F) {
	f.Add("application/json;as=Table;v=v1;g=meta.k8s.io,application/json")
	f.Add("application/vnd.kubernetes.protobuf;q=0.5, */*;q=0.1")
	f.Fuzz(func(_ *testing.T, header string) {
		parseAccept(header)
	})
}

func FuzzToken(f *testing.F) {
	now := time.Now().Unix()
	f.Add(claims{Issuer: tokenIssuer, Subject: "system:serviceaccount:default:a", Expires: now + 1000}.token())
	f.Add(claims{Issuer: tokenIssuer, Expires: 1}.token())
	f.Add("a.b.c")
	f.Add("a.e30.c")
	f.Add("..")
	f.Fuzz(func(t *testing.T, token string) {
		c, ok := parseToken(token)
		if !ok {
			return
		}
		assert.Equal(t, tokenIssuer, c.Issuer)
		again, ok := parseToken(c.token())
		assert.True(t, ok)
		assert.Equal(t, c, again)
	})
}

// FuzzJSONPath reads paths of CustomResourceDefinitions and follows them in objects.
func FuzzJSONPath(f *testing.F) {
	object := `{"metadata":{"name":"a"},"spec":{"replicas":3,"size":1.5},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`
	for _, path := range []string{".spec.replicas", ".spec.size", `.status.conditions[?(@.type=="Ready")].status`, ".metadata.creationTimestamp", "", ".", "..", "[", "{", ".a[*]"} {
		f.Add(path, "string", object)
		f.Add(path, "integer", object)
	}
	f.Add(".a", "date", `{"a":"2020-01-01T00:00:00Z"}`)
	f.Fuzz(func(t *testing.T, path, kind, text string) {
		for _, name := range jsonPath(path) {
			assert.NotContains(t, name, ".")
		}
		object := map[string]any{}
		if err := utiljson.Unmarshal([]byte(text), &object); err != nil {
			return
		}
		cell := customColumn(printerColumn{Name: "c", Type: kind, JSONPath: path}).cell(object)
		_, err := json.Marshal(cell)
		assert.NoError(t, err)
		paths := &scalePaths{replicas: jsonPath(path), statusReplicas: jsonPath(path), selector: jsonPath(path)}
		_ = paths.of(&unstructured.Unstructured{Object: object}) // an object of a wrong shape has no scale
	})
}

// FuzzRequests sends anything at all to the server; it must answer each request
// with something, and go on.
func FuzzRequests(f *testing.F) {
	f.Add("GET", "/api/v1/pods?limit=1&labelSelector=a", "", "")
	f.Add("POST", "/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"a"}}`, "application/json")
	f.Add("PATCH", "/api/v1/namespaces/default", `[{"op":"add","path":"/metadata","value":1}]`, "application/json-patch+json")
	f.Add("PUT", "/api/v1/namespaces/default", `{"metadata":{"name":"default","labels":5}}`, "")
	f.Add("PATCH", "/api/v1/namespaces/default?fieldManager=m", "kind: Namespace\napiVersion: v1\nmetadata: {name: default, labels: {a: b}}", "application/apply-patch+yaml")
	f.Add("PATCH", "/apis/events.k8s.io/v1/namespaces/default/events/e?fieldManager=m&force=true", `{"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{"name":"e"},"note":"n"}`, "application/apply-patch+yaml")
	f.Add("PATCH", "/api/v1/namespaces/default", `{"metadata":{"$deleteFromPrimitiveList/finalizers":["a"],"labels":{"$patch":"replace"}}}`, "application/strategic-merge-patch+json")
	f.Add("DELETE", "/api/v1/nodes?propagationPolicy=Orphan", `{}`, "application/json")
	f.Add("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"metadata":{"name":"a.b"},"spec":{"group":"b","scope":"Cluster","names":{"kind":"A","plural":"a"},"versions":[{"name":"v1","served":true,"storage":true}]}}`, "")
	f.Add("POST", "/api/v1/namespaces/default/pods", "k8s\x00\x0a\x00", mediaProtobuf)
	f.Fuzz(func(t *testing.T, method, target, body, media string) {
		u, err := url.Parse(target)
		if err != nil || u.Host != "" || u.Scheme != "" || isWatch(&http.Request{URL: u}) || u.Query().Has("resourceVersion") {
			return // watches and versions from the future take their time
		}
		s, err := NewServer(Options{InMemory: true})
		require.NoError(t, err)
		defer s.Close()
		r := &http.Request{Method: method, URL: u, Header: http.Header{}, Body: http.NoBody}
		if body != "" {
			r.Body = httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)).Body
		}
		if media != "" {
			r.Header.Set("Content-Type", media)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		assert.GreaterOrEqual(t, w.Code, 200)
		if w.Code >= 400 {
			var status struct{ Code int }
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &status), "%s", w.Body)
			assert.Equal(t, w.Code, status.Code)
		}
	})
}
