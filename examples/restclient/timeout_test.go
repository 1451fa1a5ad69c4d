package restclient

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// A server that never answers does not hold a caller whose context has no end.
func TestRequestEndsThoughTheServerIsSilent(t *testing.T) {
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stop }))
	defer server.Close()
	defer close(stop)
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	c, err := New[*corev1.Pod](&rest.Config{Host: server.URL, Timeout: 20 * time.Millisecond}, pods)
	require.NoError(t, err)
	_, err = c.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: "web"})
	assert.Error(t, err)

	c, err = New[*corev1.Pod](&rest.Config{Host: server.URL}, pods)
	require.NoError(t, err)
	limited, ok := c.rest.(*rest.RESTClient)
	require.True(t, ok)
	assert.Equal(t, requestTimeout, limited.Client.Timeout, "the default")
}
