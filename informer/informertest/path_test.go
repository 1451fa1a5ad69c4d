package informertest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPathsNameTheirParts(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]target{
		"/api":                             {root: "api"},
		"/api/v1/":                         {root: "api", version: "v1"},
		"/apis/apps":                       {root: "apis", group: "apps"},
		"/apis/apps/v1/deployments":        {root: "apis", group: "apps", version: "v1", resource: "deployments"},
		"/api/v1/namespaces":               {root: "api", version: "v1", resource: "namespaces"},
		"/api/v1/namespaces/a":             {root: "api", version: "v1", resource: "namespaces", name: "a"},
		"/api/v1/namespaces/a/status":      {root: "api", version: "v1", resource: "namespaces", name: "a", subresource: "status"},
		"/api/v1/namespaces/a/pods":        {root: "api", version: "v1", namespace: "a", resource: "pods"},
		"/api/v1/namespaces/a/pods/b":      {root: "api", version: "v1", namespace: "a", resource: "pods", name: "b"},
		"/api/v1/namespaces/a/pods/b/logs": {root: "api", version: "v1", namespace: "a", resource: "pods", name: "b", subresource: "logs"},
		"/api/v1/nodes/n":                  {root: "api", version: "v1", resource: "nodes", name: "n"},
	} {
		got, ok := parsePath(path)
		assert.True(t, ok, path)
		assert.Equal(t, want, got, path)
	}
	// Parts may be called like words of the API.
	for _, word := range []string{"namespaces", "status", "finalize", "pods", "v1", "api", "apis", "proxy", "watch"} {
		for _, named := range []target{
			{root: "api", version: "v1", namespace: word, resource: "pods", name: word},
			{root: "api", version: "v1", namespace: "a", resource: "pods", name: word, subresource: "status"},
			{root: "api", version: "v1", resource: "namespaces", name: word},
			{root: "apis", group: word, version: word, namespace: word, resource: "foos", name: word, subresource: "scale"},
			{root: "apis", group: word, version: word, resource: "foos", name: word},
		} {
			path := "/" + named.root
			for _, part := range [][2]string{{"/", named.group}, {"/", named.version}, {"/namespaces/", named.namespace}, {"/", named.resource}, {"/", named.name}, {"/", named.subresource}} {
				if part[1] != "" {
					path += part[0] + part[1]
				}
			}
			got, ok := parsePath(path)
			assert.True(t, ok, path)
			assert.Equal(t, named, got, path)
		}
	}
	for _, path := range []string{"", "/", "/other", "api", "/api//v1", "/api/v1/nodes/n/s/more"} {
		_, ok := parsePath(path)
		assert.False(t, ok, path)
	}
}
