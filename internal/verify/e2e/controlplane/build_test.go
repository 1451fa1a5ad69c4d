package controlplane

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBuildRefusesAVersionThatIsNotPinned(t *testing.T) {
	t.Parallel()
	p := Etcd
	p.version = "v0.0.1"
	_, err := Build(t.Context(), os.Stderr, p)
	require.ErrorContains(t, err, "does not require go.etcd.io/etcd/server/v3 v0.0.1")
}

func TestDigestChangesWithWhatIsBuilt(t *testing.T) {
	t.Parallel()
	source := t.TempDir()
	write := func(name, content string) {
		require.NoError(t, os.WriteFile(filepath.Join(source, name), []byte(content), 0o600))
	}
	digest := func(p Program) string {
		d, err := p.digest(source)
		require.NoError(t, err)
		return d
	}
	write("go.mod", "require "+Etcd.module+" "+Etcd.version+"\n")
	write("go.sum", "one\n")
	first := digest(Etcd)
	assert.Equal(t, first, digest(Etcd))

	write("go.sum", "two\n")
	second := digest(Etcd)
	assert.NotEqual(t, first, second)

	other := Etcd
	other.ldflags = ""
	assert.NotEqual(t, second, digest(other))
}

func TestBuildOfABrokenProgramShowsTheCompilersWords(t *testing.T) {
	t.Parallel()
	p := Etcd
	p.name, p.pkg = "broken", "go.etcd.io/etcd/server/v3/no/such/package"
	_, err := Build(t.Context(), &tailBuffer{}, p)
	require.ErrorContains(t, err, "no/such/package")
	left, err := filepath.Glob("../.bin/.broken*")
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestAbandonedDataIsRemovedAndUsedDataIsKept(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	for _, name := range []string{"cp-dead", "cp-alive"} {
		require.NoError(t, os.MkdirAll(filepath.Join(parent, name, "etcd"), 0o700))
		lock, err := tryLockFile(filepath.Join(parent, name+".lock"))
		require.NoError(t, err)
		if name == "cp-dead" {
			lock.release()
		} else {
			defer lock.release()
		}
	}
	removeAbandoned(parent)
	left, err := filepath.Glob(filepath.Join(parent, "*"))
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(parent, "cp-alive"), filepath.Join(parent, "cp-alive.lock")}, left)
}
