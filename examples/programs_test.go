//go:build !race

package examples

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}

// built is the folder of the programs, empty as long as no test needs them.
var built string

// programs builds the examples, once, and returns where they are.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "examples")
	if err != nil {
		return "", err
	}
	built = dir
	mains, err := filepath.Glob("*/main.go")
	if err != nil {
		return dir, err
	}
	args := []string{"build", "-ldflags=-s -w", "-o", dir + string(filepath.Separator)}
	for _, main := range mains {
		args = append(args, "./"+filepath.Dir(main))
	}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return dir, fmt.Errorf("%w: %s", err, out)
	}
	return dir, nil
})

// names returns the names of all examples.
func names(t *testing.T) (all []string) {
	t.Helper()
	mains, err := filepath.Glob("*/main.go")
	require.NoError(t, err)
	require.NotEmpty(t, mains)
	for _, main := range mains {
		all = append(all, filepath.Dir(main))
	}
	return all
}

// binary returns the program of an example.
func binary(t *testing.T, name string) string {
	t.Helper()
	dir, err := programs()
	require.NoError(t, err)
	return filepath.Join(dir, name)
}
