package informertest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// The rights that the admission plugin OwnerReferencesPermissionEnforcement asks for leave no request.
func TestRoleHasTheRightsForOwnerReferences(t *testing.T) {
	server := Start(t, Options{})
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "owner"}}
	require.NoError(t, server.Create(owner))
	stored, err := server.Get(corev1.SchemeGroupVersion.WithResource("configmaps"), "default", "owner")
	require.NoError(t, err)
	ref := func(blocks bool) string {
		return fmt.Sprintf(`"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":%q,"blockOwnerDeletion":%t}]`, stored.GetUID(), blocks)
	}
	send := func(method, path, contentType, body string) {
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL()+"/api/v1/namespaces/default/secrets"+path, strings.NewReader(body))
		require.NoError(t, err)
		request.Header.Set("Content-Type", contentType)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.Less(t, answer.StatusCode, 300)
		require.NoError(t, answer.Body.Close())
	}
	role := func() string { return server.Role("r", nil) }
	const finalizers, deletes = "resources: [configmaps/finalizers], verbs: [update]", "delete"
	merge := "application/merge-patch+json"
	send(http.MethodPost, "", "application/json", `{"metadata":{"name":"a",`+ref(false)+`}}`)
	send(http.MethodPatch, "/a", merge, `{"metadata":{"labels":{"a":"b"}}}`)
	assert.NotContains(t, role(), finalizers)
	assert.NotContains(t, role(), deletes, "the references stay as they are")
	send(http.MethodPost, "", "application/json", `{"metadata":{"name":"b",`+ref(true)+`}}`)
	assert.Contains(t, role(), finalizers)
	assert.NotContains(t, role(), deletes, "a new object")
	send(http.MethodPatch, "/c?fieldManager=m", "application/apply-patch+yaml", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"c",`+ref(true)+`}}`)
	assert.NotContains(t, role(), deletes, "a new object, by an apply")
	server.ResetRequests()
	send(http.MethodPut, "/b", "application/json", `{"metadata":{"name":"b"}}`)
	assert.Contains(t, role(), "resources: [secrets], verbs: [update, delete]")
	assert.NotContains(t, role(), finalizers, "a reference that is removed")
	send(http.MethodPatch, "/b", merge, `{"metadata":{`+ref(true)+`}}`)
	assert.Contains(t, role(), finalizers)
	assert.Contains(t, role(), "resources: [secrets], verbs: [update, patch, delete]")
}
