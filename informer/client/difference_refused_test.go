package client_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/informertest"
)

func TestARefusedPatchIsExplained(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		http.StatusForbidden: "if the role lacks the verb patch for configmaps, grant it", http.StatusMethodNotAllowed: "use Client.Update",
		http.StatusUnsupportedMediaType: "which the server does not support for configmaps",
	} {
		c, server := connect[*corev1.ConfigMap](t, configMaps, client.Options{})
		made, err := c.Create(t.Context(), configMap("c"))
		require.NoError(t, err)
		for _, change := range []func(m *corev1.ConfigMap){
			func(m *corev1.ConfigMap) { m.Data = map[string]string{"a": "1"} },
			func(m *corev1.ConfigMap) { client.AddFinalizer(m, "x.test/y") },
		} {
			server.Inject(informertest.Fault{Verb: "patch", Resource: "configmaps", Times: 2, Effect: informertest.Refuse(apierrors.NewGenericServerResponse(status, "patch", configMaps.GroupResource(), "c", "refused", 0, true))})
			_, err = c.ModifyFrom(t.Context(), made, func(m *corev1.ConfigMap) error { change(m); return nil })
			require.ErrorContains(t, err, want)
			require.Equal(t, apierrors.IsForbidden(err), status == http.StatusForbidden)
		}
	}
}

// Promise client/3
func TestAChangeOfAListNeedsTheRightToRead(t *testing.T) {
	t.Parallel()
	c, server := startLoose(t, client.Options{})
	made, err := c.Create(t.Context(), loose(map[string]any{"l": []any{"a"}}))
	require.NoError(t, err)
	change := func(u *unstructured.Unstructured) error {
		return unstructured.SetNestedStringSlice(u.Object, []string{"b"}, "spec", "l")
	}
	server.Inject(informertest.Fault{Verb: "get", Resource: "looses", Times: 1, Effect: informertest.Refuse(apierrors.NewForbidden(looses.GroupResource(), made.GetName(), nil))})
	_, err = c.ModifyFrom(t.Context(), made, change)
	require.ErrorContains(t, err, "grant the verb get for looses.example.com")
	require.True(t, apierrors.IsForbidden(err))
	_, err = c.ModifyFrom(t.Context(), made, change)
	require.NoError(t, err)
}

// Promise client/3
func TestAChangeOfAListStartsAgainIfTheCacheIsBehind(t *testing.T) {
	t.Parallel()
	c, server := startLoose(t, client.Options{})
	made, err := c.Create(t.Context(), loose(map[string]any{"l": []any{"a"}}))
	require.NoError(t, err)
	newer, err := c.Patch(t.Context(), client.KeyOf(made), types.MergePatchType, []byte(`{"spec":{"l":["b"]}}`))
	require.NoError(t, err)
	var seen []string
	got, err := c.ModifyFrom(t.Context(), made, func(u *unstructured.Unstructured) error {
		seen = append(seen, u.GetResourceVersion())
		l, _, err := unstructured.NestedStringSlice(u.Object, "spec", "l")
		require.NoError(t, err)
		return unstructured.SetNestedStringSlice(u.Object, append(l, fmt.Sprint(len(l), l[0])), "spec", "l")
	})
	require.NoError(t, err)
	assert.Equal(t, []string{made.GetResourceVersion(), newer.GetResourceVersion()}, seen)
	assert.Equal(t, map[string]any{"l": []any{"b", "1b"}}, got.Object["spec"])
	assert.Equal(t, 2, server.Count("patch", "looses"), "the first change is not sent")
}

// A 404 of a gateway says nothing about the object: nothing is created, and no request is repeated.
//
// Promise client/11
func TestAChangeDuringA404OfAGateway(t *testing.T) {
	t.Parallel()
	c, server := connect[*corev1.ConfigMap](t, configMaps, client.Options{})
	made, err := c.Create(t.Context(), configMap("c"))
	require.NoError(t, err)
	change := func(m *corev1.ConfigMap) error { m.Data = map[string]string{"a": "1"}; return nil }
	server.ResetRequests()
	for _, verb := range []string{"get", "patch"} {
		server.Inject(informertest.Fault{Verb: verb, Resource: "configmaps", Times: 1, Effect: informertest.Respond(http.StatusNotFound, "text/plain", "no route")})
	}
	_, outcome, err := c.CreateOrUpdate(t.Context(), client.KeyOf(made), nil, change)
	require.ErrorContains(t, err, "a gateway in front of it")
	assert.Equal(t, client.Unchanged, outcome)
	_, outcome, err = c.CreateOrUpdate(t.Context(), client.KeyOf(made), made, change)
	require.ErrorContains(t, err, "a gateway in front of it")
	assert.Equal(t, client.Updated, outcome)
	assert.Zero(t, server.Count("create", "configmaps"))
	assert.Equal(t, 1, server.Count("patch", "configmaps"))
}
