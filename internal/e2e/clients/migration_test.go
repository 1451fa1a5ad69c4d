package clients

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/informer/informertest"
)

// MIGRATION.md shows, first, the controller of migration_before_test.go. The one
// after the migration is tested beside that page; this one needs the packages of
// client-go that the root module does not have.
func TestMigrationPageShowsTheControllerBefore(t *testing.T) {
	page, err := os.ReadFile("../../../examples/MIGRATION.md")
	require.NoError(t, err)
	shown := regexp.MustCompile("(?s)\nBefore[^\n]*:\n\n```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	require.Len(t, shown, 1)
	file, err := os.ReadFile("migration_before_test.go")
	require.NoError(t, err)
	body := regexp.MustCompile(`(?s)\nfunc [^\n]*\{\n(.*)\n\}\n`).FindStringSubmatch(string(file))
	require.NotNil(t, body)
	assert.Equal(t, strings.ReplaceAll("\n"+body[1], "\n\t", "\n")[1:]+"\n", shown[0][1])
}

func TestControllerBeforeTheMigrationWorks(t *testing.T) {
	server := informertest.Start(t, informertest.Options{})
	require.NoError(t, server.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	require.NoError(t, before(ctx, server.Config(), func(_ context.Context, pod *corev1.Pod, err error) error {
		defer cancel()
		if assert.NoError(t, err) {
			got = append(got, pod.Namespace+"/"+pod.Name)
		}
		return nil
	}))
	assert.Equal(t, []string{"default/web"}, got)
}
