package clients

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	kappsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/informerkit/informerkit/informer/informertest"
)

// TestController is what the README of informertest shows.
func TestController(t *testing.T) {
	server := informertest.Start(t, informertest.Options{})
	client := kubernetes.NewForConfigOrDie(server.Config())

	// Any client works: typed, dynamic, metadata, controller-runtime, kubectl.
	deployment, err := client.AppsV1().Deployments("default").Create(t.Context(), newDeployment("web"), metav1.CreateOptions{})
	require.NoError(t, err)
	assert.EqualValues(t, 1, *deployment.Spec.Replicas) // defaults are filled in

	// Another manager's field is not applied over without force.
	scale := appsv1.Deployment("web", "default").WithSpec(appsv1.DeploymentSpec().WithReplicas(3))
	_, err = client.AppsV1().Deployments("default").Apply(t.Context(), scale, metav1.ApplyOptions{FieldManager: "scaler"})
	assert.True(t, apierrors.IsConflict(err))

	// What a cluster does only when it wants to, a test does when it is needed.
	server.Compact()                  // watches that resume get 410
	server.Inject(informertest.Fault{ // the next list is refused
		Verb: "list", Times: 1,
		Effect: informertest.Refuse(apierrors.NewTooManyRequests("busy", 1)),
	})
	_, err = client.AppsV1().Deployments("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err) // client-go has waited and tried again
	assert.Equal(t, 2, server.Count("list", "deployments"))
}

func newDeployment(name string) *kappsv1.Deployment { return deployment(name) }

// The README shows the test above, letter by letter.
func TestReadmeShowsTheTest(t *testing.T) {
	readme, err := os.ReadFile("../../../../informer/informertest/README.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)<!-- TestController -->\n```go\n(.*?)```").FindAllSubmatch(readme, -1)
	require.Len(t, blocks, 1)

	source, err := os.ReadFile("readme_test.go")
	require.NoError(t, err)
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "readme_test.go", source, 0)
	require.NoError(t, err)
	for _, decl := range file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Name.Name == "TestController" {
			body := source[files.Position(fn.Pos()).Offset:files.Position(fn.End()).Offset]
			assert.Equal(t, string(body)+"\n", string(blocks[0][1]))
			return
		}
	}
	t.Fatal("TestController is missing")
}
