package informer

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// noImports makes the type checker look at this package alone: what other packages
// declare stays unknown, which is not what the test is about.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not imported") }

// readingOrder returns the files of this package in the order that doc.go states.
func readingOrder(t *testing.T) []string {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, picture, found := strings.Cut(string(doc), "\n//\twords ")
	require.True(t, found)
	// A name in parentheses is a file of another package.
	picture = regexp.MustCompile(`\([^)]*\)`).ReplaceAllString(picture, "")
	return regexp.MustCompile(`[a-z]+\.go`).FindAllString(picture, -1)
}

// The reading order of doc.go has each file once, and no file refers to a later one.
func TestFilesReferOnlyToFilesReadBefore(t *testing.T) {
	t.Parallel()
	order := readingOrder(t)
	present, err := filepath.Glob("*.go")
	require.NoError(t, err)
	present = slices.DeleteFunc(present, func(f string) bool { return f == "doc.go" || strings.HasSuffix(f, "_test.go") })
	require.ElementsMatch(t, present, order)

	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range order {
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, f)
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: noImports{}, Error: func(error) {}}
	pkg, _ := conf.Check("informer", fset, files, &info) // it has errors: there are no imports
	require.NotNil(t, pkg)

	references := 0
	for use, object := range info.Uses {
		switch o := object.(type) { // of a generic type: where it is declared
		case *types.Var:
			object = o.Origin()
		case *types.Func:
			object = o.Origin()
		}
		if object.Pkg() != pkg {
			continue
		}
		from, to := fset.Position(use.Pos()), fset.Position(object.Pos())
		if from.Filename != to.Filename {
			references++
			assert.Greater(t, slices.Index(order, from.Filename), slices.Index(order, to.Filename), "%v refers to %s in %s", from, use.Name, to.Filename)
		}
	}
	require.Greater(t, references, 500, "the type checker has found too little")
}
