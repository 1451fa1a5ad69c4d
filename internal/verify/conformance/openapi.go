package conformance

import (
	"net/http"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var openAPITests = []test{
	{"OpenAPI3DescribesBuiltInKinds", func(a *api) {
		paths, _ := a.expect(http.StatusOK, "GET", "/openapi/v3", nil)["paths"].(object)
		entry, _ := paths["apis/apps/v1"].(object)
		address, _ := entry["serverRelativeURL"].(string)
		require.True(a, strings.HasPrefix(address, "/openapi/v3/apis/apps/v1?hash="), address)
		doc := a.expect(http.StatusOK, "GET", address, nil)
		assert.Equal(a, "3.0.0", doc["openapi"])
		schemas, _ := value(doc, "components", "schemas").(object)
		deployment, _ := schemas["io.k8s.api.apps.v1.Deployment"].(object)
		assert.Equal(a, []any{object{"group": "apps", "version": "v1", "kind": "Deployment"}}, deployment["x-kubernetes-group-version-kind"])
		pod, _ := schemas["io.k8s.api.core.v1.PodSpec"].(object)
		containers, _ := value(pod, "properties", "containers").(object)
		assert.Equal(a, "merge", containers["x-kubernetes-patch-strategy"])
		assert.Equal(a, "name", containers["x-kubernetes-patch-merge-key"])
		assert.Contains(a, containers["description"], "List of containers belonging to the pod.")
		all, _ := doc["paths"].(object)
		item, _ := all["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"].(object)
		patch, _ := item["patch"].(object)
		require.NotNil(a, patch)
		assert.Equal(a, "patch", patch["x-kubernetes-action"])
		assert.NotNil(a, find(patch["parameters"], "fieldValidation"))
	}},
	{"OpenAPI3DescribesCustomResources", func(a *api) {
		group := a.define("Namespaced")
		address := ""
		a.eventually("the group is described", func() bool {
			paths, _ := a.expect(http.StatusOK, "GET", "/openapi/v3", nil)["paths"].(object)
			entry, _ := paths["apis/"+group+"/v1"].(object)
			address, _ = entry["serverRelativeURL"].(string)
			return address != ""
		})
		schemas, _ := value(a.expect(http.StatusOK, "GET", address, nil), "components", "schemas").(object)
		found := false
		for _, s := range schemas {
			described, _ := s.(object)
			if marksKind(described, group, "Widget") {
				found = true
				assert.Equal(a, "integer", text(described, "properties", "spec", "properties", "size", "type"))
				assert.NotNil(a, value(described, "properties", "metadata"))
			}
		}
		assert.True(a, found, "no schema is marked as Widget")
	}},
	{"OpenAPI2DescribesEverything", func(a *api) {
		doc := a.expect(http.StatusOK, "GET", "/openapi/v2", nil)
		assert.Equal(a, "2.0", doc["swagger"])
		definitions, _ := doc["definitions"].(object)
		assert.Contains(a, definitions, "io.k8s.api.core.v1.Pod")
		containers := value(definitions["io.k8s.api.core.v1.PodSpec"].(object), "properties", "containers").(object)
		assert.Equal(a, "name", containers["x-kubernetes-patch-merge-key"])
	}},
}

// marksKind reports whether a schema is marked as that of a kind.
func marksKind(schema object, group, kind string) bool {
	marks, _ := schema["x-kubernetes-group-version-kind"].([]any)
	for _, m := range marks {
		if mark, ok := m.(object); ok && mark["group"] == group && mark["kind"] == kind {
			return true
		}
	}
	return false
}
