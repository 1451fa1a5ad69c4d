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
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
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

// TestMonthsInABubble is what the README shows about weeks and months.
func TestMonthsInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := informertest.Start(t, informertest.Options{InMemory: true, BookmarkInterval: -1})
		c := controller.New(controller.Options{
			Config: server.Config(), Name: "months",
			Informers: informer.FactoryOptions{Reflector: reflector.Options{
				Timeouts: reflector.Timeouts{Watch: 365 * 24 * time.Hour, Idle: -1}, // one watch, however silent it is
			}},
		})
		monthly(t, c)

		time.Sleep(60 * 24 * time.Hour)
		// ... look at what is there after two months
		assert.Less(t, server.Count("", ""), 20)
	})
}

// monthly runs a controller that reads four kinds.
func monthly(t *testing.T, c *controller.Controller) {
	t.Helper()
	controller.For[*appsv1.Deployment](c, appsv1.SchemeGroupVersion.WithResource("deployments"))
	controller.Reads[*corev1.Pod](c, corev1.SchemeGroupVersion.WithResource("pods"))
	controller.Reads[*corev1.Secret](c, corev1.SchemeGroupVersion.WithResource("secrets"))
	controller.Reads[*corev1.ConfigMap](c, corev1.SchemeGroupVersion.WithResource("configmaps"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- c.Run(ctx, func(context.Context, types.NamespacedName) (workqueue.Result, error) { return workqueue.Result{}, nil })
	}()
	t.Cleanup(func() { cancel(); assert.NoError(t, <-ended) })
}

// The README shows the tests above, letter by letter, without their declarations.
func TestReadmeShowsTheTestsInABubble(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	blocks := map[string]string{}
	for _, b := range regexp.MustCompile("(?s)<!-- (Test\\w+InABubble) -->\n```go\n(.*?)```").FindAllSubmatch(readme, -1) {
		blocks[string(b[1])] = string(b[2])
	}
	require.Len(t, blocks, 2)
	assert.Equal(t, 3, strings.Count(string(readme), "```go"), "each Go block of the README is run by a test")

	source, err := os.ReadFile("readme_test.go")
	require.NoError(t, err)
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "readme_test.go", source, 0)
	require.NoError(t, err)
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || blocks[fn.Name.Name] == "" {
			continue
		}
		body := string(source[files.Position(fn.Body.Lbrace).Offset+2 : files.Position(fn.Body.Rbrace).Offset])
		body = strings.TrimPrefix(strings.ReplaceAll(body, "\n\t", "\n"), "\t")
		assert.Equal(t, body, blocks[fn.Name.Name])
		delete(blocks, fn.Name.Name)
	}
	assert.Empty(t, blocks, "of no test")
}
