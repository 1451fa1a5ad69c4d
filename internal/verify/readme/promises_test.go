package readme_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// promising are the packages whose doc.go has numbered promises.
var promising = []string{
	"deltafifo", "indexer", "informer", "informer/audit", "informer/client", "informer/controller", "informer/controllerruntime", "informer/controllerruntime/controllers", "informer/informertest", "informer/informertest/explore", "informer/inspect", "informer/intern", "informer/leader", "informer/prometheus", "informer/sharding", "reflector", "workqueue", "workqueue/history",
}

var (
	section  = regexp.MustCompile(`(?m)^# Promises\n`)
	heading  = regexp.MustCompile(`(?m)^# `)
	numbered = regexp.MustCompile(`(?m)^ +(\d+)\. `)
	citation = regexp.MustCompile(`\bPromise ([a-z]+(?:/[a-z]+)*)/(\d+)\b`)
)

// Each promise of a package is cited above a test of that package, as "Promise
// workqueue/3", and no citation names a promise that does not exist.
func TestEveryPromiseHasATest(t *testing.T) {
	for _, pkg := range promising {
		t.Run(pkg, func(t *testing.T) {
			made := promises(t, filepath.Join("../../..", pkg, "doc.go"))
			cited := citations(t, pkg)
			for _, number := range made {
				assert.NotEmpty(t, cited[number], "no test of %s cites promise %s: write \"Promise %s/%s\" above the test that would fail if it were broken", pkg, number, pkg, number)
				delete(cited, number)
			}
			assert.Empty(t, slices.Sorted(maps.Keys(cited)), "cited, but not promised by %s", pkg)
		})
	}
}

// Citations stand above tests, and of packages that have promises.
func TestNoCitationIsElsewhere(t *testing.T) {
	for _, c := range allCitations(t) {
		assert.True(t, c.aboveTest, "%s: cite a promise above a test function", c.position)
		assert.NotEmpty(t, packageOf(c), "%s: %s/%s is not a promise of the package of this file", c.position, c.named, c.number)
	}
}

// promises returns the numbers of a package's promises, which must be 1 to n.
func promises(t *testing.T, file string) []string {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.PackageClauseOnly)
	require.NoError(t, err)
	text := parsed.Doc.Text()
	at := section.FindStringIndex(text)
	require.NotNil(t, at, "%s has no promises", file)
	text = text[at[1]:]
	if next := heading.FindStringIndex(text); next != nil {
		text = text[:next[0]]
	}
	var numbers []string
	for _, m := range numbered.FindAllStringSubmatch(text, -1) {
		numbers = append(numbers, m[1])
		assert.Equal(t, fmt.Sprint(len(numbers)), m[1], "%s: promises are numbered without gaps", file)
	}
	require.NotEmpty(t, numbers, file)
	return numbers
}

// citations returns where the promises of a package are cited by its tests.
func citations(t *testing.T, pkg string) map[string][]string {
	found := map[string][]string{}
	for _, c := range allCitations(t) {
		if packageOf(c) == pkg && c.aboveTest {
			found[c.number] = append(found[c.number], c.position)
		}
	}
	return found
}

// cited is one citation of a promise.
type cited struct {
	named, number    string
	folder, position string
	aboveTest        bool
}

// packageOf returns the package that a citation is about: the one of its name that
// its file belongs to; empty if there is none.
func packageOf(c cited) string {
	for _, pkg := range promising {
		named := c.named == pkg || c.named == pkg[strings.LastIndex(pkg, "/")+1:]
		if named && (c.folder == pkg || strings.HasPrefix(c.folder, pkg+"/")) {
			return pkg
		}
	}
	return ""
}

// allCitations reads the comments of all test files below the promising packages.
func allCitations(t *testing.T) []cited {
	var all []cited
	tree := os.DirFS("../../..")
	require.NoError(t, fs.WalkDir(tree, ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (file == "internal" || entry.Name() == "testdata" || len(file) > 1 && strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case !strings.HasSuffix(file, "_test.go"):
			return nil
		}
		content, err := fs.ReadFile(tree, file)
		if err != nil || !citation.Match(content) {
			return err
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, file, content, parser.ParseComments)
		if err == nil {
			all = append(all, citedIn(files, parsed, path.Dir(file))...)
		}
		return err
	}))
	return all
}

// citedIn returns the citations in a file.
func citedIn(files *token.FileSet, file *ast.File, folder string) []cited {
	tests := map[*ast.CommentGroup]bool{}
	for _, decl := range file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Doc != nil && fn.Recv == nil {
			tests[fn.Doc] = strings.HasPrefix(fn.Name.Name, "Test") || strings.HasPrefix(fn.Name.Name, "Fuzz")
		}
	}
	var found []cited
	for _, group := range file.Comments {
		for _, m := range citation.FindAllStringSubmatch(group.Text(), -1) {
			found = append(found, cited{m[1], m[2], folder, files.Position(group.Pos()).String(), tests[group]})
		}
	}
	return found
}
