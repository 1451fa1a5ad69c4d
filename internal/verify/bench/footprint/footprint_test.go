package footprint

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write packages.txt again")

const (
	library = "github.com/informerkit/informerkit"
	golden  = "packages.txt"

	// The binary is at most so large, as a share of the one on client-go. The share
	// moves less than the size does with releases of Go and of Kubernetes.
	maxShare = 0.56
	// Each module that a program needs is one more to keep up to date.
	maxModules = 27
)

// footprint is what a program brings with it.
type footprint struct {
	packages []string // of other modules than its own and the library
	library  []string // packages of the library
	modules  []string // that packages are from, the library aside
	size     int64    // of the binary, in bytes
}

func TestLibraryStaysSmallToDependOn(t *testing.T) {
	t.Parallel()
	ours, theirs := measure(t, "./ours"), measure(t, "./clientgo")
	share := float64(ours.size) / float64(theirs.size)
	t.Logf("packages of other modules: %d, on client-go %d", len(ours.packages), len(theirs.packages))
	t.Logf("packages of the library:   %d", len(ours.library))
	t.Logf("modules that they are of:  %d, on client-go %d", len(ours.modules), len(theirs.modules))
	t.Logf("modules in go.mod's graph: %d, of client-go %d", graph(t, library), graph(t, "k8s.io/client-go"))
	t.Logf("size of the binary:        %.1f MB, on client-go %.1f MB (%.2f of it)",
		float64(ours.size)/1e6, float64(theirs.size)/1e6, share)

	assert.LessOrEqual(t, share, maxShare, "the binary has grown")
	assert.LessOrEqual(t, len(ours.modules), maxModules, "more modules are needed: %v", ours.modules)
	assert.Less(t, len(ours.modules), len(theirs.modules))
	for _, m := range ours.modules {
		assert.Contains(t, append(theirs.modules, "golang.org/x/time", "github.com/go-json-experiment/json"), m, "a module that client-go does not need")
	}

	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(strings.Join(ours.packages, "\n")+"\n"), 0o644))
		return
	}
	text, err := os.ReadFile(golden)
	require.NoError(t, err)
	listed := strings.Fields(string(text))
	for _, p := range ours.packages {
		assert.Contains(t, listed, p, "a new package that users have to build; if it is meant to be: go test ./footprint -update")
	}
	for _, p := range listed {
		assert.Contains(t, ours.packages, p, "not needed any more, well done: go test ./footprint -update")
	}
}

func measure(t *testing.T, program string) footprint {
	t.Helper()
	var f footprint
	own := strings.TrimSpace(run(t, "list", "-m"))
	for line := range strings.Lines(run(t, "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}} {{.Module.Path}}{{end}}", program)) {
		pkg, module, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch module {
		case own:
		case library:
			f.library = append(f.library, pkg)
		default:
			f.packages = append(f.packages, pkg)
			f.modules = append(f.modules, module)
		}
	}
	slices.Sort(f.packages)
	slices.Sort(f.modules)
	f.modules = slices.Compact(f.modules)

	binary := filepath.Join(t.TempDir(), "program")
	run(t, "build", "-buildvcs=false", "-o", binary, program)
	info, err := os.Stat(binary)
	require.NoError(t, err)
	f.size = info.Size()
	return f
}

// graph counts the modules that the go.mod of a module names, with what these need
// in turn: what is read, though mostly not built, to select versions.
func graph(t *testing.T, module string) int {
	t.Helper()
	dir := strings.TrimSpace(run(t, "list", "-m", "-f", "{{.Dir}}", module))
	return strings.Count(run(t, "-C", dir, "list", "-m", "-mod=readonly", "all"), "\n") - 1
}

func run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err, "go %s", strings.Join(args, " "))
	return string(out)
}
