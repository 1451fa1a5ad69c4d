package readme

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// makesClient are functions of client-go and controller-runtime that make an http.Client or what
// has one, of a config alone. A redirect to another host would get the credentials from it.
var makesClient = regexp.MustCompile(`^(HTTPClientFor|(Unversioned)?RESTClientFor|New\w*ForConfig(OrDie)?)$`)

// All of the repository but tests, and what verifies it, makes its clients by internal/httpclient.
func TestEveryHTTPClientOfAConfigKeepsTheCredentials(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	files := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		rel = filepath.ToSlash(rel)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (rel == "internal/verify" || rel == ".git" || rel == "internal/httpclient"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go"):
			return nil
		}
		files++
		for _, call := range clientsMade(t, path, nil) {
			assert.Fail(t, rel+": "+call+" makes a client whose redirects carry the credentials to other hosts; use reflector.HTTPClientFor, and the constructor that takes a client")
		}
		return nil
	}))
	assert.Greater(t, files, 200)
	// The check finds what it looks for.
	assert.Equal(t, []string{"rest.HTTPClientFor", "k.NewForConfigOrDie"}, clientsMade(t, "x.go", `package x
import ("k8s.io/client-go/rest"; k "k8s.io/client-go/kubernetes"; "github.com/informerkit/informerkit/reflector")
var a, _ = rest.HTTPClientFor(nil)
var b = k.NewForConfigOrDie(nil)
var c, _ = reflector.HTTPClientFor(nil)
var d, _ = k.NewForConfigAndClient(nil, nil)
`))
}

// clientsMade returns the calls in a file that make a client.
func clientsMade(t *testing.T, path string, src any) (calls []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, src, 0)
	require.NoError(t, err)
	foreign := map[string]bool{}
	for _, i := range file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		require.NoError(t, err)
		name := path[strings.LastIndex(path, "/")+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		foreign[name] = strings.HasPrefix(path, "k8s.io/") || strings.HasPrefix(path, "sigs.k8s.io/")
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && foreign[x.Name] && makesClient.MatchString(s.Sel.Name) {
				calls = append(calls, x.Name+"."+s.Sel.Name)
			}
		}
		return true
	})
	return calls
}
