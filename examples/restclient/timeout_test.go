package restclient

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	assert.Equal(t, requestTimeout, c.timeout, "the default")
	c.timeout = 20 * time.Millisecond
	_, err = c.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: "web"})
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	err = c.Delete(t.Context(), types.NamespacedName{Namespace: "default", Name: "web"}, metav1.DeleteOptions{})
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

// A write names the kind of its object without modifying it: it may be of a cache.
func TestWriteLeavesItsObjectAlone(t *testing.T) {
	type sent struct{ APIVersion, Kind string }
	got := make(chan sent, 2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var s sent
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&s))
		got <- s
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion": "v1", "kind": "Pod"}`))
	}))
	defer server.Close()
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	c, err := New[*corev1.Pod](&rest.Config{Host: server.URL}, pods)
	require.NoError(t, err)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", Labels: map[string]string{"a": "b"}}}
	before := pod.DeepCopy()
	_, err = c.Create(t.Context(), pod)
	require.NoError(t, err)
	assert.Equal(t, sent{"v1", "Pod"}, <-got)
	assert.Equal(t, before, pod)
}
