package informertest

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// get sends a request to the server as a client of that name.
func get(t *testing.T, server *Server, method, path, agent string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, server.URL()+path, nil)
	require.NoError(t, err)
	request.Header.Set("User-Agent", agent)
	client, err := rest.HTTPClientFor(server.Config())
	require.NoError(t, err)
	answer, err := client.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
}

func TestRoleHasTheRightsThatWereUsedAndNoOthers(t *testing.T) {
	server := Start(t, Options{})
	of := func(r Request) bool { return r.UserAgent == "controller" }
	get(t, server, http.MethodGet, "/api/v1/nodes", "test")
	get(t, server, http.MethodDelete, "/apis/apps/v1/namespaces/web/deployments/x", "controller")
	get(t, server, http.MethodGet, "/api/v1/namespaces/web/pods/x", "controller")
	get(t, server, http.MethodGet, "/api/v1/namespaces/web/pods?watch=1&timeoutSeconds=1&resourceVersion=0", "controller")
	get(t, server, http.MethodGet, "/api/v1/namespaces/web/pods/x/status", "controller")
	assert.Equal(t, `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: example, namespace: web}
rules:
  - {apiGroups: [""], resources: [pods], verbs: [get, list, watch]}
  - {apiGroups: [""], resources: [pods/status], verbs: [get]}
  - {apiGroups: [apps], resources: [deployments], verbs: [delete]}
`, server.Role("example", of))

	get(t, server, http.MethodGet, "/api/v1/pods", "controller")
	assert.Contains(t, server.Role("example", of), "kind: ClusterRole\nmetadata: {name: example}\n", "in all namespaces")
	assert.Contains(t, server.Role("example", nil), "resources: [nodes], verbs: [list]")
}
