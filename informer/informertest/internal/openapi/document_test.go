package openapi

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// described are a kind with a Go type and one with a schema of its own.
var described = []Kind{
	{GVK: appsv1.SchemeGroupVersion.WithKind("Deployment"), Plural: "deployments", Namespaced: true, Type: reflect.TypeFor[appsv1.Deployment]()},
	{GVK: corev1.SchemeGroupVersion.WithKind("Node"), Plural: "nodes", Type: reflect.TypeFor[corev1.Node]()},
	{
		GVK: schema.GroupVersionKind{Group: "example.test", Version: "v1", Kind: "Widget"}, Plural: "widgets", Namespaced: true,
		Schema: object{"type": "object", "properties": object{"spec": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}},
	},
}

// decoded is a document as a client reads it.
func decoded(t *testing.T, document map[string]any) object {
	raw, err := json.Marshal(document)
	require.NoError(t, err)
	out := object{}
	require.NoError(t, json.Unmarshal(raw, &out))
	return out
}

// at is what is at a path of a document.
func at(t *testing.T, document object, path ...string) object {
	for _, name := range path {
		next, ok := document[name].(object)
		require.True(t, ok, "%s of %v", name, path)
		document = next
	}
	return document
}

// references calls a function with each reference of a document.
func references(v any, found func(string)) {
	switch v := v.(type) {
	case object:
		for name, member := range v {
			if ref, ok := member.(string); ok && name == "$ref" {
				found(ref)
			}
			references(member, found)
		}
	case []any:
		for _, item := range v {
			references(item, found)
		}
	}
}

func TestEveryReferenceLeadsToASchema(t *testing.T) {
	for prefix, document := range map[string]object{
		"#/definitions/":        decoded(t, V2(described, "v1")),
		"#/components/schemas/": decoded(t, V3(described, "v1")),
	} {
		schemas := document["definitions"]
		if schemas == nil {
			schemas = at(t, document, "components", "schemas")
		}
		count := 0
		references(document, func(ref string) {
			count++
			require.Greater(t, len(ref), len(prefix))
			assert.Contains(t, schemas, ref[len(prefix):])
		})
		assert.Greater(t, count, 100)
	}
}

func TestSchemasSayWhatClientsActOn(t *testing.T) {
	document := decoded(t, V3(described, "v1"))
	schemas := at(t, document, "components", "schemas")

	kinds := at(t, schemas, "io.k8s.api.apps.v1.Deployment")["x-kubernetes-group-version-kind"]
	assert.Equal(t, []any{object{"group": "apps", "version": "v1", "kind": "Deployment"}}, kinds)

	containers := at(t, schemas, "io.k8s.api.core.v1.PodSpec", "properties", "containers")
	assert.Equal(t, "merge", containers["x-kubernetes-patch-strategy"])
	assert.Equal(t, "name", containers["x-kubernetes-patch-merge-key"])
	assert.Equal(t, "map", containers["x-kubernetes-list-type"])
	assert.Equal(t, "array", containers["type"])
	assert.Contains(t, at(t, schemas, "io.k8s.api.core.v1.PodSpec")["required"], "containers")

	quantity := at(t, schemas, "io.k8s.apimachinery.pkg.api.resource.Quantity")
	assert.Equal(t, "string", quantity["type"])
	assert.NotEmpty(t, at(t, schemas, "io.k8s.api.core.v1.PodSpec", "properties", "nodeName")["description"])

	widget := at(t, schemas, "test.example.v1.Widget")
	assert.Contains(t, at(t, widget, "properties"), "metadata")
	assert.Equal(t, true, at(t, widget, "properties", "spec")["x-kubernetes-preserve-unknown-fields"])
}

func TestPathsNameTheirKindAndParameters(t *testing.T) {
	document := decoded(t, V3(described, "v1"))
	paths := at(t, document, "paths")
	patch := at(t, paths, "/apis/apps/v1/namespaces/{namespace}/deployments/{name}", "patch")
	assert.Equal(t, object{"group": "apps", "version": "v1", "kind": "Deployment"}, patch["x-kubernetes-group-version-kind"])
	var names []any
	for _, p := range patch["parameters"].([]any) {
		names = append(names, p.(object)["name"])
	}
	assert.Contains(t, names, "fieldValidation") // kubectl looks for it before it validates by itself
	assert.Contains(t, names, "dryRun")
	assert.Contains(t, paths, "/api/v1/nodes/{name}")
	assert.NotContains(t, paths, "/api/v1/namespaces/{namespace}/nodes")
}

func TestDescriptionsStandBesideReferencesInVersion2Only(t *testing.T) {
	second := at(t, decoded(t, V2(described, "v1")), "definitions", "io.k8s.api.apps.v1.Deployment", "properties", "spec")
	assert.Contains(t, second, "$ref")
	assert.Contains(t, second, "description")
	third := at(t, decoded(t, V3(described, "v1")), "components", "schemas", "io.k8s.api.apps.v1.Deployment", "properties", "spec")
	assert.NotContains(t, third, "$ref")
	assert.Contains(t, third, "allOf")
}
