package controlplane

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTailKeepsTheLastWholeLines(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	var tail tailBuffer
	for i := range 1000 {
		line := fmt.Sprintf("line %d\n", i)
		all.WriteString(line)
		n, err := tail.Write([]byte(line))
		require.NoError(t, err)
		require.Equal(t, len(line), n)
	}
	got := tail.String()
	assert.True(t, strings.HasSuffix(all.String(), "\n"+got), "starts within a line: %.20q", got)
	assert.Greater(t, len(got), tailSize/2)
	assert.LessOrEqual(t, len(got), tailSize)

	path := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(path, []byte(all.String()), 0o600))
	assert.Equal(t, got, tailOfFile(path))
}

func TestTailOfLittleIsAllOfIt(t *testing.T) {
	t.Parallel()
	var tail tailBuffer
	fmt.Fprint(&tail, "one\ntwo")
	assert.Equal(t, "one\ntwo", tail.String())
}

func TestTailOfAMissingFileSaysSo(t *testing.T) {
	t.Parallel()
	assert.Contains(t, tailOfFile(filepath.Join(t.TempDir(), "none")), "no such file")
}
