// Package readme_test keeps the programs of README.md true: each is a file here,
// which is compiled and run like any other program.
package readme_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A block is announced by a comment with the name of its program.
var block = regexp.MustCompile("(?s)<!-- program (\\w+) -->\n```go\n(.*?)```")

// printed is what each program prints on the embedded server.
var printed = map[string]string{
	"informer":   "Added default/colours\nthe sky is blue\n",
	"controller": "reconciling default/colours map[sky:blue]\n",
}

func TestReadmeShowsWholePrograms(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	blocks := block.FindAllSubmatch(readme, -1)
	require.Equal(t, strings.Count(string(readme), "```go"), len(blocks), "every Go block has the name of its program above it")
	require.Len(t, blocks, len(printed))
	for _, b := range blocks {
		name := string(b[1])
		source, err := os.ReadFile(filepath.Join(name, "main.go"))
		require.NoError(t, err)
		assert.Equal(t, string(source), string(b[2]), "README.md must show %s/main.go", name)
	}
}

func TestProgramsOfReadmeRun(t *testing.T) {
	t.Parallel()
	for name, want := range printed {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			binary := filepath.Join(t.TempDir(), name)
			out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./"+name).CombinedOutput()
			require.NoError(t, err, "%s", out)
			out, err = exec.CommandContext(t.Context(), binary).Output() // what is logged goes to stderr
			require.NoError(t, err)
			assert.Equal(t, want, string(out))
		})
	}
}
