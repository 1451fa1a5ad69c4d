package reflector

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
)

func TestUnusualJSONIsDecodedAsKubernetesDoesIt(t *testing.T) {
	t.Parallel()
	c, err := newCodec[*corev1.ConfigMap]("v1")
	require.NoError(t, err)
	u, err := newCodec[*unstructured.Unstructured]("v1")
	require.NoError(t, err)
	for _, s := range []string{
		`{"metadata":{"name":"a"},"data":{"a":"b"}}`,
		`{"metadata":{"name":"a"},"data":{"a":"b"},"data":{"c":"d"}}`,
		`{"metadata":{"name":"a"},"d\u0061ta":{"a":"b"}}`,
		`{"metadata":{"name":"a"},"binaryData":{"a":"aGk="},"unknown":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`,
	} {
		var want corev1.ConfigMap
		require.NoError(t, k8sjson.Unmarshal([]byte(s), &want))
		got, err := c.decodeJSON([]byte(s), typeMeta{}, 0)
		require.NoError(t, err)
		want.TypeMeta = metav1.TypeMeta{}
		require.Equal(t, &want, got)

		var wantAny map[string]any
		require.NoError(t, k8sjson.Unmarshal([]byte(s), &wantAny))
		gotAny, err := u.decodeJSON([]byte(s), typeMeta{}, 0)
		require.NoError(t, err)
		require.Equal(t, wantAny, gotAny.Object)
	}

	// So are errors.
	for _, s := range []string{`{"metadata":{"name":"a"},"data":7}`, `{"metadata":{"name":"a"},"data":{"a":[]},"immutable":"yes"}`} {
		_, err := c.decodeJSON([]byte(s), typeMeta{}, 3)
		want := k8sjson.Unmarshal([]byte(s), &corev1.ConfigMap{})
		require.Error(t, want)
		var oe *ObjectError
		require.ErrorAs(t, err, &oe)
		require.Equal(t, want, oe.Err)
		require.Equal(t, "a", oe.Key.Name)
	}
	_, err = c.decodeJSON([]byte(`{"metadata":}`), typeMeta{}, 0)
	require.ErrorContains(t, err, "invalid JSON")
	require.False(t, isObjectError(err))
}
