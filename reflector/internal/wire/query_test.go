package wire

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// pods returns a source of pods for tests of its parts.
func pods(t testing.TB, opts Options) *Resource[*corev1.Pod] {
	lw, err := New[*corev1.Pod](&rest.Config{Host: "http://apiserver.test"}, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, opts)
	require.NoError(t, err)
	return lw
}

// TestNoListOptionIsLost sets the fields of ListOptions one by one, those too
// that do not exist yet.
func TestNoListOptionIsLost(t *testing.T) {
	t.Parallel()
	typ := reflect.TypeFor[metav1.ListOptions]()
	for i := range typ.NumField() {
		field := typ.Field(i)
		if field.Anonymous { // TypeMeta: what the options are, not one of them
			continue
		}
		var o metav1.ListOptions
		v, want := reflect.ValueOf(&o).Elem().Field(i), "1"
		if v.Kind() == reflect.Pointer {
			v.Set(reflect.New(v.Type().Elem()))
			v = v.Elem()
		}
		switch {
		case v.Kind() == reflect.String:
			v.SetString(want)
		case v.Kind() == reflect.Bool:
			want = "true"
			v.SetBool(true)
		case v.CanInt():
			v.SetInt(1)
		default:
			t.Fatalf("%s is of a kind this test does not know: %s", field.Name, v.Kind())
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		q, err := pods(t, Options{}).query(o)
		require.NoError(t, err)
		require.Equal(t, url.Values{name: {want}}, q, field.Name)
		if field.Type.Kind() == reflect.Pointer {
			v.SetZero()
			q, err = pods(t, Options{}).query(o)
			require.NoError(t, err)
			require.Equal(t, url.Values{name: {fmt.Sprint(v)}}, q, field.Name)
		}
	}
}

func TestTheSelectorsOfASourceAndOfARequestBothApply(t *testing.T) {
	t.Parallel()
	q, err := pods(t, Options{LabelSelector: "a=b", FieldSelector: "metadata.name!=x"}).query(
		metav1.ListOptions{LabelSelector: "c", FieldSelector: "metadata.name!=y"})
	require.NoError(t, err)
	require.Equal(t, url.Values{"labelSelector": {"a=b,c"}, "fieldSelector": {"metadata.name!=x,metadata.name!=y"}}, q)
}

// A name in a selector that is none must not lead to another resource.
func TestANamespaceGetsIntoTheURLOnlyIfItIsAPathSegment(t *testing.T) {
	t.Parallel()
	for namespace, path := range map[string]string{
		"prod": "/api/v1/namespaces/prod/pods",
		"":     "/api/v1/pods", ".": "/api/v1/pods", "..": "/api/v1/pods", "a/b": "/api/v1/pods", "../../secrets": "/api/v1/pods",
		"a%2fb": "/api/v1/pods", "%2e%2e": "/api/v1/pods",
	} {
		var got *url.URL
		transport := roundTripper(func(r *http.Request) (*http.Response, error) {
			got = r.URL
			return nil, errors.New("sent")
		})
		lw, err := New[*corev1.Pod](&rest.Config{Host: "http://apiserver.test", Transport: transport}, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Options{})
		require.NoError(t, err)
		selector := "metadata.namespace=" + namespace
		_, err = lw.List(t.Context(), Request{ListOptions: metav1.ListOptions{FieldSelector: selector}}, func(Event[*corev1.Pod]) error { return nil })
		require.ErrorContains(t, err, "sent")
		require.Equal(t, path, got.EscapedPath(), namespace)
		require.Equal(t, selector, got.Query().Get("fieldSelector"))
	}
}
