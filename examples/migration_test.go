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
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/informertest"
)

type reconcileFunc func(ctx context.Context, pod *corev1.Pod, err error) error

// The two controllers of MIGRATION.md compile and work.
func TestControllersOfTheMigrationReadme(t *testing.T) {
	page, err := os.ReadFile("MIGRATION.md")
	require.NoError(t, err)
	shown := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	require.Len(t, shown, 2)
	for i, c := range []struct {
		name string
		run  func(context.Context, *rest.Config, reconcileFunc) error
	}{{"before", before}, {"after", after}} {
		t.Run(c.name, func(t *testing.T) {
			file, err := os.ReadFile("migration_" + c.name + "_test.go")
			require.NoError(t, err)
			body := regexp.MustCompile(`(?s)\nfunc [^\n]*\{\n(.*)\n\}\n`).FindStringSubmatch(string(file))
			require.NotNil(t, body)
			want := strings.ReplaceAll("\n"+body[1], "\n\t", "\n")[1:] + "\n"
			assert.Equal(t, want, shown[i][1], "MIGRATION.md shows %s of migration_%s_test.go", c.name, c.name)

			server := informertest.Start(t, informertest.Options{})
			require.NoError(t, server.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var got []string
			require.NoError(t, c.run(ctx, server.Config(), func(_ context.Context, pod *corev1.Pod, err error) error {
				defer cancel()
				if assert.NoError(t, err) {
					got = append(got, pod.Namespace+"/"+pod.Name)
				}
				return nil
			}))
			assert.Equal(t, []string{"default/web"}, got)
		})
	}
}
