package main

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// In a workspace with newer Kubernetes modules the types are others than those that are described;
// then only the kinds are compared.
func TestTheDescriptionIsCurrent(t *testing.T) {
	path, err := target()
	require.NoError(t, err)
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	r, err := gzip.NewReader(f)
	require.NoError(t, err)
	have, err := io.ReadAll(r)
	require.NoError(t, err)
	want, err := Describe()
	require.NoError(t, err)
	var is, should struct {
		Release string            `json:"release"`
		Kinds   map[string]string `json:"kinds"`
	}
	require.NoError(t, json.Unmarshal(have, &is))
	require.NoError(t, json.Unmarshal(want, &should))
	assert.Equal(t, should.Kinds, is.Kinds)
	if should.Release == is.Release {
		assert.True(t, string(want) == string(have), "run go generate ./informer/informertest/internal/builtin")
	}
}
