package informertest_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/reflector"
)

// TestControllerInABubble is what the README shows about fake time.
func TestControllerInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := informertest.Start(t, informertest.Options{InMemory: true})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); runController(ctx, server.Config()) }()

		require.NoError(t, server.Create(newDeployment("web")))
		synctest.Wait() // the controller has done all that it can do for now
		// ... look at server.Get, server.List, server.Requests
		time.Sleep(time.Hour) // an hour of resyncs, at once
		cancel()
		<-done
	})
}

// runController stands for the program that a reader tests.
func runController(ctx context.Context, cfg *rest.Config) {
	source, err := reflector.NewResource[*appsv1.Deployment](cfg, appsv1.SchemeGroupVersion.WithResource("deployments"), reflector.ResourceOptions{})
	if err != nil {
		panic(err)
	}
	deployments, err := informer.New(source, informer.Options[*appsv1.Deployment]{})
	if err != nil {
		panic(err)
	}
	_ = deployments.Run(ctx) // it ends with the context
}

func newDeployment(name string) *appsv1.Deployment {
	d := &appsv1.Deployment{}
	d.Namespace, d.Name = "default", name
	return d
}

// The README shows the test above, letter by letter, without its declaration.
func TestReadmeShowsTheTestInABubble(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)<!-- TestControllerInABubble -->\n```go\n(.*?)```").FindAllSubmatch(readme, -1)
	require.Len(t, blocks, 1)
	assert.Equal(t, 2, strings.Count(string(readme), "```go"), "each Go block of the README is run by a test")

	source, err := os.ReadFile("readme_test.go")
	require.NoError(t, err)
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "readme_test.go", source, 0)
	require.NoError(t, err)
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Name.Name != "TestControllerInABubble" {
			continue
		}
		body := string(source[files.Position(fn.Body.Lbrace).Offset+2 : files.Position(fn.Body.Rbrace).Offset])
		body = strings.TrimPrefix(strings.ReplaceAll(body, "\n\t", "\n"), "\t")
		assert.Equal(t, body, string(blocks[0][1]))
		return
	}
	t.Fatal("TestControllerInABubble is missing")
}
