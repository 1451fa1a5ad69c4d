package reconcile

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

func TestRequestsAreCountedByVerbAndResource(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	var requests Requests
	client, err := rest.HTTPClientFor(requests.Of(&rest.Config{Host: server.URL}))
	require.NoError(t, err)
	const (
		pods = "/api/v1/namespaces/n/pods"
		sets = "/apis/examples.informerkit.dev/v1/namespaces/n/replicasets"
	)
	for _, request := range []struct{ method, path, name string }{
		{http.MethodGet, pods, "list pods"},
		{http.MethodGet, pods + "?watch=true", "watch pods"},
		{http.MethodGet, pods + "?watch=1&sendInitialEvents=true", "watch pods"},
		{http.MethodPost, pods, "create pods"},
		{http.MethodDelete, pods + "/p", "delete pods"},
		{http.MethodPatch, pods + "/p", "patch pods"},
		{http.MethodGet, sets + "/s", "get replicasets"},
		{http.MethodPut, sets + "/s/status", "update replicasets/status"},
		{http.MethodGet, "/version", "GET /version"},
	} {
		before := requests.Counts()[request.name]
		req, err := http.NewRequestWithContext(t.Context(), request.method, server.URL+request.path, http.NoBody)
		require.NoError(t, err)
		answer, err := client.Do(req)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		assert.Equal(t, before+1, requests.Counts()[request.name], "%s %s", request.method, request.path)
	}
}
