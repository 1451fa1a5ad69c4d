package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/informertest"
)

// Promise client/11
func TestOnlyA404AboutTheObjectIsIgnored(t *testing.T) {
	t.Parallel()
	server := informertest.Start(t, informertest.Options{Resources: []informertest.Resource{{Group: "x.test", Versions: []string{"v1"}, Kind: "Foo", Plural: "foos"}}})
	foo := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "x.test/v1", "kind": "Foo", "metadata": map[string]any{"name": "a", "namespace": "default"}}}
	require.NoError(t, server.Create(foo))
	ctx, a, b := t.Context(), types.NamespacedName{Namespace: "default", Name: "a"}, types.NamespacedName{Namespace: "default", Name: "b"}
	dynamic := func(group, resource string) *client.Client[*unstructured.Unstructured] {
		c, err := client.New[*unstructured.Unstructured](server.Config(), schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}, client.Options{})
		require.NoError(t, err)
		return c
	}
	foos, maps := dynamic("x.test", "foos"), dynamic("", "configmaps")
	named := func(u *unstructured.Unstructured, namespace, name string) *unstructured.Unstructured {
		u = u.DeepCopy()
		u.SetNamespace(namespace)
		u.SetName(name)
		return u
	}
	for name, do := range map[string]func() error{
		"get":                             func() error { _, err := foos.Get(ctx, b); return err },
		"update":                          func() error { _, err := foos.Update(ctx, named(foo, "default", "b")); return err },
		"patch":                           func() error { _, err := foos.Patch(ctx, b, types.MergePatchType, []byte("{}")); return err },
		"delete":                          func() error { return foos.Delete(ctx, b, metav1.DeleteOptions{}) },
		"a namespace that does not exist": func() error { _, err := maps.Get(ctx, types.NamespacedName{Namespace: "none", Name: "a"}); return err },
		"wrapped":                         func() error { return fmt.Errorf("x: %w", apierrors.NewNotFound(configMaps.GroupResource(), "a")) },
	} {
		err := do()
		require.True(t, apierrors.IsNotFound(err), "%s: %v", name, err)
		assert.NoError(t, client.IgnoreNotFound(err), name)
	}
	for name, do := range map[string]func() error{
		"status of a kind without it": func() error {
			_, err := foos.Status().Patch(ctx, a, types.MergePatchType, []byte(`{"status":{"x":"y"}}`))
			return err
		},
		"no namespace":           func() error { return maps.Delete(ctx, types.NamespacedName{Name: "a"}, metav1.DeleteOptions{}) },
		"no such resource":       func() error { _, err := dynamic("x.test", "bars").Get(ctx, a); return err },
		"no such group":          func() error { _, err := dynamic("y.test", "foos").Get(ctx, a); return err },
		"list of no resource":    func() error { _, err := dynamic("x.test", "bars").List(ctx, "", metav1.ListOptions{}); return err },
		"create in no namespace": func() error { _, err := foos.Create(ctx, named(foo, "none", "c")); return err },
		"create in a namespace called like the object": func() error { _, err := foos.Create(ctx, named(foo, "none", "none")); return err },
		"a name that is empty":                         func() error { return apierrors.NewNotFound(configMaps.GroupResource(), "") },
		"another error":                                func() error { return errors.New("x") },
	} {
		err := do()
		require.Error(t, err, name)
		assert.Equal(t, err, client.IgnoreNotFound(err), name)
	}
	_, err := foos.Status().Patch(ctx, a, types.MergePatchType, []byte("{}"))
	assert.ErrorContains(t, err, `with the subresource "status"?`)
	assert.NoError(t, client.IgnoreNotFound(nil))
}

// A real API server names the object when a custom resource has no such subresource.
//
// Promise client/11
func TestA404OfASubresourceIsCheckedByReadingTheObject(t *testing.T) {
	t.Parallel()
	for object, ignored := range map[int]bool{200: false, 404: true, 403: false} {
		c := responding(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			code := http.StatusNotFound
			if r.Method == http.MethodGet {
				code = object
			}
			w.WriteHeader(code)
			if code == http.StatusOK {
				fmt.Fprint(w, `{"kind":"ConfigMap","metadata":{"name":"c"}}`)
				return
			}
			fmt.Fprintf(w, `{"kind":"Status","status":"Failure","reason":%q,"code":%d,"message":"m","details":{"name":"c","kind":"configmaps"}}`, map[int]string{404: "NotFound", 403: "Forbidden"}[code], code)
		})
		_, err := c.Status().Update(t.Context(), configMap("c"))
		require.True(t, apierrors.IsNotFound(err), err)
		assert.Equal(t, ignored, client.IgnoreNotFound(err) == nil, "%d: %v", object, err)
	}
	// A gateway's 404 tells nothing, in any form; nor does one about something else.
	for _, body := range []string{
		"404 page not found", "", "<html></html>", `{"kind":"Status","status":"Failure","reason":"NotFound","code":404,"details":{}}`,
		`{"kind":"Status","status":"Failure","reason":"NotFound","code":404}`,
		`{"kind":"Status","status":"Failure","reason":"NotFound","code":404,"details":{"name":"other","kind":"configmaps"}}`,
		`{"kind":"Status","status":"Failure","reason":"NotFound","code":404,"details":{"name":"c","kind":"services"}}`,
	} {
		c := responding(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, body)
		})
		_, err := c.Get(t.Context(), key)
		require.Error(t, err)
		assert.Error(t, client.IgnoreNotFound(err), body)
	}
}
