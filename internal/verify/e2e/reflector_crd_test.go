package e2e

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/informerkit/informerkit/reflector"
)

var crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// definition returns a CustomResourceDefinition of a namespaced kind, served as
// v1, that takes anything.
func definition(group, kind, plural string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": plural + "." + group},
		"spec": map[string]any{
			"group": group,
			"scope": "Namespaced",
			"names": map[string]any{"kind": kind, "plural": plural},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x-kubernetes-preserve-unknown-fields": true,
				}},
			}},
		},
	}}
}

// widget returns a custom resource.
func widget(gvk schema.GroupVersionKind, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(1)}}}
	o.SetGroupVersionKind(gvk)
	o.SetName(name)
	return o
}

// testCustomResource takes a reflector through the life of a custom resource: not
// installed, installed, in use, removed.
func testCustomResource[T reflector.Object](t *testing.T, plural string, mode reflector.SyncMode) {
	cp := shared(t)
	client, err := dynamic.NewForConfig(cp.Config())
	require.NoError(t, err)
	gvr := schema.GroupVersionResource{Group: "e2e.informerkit.test", Version: "v1", Resource: plural}
	gvk := gvr.GroupVersion().WithKind("K" + plural)

	lw, err := reflector.NewResource[T](cp.Config(), gvr, reflector.ResourceOptions{})
	require.NoError(t, err)
	note, wait := states()
	_, sink := startReflector(t, lw, reflector.Options{Sync: mode, OnStateChange: note})
	h := wait(t, "no failure was reported", func(h reflector.Health) bool { return h.State == reflector.StateDegraded })
	assert.Equal(t, reflector.ClassNotFound, h.LastErrorClass, "%v", h.LastError)
	assert.ErrorContains(t, h.LastError, "CustomResourceDefinition")

	_, err = client.Resource(crdResource).Create(t.Context(), definition(gvr.Group, gvk.Kind, plural), metav1.CreateOptions{})
	require.NoError(t, err)
	wait(t, "it did not sync when the resource was there", func(h reflector.Health) bool { return h.Synced })

	want := versions{}
	for i := range 3 {
		o, err := client.Resource(gvr).Namespace("default").Create(t.Context(), widget(gvk, fmt.Sprintf("w%d", i)), metav1.CreateOptions{})
		require.NoError(t, err)
		want[keyOf(o)] = versionOf(o)
	}
	sink.waitFor(t, want, "after creating")

	require.NoError(t, client.Resource(crdResource).Delete(t.Context(), plural+"."+gvr.Group, metav1.DeleteOptions{}))
	wait(t, "it was not noticed that the resource is gone", func(h reflector.Health) bool {
		return h.Synced && h.State == reflector.StateDegraded && h.LastErrorClass == reflector.ClassNotFound
	})
	_, err = client.Resource(gvr).List(t.Context(), metav1.ListOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	sink.waitFor(t, versions{}, "the server deletes the objects with their definition")
}

func TestReflectorWaitsForACustomResourceDefinition(t *testing.T) {
	t.Parallel()
	for i, mode := range modes {
		t.Run(fmt.Sprintf("unstructured %s", mode), func(t *testing.T) {
			t.Parallel()
			testCustomResource[*unstructured.Unstructured](t, fmt.Sprintf("whole%ds", i), mode)
		})
		t.Run(fmt.Sprintf("metadata %s", mode), func(t *testing.T) {
			t.Parallel()
			testCustomResource[*metav1.PartialObjectMetadata](t, fmt.Sprintf("partial%ds", i), mode)
		})
	}
}
