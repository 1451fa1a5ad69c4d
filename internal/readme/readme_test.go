// Package readme_test keeps the code blocks of README.md true: each is the body
// of an Example here, which is compiled and run like any other.
package readme_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A block is announced by a comment with the name of its Example.
var block = regexp.MustCompile("(?s)<!-- (Example_\\w+) -->\n```go\n(.*?)```")

func TestReadmeShowsTheExamples(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	blocks := block.FindAllSubmatch(readme, -1)
	require.Equal(t, strings.Count(string(readme), "```go"), len(blocks), "every Go block has the name of an Example above it")

	bodies := exampleBodies(t)
	for _, b := range blocks {
		name, shown := string(b[1]), string(b[2])
		require.Contains(t, bodies, name)
		assert.Equal(t, bodies[name], shown, "README.md must show the body of %s", name)
	}
	assert.Len(t, bodies, len(blocks), "README.md shows every Example of this package")
}

// exampleBodies returns the bodies of the Examples, without the expected output,
// shifted left by one tab.
func exampleBodies(t *testing.T) map[string]string {
	files, err := filepath.Glob("example_*_test.go")
	require.NoError(t, err)
	bodies := map[string]string{}
	for _, name := range files {
		source, err := os.ReadFile(name)
		require.NoError(t, err)
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, source, parser.ParseComments)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(fn.Name.Name, "Example") {
				continue
			}
			body := string(source[fset.Position(fn.Body.Lbrace).Offset+2 : fset.Position(fn.Body.Rbrace).Offset])
			body, _, _ = strings.Cut(body, "\t// Output:")
			bodies[fn.Name.Name] = strings.ReplaceAll("\n"+body, "\n\t", "\n")[1:]
		}
	}
	return bodies
}
