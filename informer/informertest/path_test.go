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
	for _, path := range []string{"", "/", "/other", "api", "/api//v1", "/api/v1/nodes/n/s/more"} {
		_, ok := parsePath(path)
		assert.False(t, ok, path)
	}
}
