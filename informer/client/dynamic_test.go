package client_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/informertest"
)

// Loose is a custom resource with a field of any content.
type Loose struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              map[string]any `json:"spec,omitempty"`
}

// DeepCopyObject implements [runtime.Object].
func (l *Loose) DeepCopyObject() runtime.Object {
	c := *l
	l.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	c.Spec = maps.Clone(l.Spec)
	return &c
}

// An integer in an interface is an int64, as in a cache: a float64 would change an integer of
// more than 53 bits when the object is read, changed elsewhere, and written.
func TestAnIntegerInAnInterfaceStaysWhatItIs(t *testing.T) {
	t.Parallel()
	loose := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "looses"}
	server := informertest.Start(t, informertest.Options{Resources: []informertest.Resource{{Group: loose.Group, Versions: []string{"v1"}, Kind: "Loose"}}})
	c, err := client.New[*Loose](server.Config(), loose, client.Options{})
	require.NoError(t, err)
	const large = int64(1)<<60 + 1
	created, err := c.Create(t.Context(), &Loose{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Spec: map[string]any{"large": large, "half": 0.5}})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"large": large, "half": 0.5}, created.Spec)
	changed, err := c.Modify(t.Context(), client.KeyOf(created), func(l *Loose) error {
		l.Labels = map[string]string{"seen": "true"}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, created.Spec, changed.Spec)
	list, err := c.List(t.Context(), "default", metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, created.Spec, list[0].Spec)
}
