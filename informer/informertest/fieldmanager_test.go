package informertest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

func TestTheGoSideIsNotedOnlyWhereThereAreManagers(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{InMemory: true})
	gvr := corev1.SchemeGroupVersion.WithResource("configmaps")
	require.NoError(t, s.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Data: map[string]string{"k": "v"}}))
	change := func(u *unstructured.Unstructured) {
		require.NoError(t, unstructured.SetNestedField(u.Object, "w", "data", "k"))
	}
	require.NoError(t, s.Modify(gvr, "default", "a", change))
	got, err := s.Get(gvr, "default", "a")
	require.NoError(t, err)
	assert.Empty(t, got.GetManagedFields())

	client, err := rest.HTTPClientFor(s.Config())
	require.NoError(t, err)
	resp, err := client.Post(s.URL()+"/api/v1/namespaces/default/configmaps?fieldManager=me", mediaJSON,
		strings.NewReader(`{"metadata":{"name":"b"},"data":{"k":"v"}}`))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.NoError(t, s.Modify(gvr, "default", "b", change))
	got, err = s.Get(gvr, "default", "b")
	require.NoError(t, err)
	var names []string
	for _, m := range got.GetManagedFields() {
		names = append(names, m.Manager)
	}
	assert.ElementsMatch(t, []string{"me", goSide}, names)
}

func TestTheManagerIsNamedByTheRequestOrTheUserAgent(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "me", managerOf("me", "agent/1"))
	assert.Equal(t, "agent", managerOf("", "agent/1 (linux)"))
	assert.Equal(t, "agent", managerOf("", "ag\x00ent"))
	assert.Empty(t, managerOf("", ""))
	assert.Len(t, managerOf("", strings.Repeat("ä", 100)), 128)
}
