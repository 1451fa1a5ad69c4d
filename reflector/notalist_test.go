package reflector_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// TestAnswersThatAreNotAListDoNotEmptyTheCache has answers with status 200.
func TestAnswersThatAreNotAListDoNotEmptyTheCache(t *testing.T) {
	t.Parallel()
	const head = `"apiVersion":"v1","metadata":{"resourceVersion":"7"}`
	for name, body := range map[string]string{
		"nothing":                     ``,
		"empty object":                `{}`,
		"null":                        `null`,
		"array":                       `[]`,
		"no kind":                     `{"items":[]}`,
		"no kind but a version":       `{"items":[],` + head + `}`,
		"no apiVersion":               `{"kind":"ConfigMapList","metadata":{"resourceVersion":"7"},"items":[]}`,
		"error list":                  `{"kind":"ErrorList","apiVersion":"v1","items":[]}`,
		"error":                       `{"items":[],"error":"upstream timed out"}`,
		"error with a version":        `{"items":[],"error":"upstream timed out","metadata":{"resourceVersion":"7"}}`,
		"two documents":               `{"kind":"ConfigMapList",` + head + `,"items":[]}{"kind":"ConfigMapList",` + head + `,"items":[]}`,
		"garbage behind":              `{"kind":"ConfigMapList",` + head + `,"items":[]} x`,
		"items twice":                 `{"kind":"ConfigMapList",` + head + `,"items":[],"items":[]}`,
		"kind twice":                  `{"kind":"ConfigMapList","kind":"ConfigMapList",` + head + `,"items":[]}`,
		"metadata twice":              `{"kind":"ConfigMapList",` + head + `,"metadata":{},"items":[]}`,
		"another version":             `{"kind":"ConfigMapList","apiVersion":"v2","metadata":{"resourceVersion":"7"},"items":[]}`,
		"one object":                  `{"kind":"ConfigMap",` + head + `}`,
		"items an object":             `{"kind":"ConfigMapList",` + head + `,"items":{}}`,
		"status":                      `{"kind":"Status","apiVersion":"v1","status":"Success"}`,
		"neither items nor a version": `{"kind":"ConfigMapList","apiVersion":"v1"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := serve(t, "application/json", func() string { return body })
			typed, err := reflector.NewResource[*corev1.ConfigMap](cfg, scripted.ConfigMaps, reflector.ResourceOptions{})
			require.NoError(t, err)
			_, _, err = listOnce(t, typed)
			require.ErrorContains(t, err, "cannot list configmaps")
			untyped, err := reflector.NewResource[*unstructured.Unstructured](cfg, scripted.ConfigMaps, reflector.ResourceOptions{})
			require.NoError(t, err)
			_, _, err = listOnce(t, untyped)
			require.ErrorContains(t, err, "cannot list configmaps")
		})
	}
}

func TestListsThatAreEmptyAreLists(t *testing.T) {
	t.Parallel()
	const head = `"apiVersion":"v1","metadata":{"resourceVersion":"7"}`
	for name, body := range map[string]string{
		"items null":    `{"kind":"ConfigMapList",` + head + `,"items":null}`,
		"no items":      `{"kind":"ConfigMapList",` + head + `}`,
		"items first":   `{"items":[],"kind":"ConfigMapList",` + head + `}`,
		"generic":       `{"kind":"List",` + head + `,"items":[]}` + "\n ",
		"unknown field": `{"kind":"ConfigMapList","more":{"a":[1]},` + head + `,"items":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := serve(t, "application/json", func() string { return body })
			for _, encoding := range []reflector.Encoding{reflector.EncodingAuto, reflector.EncodingJSON} {
				lw, err := reflector.NewResource[*corev1.ConfigMap](cfg, scripted.ConfigMaps, reflector.ResourceOptions{Encoding: encoding})
				require.NoError(t, err)
				meta, err := lw.List(t.Context(), reflector.Request{}, func(reflector.WatchEvent[*corev1.ConfigMap]) error { return nil })
				require.NoError(t, err)
				require.Equal(t, "7", meta.ResourceVersion)
			}
		})
	}
}

// TestAnEmptyListWithoutAVersionIsOneIfItsKindIsKnown has the answers of aggregated APIs such as
// metrics.k8s.io. Discovery is asked by a source that has not seen the resource before.
func TestAnEmptyListWithoutAVersionIsOneIfItsKindIsKnown(t *testing.T) {
	t.Parallel()
	const empty = `{"kind":"PodMetricsList","apiVersion":"metrics.k8s.io/v1beta1","metadata":{},"items":[]}`
	const one = `{"kind":"PodMetricsList","apiVersion":"metrics.k8s.io/v1beta1","metadata":{},"items":[{"metadata":{"name":"web"}}]}`
	resources := func(found string) string {
		return `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"metrics.k8s.io/v1beta1","resources":[` + found + `]}`
	}
	for name, test := range map[string]struct {
		lists     []string
		discovery string
		opts      reflector.ResourceOptions
		fails     bool
	}{
		"discovery says the kind":    {lists: []string{empty}, discovery: resources(`{"name":"nodes","kind":"NodeMetrics"},{"name":"pods","kind":"PodMetrics"}`)},
		"discovery, in a namespace":  {lists: []string{empty}, discovery: resources(`{"name":"pods","kind":"PodMetrics"}`), opts: reflector.ResourceOptions{Namespace: "shop"}},
		"an option says the kind":    {lists: []string{empty}, opts: reflector.ResourceOptions{Kind: "PodMetrics"}},
		"the last list said it":      {lists: []string{one, empty}},
		"discovery says another one": {lists: []string{empty}, discovery: resources(`{"name":"pods","kind":"Pod"}`), fails: true},
		"discovery has no such":      {lists: []string{empty}, discovery: resources(`{"name":"nodes","kind":"PodMetrics"}`), fails: true},
		"no discovery":               {lists: []string{empty}, fails: true},
		"discovery is no JSON":       {lists: []string{empty}, discovery: `<html>`, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 0 // requests of the resource
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch {
				case strings.HasSuffix(r.URL.Path, "/pods"):
					_, _ = io.WriteString(w, test.lists[n])
					n++
				case r.URL.Path == "/apis/metrics.k8s.io/v1beta1" && test.discovery != "":
					_, _ = io.WriteString(w, test.discovery)
				default:
					http.Error(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`, http.StatusNotFound)
				}
			}))
			t.Cleanup(server.Close)
			gvr := schema.GroupVersionResource{Group: "metrics.k8s.io", Version: "v1beta1", Resource: "pods"}
			lw, err := reflector.NewResource[*unstructured.Unstructured](&rest.Config{Host: server.URL}, gvr, test.opts)
			require.NoError(t, err)
			for range test.lists {
				_, _, err = listOnce(t, lw)
			}
			if test.fails {
				require.ErrorContains(t, err, "without a resourceVersion, not a list of the resource")
			} else {
				require.NoError(t, err)
			}
		})
	}
}
