package informertest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestANewResourceVersionIsWrittenAsIfTheObjectWereEncodedAgain(t *testing.T) {
	t.Parallel()
	res := Resource{Versions: []string{"v1"}, Kind: "Thing", Plural: "things"}
	metadata := map[string]any{
		"name": "a", "namespace": "default", "resourceVersion": "9", "uid": "u",
		// None of these is the version of the object.
		"annotations": map[string]any{"resourceVersion": "9", "<&>": `"resourceVersion":"9"`},
		"zz":          []any{map[string]any{"resourceVersion": "9"}},
	}
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Thing", "metadata": metadata,
		"a": map[string]any{"resourceVersion": "9"}, "spec": map[string]any{"resourceVersion": "9", "n": int64(9)},
	}}
	v, err := newVersion(res, obj, 9)
	require.NoError(t, err)
	for _, rv := range []uint64{10, 123456789, 1} { // longer, longer still, shorter
		v = v.at(rv)
		metadata["resourceVersion"] = formatRV(rv)
		want, err := newVersion(res, obj, rv)
		require.NoError(t, err)
		assert.Equal(t, want, v)
		plain, err := json.Marshal(map[string]any{"metadata": metadata, "a": obj.Object["a"], "spec": obj.Object["spec"]})
		require.NoError(t, err)
		assert.Equal(t, string(plain), string(v.bare))
	}
}
