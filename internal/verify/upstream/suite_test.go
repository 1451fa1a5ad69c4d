package upstream

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const clientGo = "k8s.io/client-go"

// A suite is the tests of a package of client-go, run on our implementation.
type suite struct {
	pkg string // import path
	// replaced are the files of the implementation that are not compiled.
	replaced []string
	// declarations are files of testdata/<package> with what the tests name.
	declarations []string
	// adapters are files of informer/clientgo, and renamed their names that the package
	// has already: they get the prefix "our".
	adapters, renamed []string
	// rewritten are files of the implementation of which parts are kept, with the old
	// and the new text by turns.
	rewritten map[string][]string
	// files are the test files to run; all if empty.
	files []string
	// excluded are test files that do not compile, as they look into unexported types.
	excluded map[string]string
	// differs has the tests that fail, and why.
	differs map[string]string
	// varies names those of differs that chance lets pass now and then: they wait for a
	// moment that ours puts anywhere in a period.
	varies []string
	// unrelated has the tests, and what of client-go's alone they are about: they would
	// pass without saying anything about ours, and are not run.
	unrelated map[string]string
}

// run compiles the tests and checks that those pass which should, and no others.
func (s suite) run(t *testing.T) {
	dir, modfile := s.assemble(t)
	binary := filepath.Join(t.TempDir(), "upstream.test")
	goOutput(t, "test", "-c", "-vet=off", "-modfile", modfile, "-o", binary, s.pkg)

	// Together: most of their time they wait, for what does not happen.
	var differing sync.WaitGroup
	for name, reason := range s.differs {
		differing.Go(func() {
			out, err := runTests(t, dir, binary, "-test.run", "^"+name+"$", "-test.timeout", "20s")
			assert.NotContains(t, out, "no tests to run", "%s is not a test any more", name)
			if !slices.Contains(s.varies, name) {
				assert.Error(t, err, "%s passes, and so it must leave the list of those that differ (%s)", name, reason)
			} else if err != nil { // its own verdict: no panic, and nothing hung
				assert.Contains(t, out, "--- FAIL: "+name, "%s ends otherwise than by its assertions", name)
				assert.NotContains(t, out, "panic:", "%s", name)
			}
		})
	}
	differing.Wait()
	tests := s.tests(t, dir)
	for _, name := range s.varies {
		require.Contains(t, s.differs, name, "varies without a reason")
	}
	skipped := slices.Concat(names(s.differs), names(s.unrelated))
	for _, name := range skipped {
		require.Contains(t, tests, name, "not a test any more")
	}
	out, err := runTests(t, dir, binary, "-test.v", "-test.run", "^("+strings.Join(tests, "|")+")$", "-test.skip", "^("+strings.Join(skipped, "|")+")$", "-test.timeout", "5m")
	require.NoError(t, err, "%s", out)

	passed := 0
	for _, test := range tests {
		if slices.Contains(skipped, test) {
			continue
		}
		require.Contains(t, out, "--- PASS: "+test+" ", "a test that neither ran nor is listed")
		passed++
	}
	readme, err := os.ReadFile(filepath.Join("..", "..", "..", "informer", "clientgo", "README.md"))
	require.NoError(t, err)
	require.Contains(t, string(readme), fmt.Sprintf("%d pass and %d differ", passed, len(s.differs)))
	t.Logf("%s: %d tests of client-go pass, %d differ, %d are about client-go alone, %d files look into what is not exported",
		s.pkg, passed, len(s.differs), len(s.unrelated), len(s.excluded))
}

// assemble puts the package together in a temporary copy of client-go: go build
// replaces no files below the module cache. It returns the folder of the package and
// a go.mod that selects the copy.
func (s suite) assemble(t *testing.T) (dir, modfile string) {
	tmp := t.TempDir()
	module := filepath.Join(tmp, "client-go")
	require.NoError(t, os.CopyFS(module, os.DirFS(goOutput(t, "list", "-m", "-f", "{{.Dir}}", clientGo))))
	dir = filepath.Join(module, filepath.FromSlash(strings.TrimPrefix(s.pkg, clientGo)))
	for _, name := range append(slices.Clone(s.replaced), names(s.excluded)...) {
		require.NoError(t, os.Remove(filepath.Join(dir, name)), "not a file of %s any more", s.pkg)
	}
	for name, texts := range s.rewritten {
		file := filepath.Join(dir, name)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for i := 0; i < len(texts); i += 2 {
			require.Contains(t, string(text), texts[i], "%s has changed", name)
		}
		require.NoError(t, os.WriteFile(file, []byte(strings.NewReplacer(texts...).Replace(string(text))), 0o644))
	}
	for _, name := range s.declarations {
		text, err := os.ReadFile(filepath.Join("testdata", filepath.Base(s.pkg), name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "declared_"+strings.TrimSuffix(name, ".txt")), text, 0o644))
	}
	for _, name := range s.adapters {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "informer", "clientgo", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "adapter_"+name), []byte(s.moveIntoPackage(string(text))), 0o644))
	}

	modfile = filepath.Join(tmp, "go.mod")
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(tmp, name), text, 0o644))
	}
	goOutput(t, "mod", "edit", "-replace", clientGo+"="+module, modfile)
	return dir, modfile
}

// moveIntoPackage turns a file that imports the package under test as upstream into
// one of that package.
func (s suite) moveIntoPackage(text string) string {
	text = regexp.MustCompile(`(?m)^package clientgo$`).ReplaceAllString(text, "package "+filepath.Base(s.pkg))
	text = strings.ReplaceAll(text, fmt.Sprintf("\tupstream %q\n", s.pkg), "")
	if len(s.renamed) > 0 {
		name := regexp.MustCompile(`(^|[^.\w])(` + strings.Join(s.renamed, "|") + `)\b`)
		text = name.ReplaceAllString(text, "${1}our$2")
	}
	return strings.ReplaceAll(text, "upstream.", "")
}

// tests returns the names of the tests in the files to run. Those that do not compile
// have been removed.
func (s suite) tests(t *testing.T, dir string) []string {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var found []string
	for _, name := range files {
		if len(s.files) > 0 && !slices.Contains(s.files, filepath.Base(name)) {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") && fn.Name.Name != "TestMain" {
				found = append(found, fn.Name.Name)
			}
		}
	}
	return found
}

func names(m map[string]string) []string {
	list := make([]string, 0, len(m))
	for name := range m {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

func runTests(t *testing.T, dir, binary string, args ...string) (string, error) {
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func goOutput(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "go %s\n%s", strings.Join(args, " "), out)
	return strings.TrimSpace(string(out))
}
