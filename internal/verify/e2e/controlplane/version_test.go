package controlplane

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReleasesAreBuiltFromTheirOwnModules(t *testing.T) {
	t.Parallel()
	const release = "// Generated.\n\nmodule k8s.io/kubernetes\n\ngo 1.25.0\n\nreplace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n)\n"
	assert.Equal(t, "// Generated.\n\nmodule example.com/pinned\n\ngo 1.25.0\n\nreplace (\n\tk8s.io/api => k8s.io/api v0.35.4\n)\n",
		string(asDependency([]byte(release), "v1.35.4")))

	p, err := KubeAPIServerOf(KubernetesVersion)
	require.NoError(t, err)
	assert.Equal(t, KubeAPIServer, p, "the pinned one")
	p, err = KubeAPIServerOf("v1.35.4")
	require.NoError(t, err)
	assert.Contains(t, p.ldflags, "gitVersion=v1.35.4")
	assert.Contains(t, p.ldflags, "gitMinor=35")
	for _, wrong := range []string{"", "1.35.4", "v1.35", "v2.0.0", "v1.35.4-rc.0", "latest"} {
		_, err := KubeAPIServerOf(wrong)
		assert.ErrorContains(t, err, "not a release of Kubernetes", wrong)
	}
}
