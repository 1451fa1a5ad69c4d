package examples

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

// MIGRATION.md shows, last, the controller of migration_after_test.go. The one
// before the migration needs packages of client-go that this module does not have:
// internal/e2e/clients tests it, in the same way.
func TestMigrationPageShowsTheControllerAfter(t *testing.T) {
	page, err := os.ReadFile("MIGRATION.md")
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(string(page), "```go\n"), "each Go block of the page has its test")
	shown := regexp.MustCompile("(?s)\nAfter:\n\n```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	require.Len(t, shown, 1)
	file, err := os.ReadFile("migration_after_test.go")
	require.NoError(t, err)
	body := regexp.MustCompile(`(?s)\nfunc [^\n]*\{\n(.*)\n\}\n`).FindStringSubmatch(string(file))
	require.NotNil(t, body)
	assert.Equal(t, strings.ReplaceAll("\n"+body[1], "\n\t", "\n")[1:]+"\n", shown[0][1])
}

func TestControllerAfterTheMigrationWorks(t *testing.T) {
	server := informertest.Start(t, informertest.Options{})
	require.NoError(t, server.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	require.NoError(t, after(ctx, server.Config(), func(_ context.Context, pod *corev1.Pod, err error) error {
		defer cancel()
		if assert.NoError(t, err) {
			got = append(got, pod.Namespace+"/"+pod.Name)
		}
		return nil
	}))
	assert.Equal(t, []string{"default/web"}, got)
}
