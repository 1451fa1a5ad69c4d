package indexer

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
)

func TestKeysHaveAStringFormThatRoundTrips(t *testing.T) {
	t.Parallel()
	for want, key := range map[string]types.NamespacedName{
		"default/web": {Namespace: "default", Name: "web"},
		"node-1":      {Name: "node-1"},
		"system:node": {Name: "system:node"},
	} {
		assert.Equal(t, want, FormatKey(key))
		parsed, err := ParseKey(want)
		require.NoError(t, err)
		assert.Equal(t, key, parsed)
	}
	cluster, err := ParseKey("/node-1")
	require.NoError(t, err)
	assert.Equal(t, types.NamespacedName{Name: "node-1"}, cluster)
	for _, bad := range []string{"", "/", "default/", "a/b/c", "//", "a//b"} {
		_, err := ParseKey(bad)
		assert.ErrorContains(t, err, `is not a key; expected "namespace/name"`, bad)
	}
}

func FuzzParseKey(f *testing.F) {
	for _, s := range []string{"a/b", "b", "/b", "a/", "a/b/c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if key, err := ParseKey(s); err == nil {
			assert.Equal(t, strings.TrimPrefix(s, "/"), FormatKey(key))
		}
	})
}
