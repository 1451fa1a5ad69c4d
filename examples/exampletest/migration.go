package exampletest

import (
	"context"
	"errors"
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

// Shows checks that the first Go block after a line of page, which begins with heading, is a run of lines of
// source, a Go file.
func Shows(t testing.TB, page, heading, source string) {
	t.Helper()
	_, after, found := strings.Cut(Read(t, page), "\n"+heading)
	require.True(t, found, "%s has no line that begins with %q", page, heading)
	block := regexp.MustCompile("(?s)\n```go\n(.*?)```").FindStringSubmatch(after)
	require.NotNil(t, block, "%s shows nothing under %q", page, heading)
	text := "\n" + Read(t, source)
	for _, indent := range []string{"\t", "\t\t"} {
		if strings.Contains(strings.ReplaceAll(text, "\n"+indent, "\n"), "\n"+block[1]) {
			return
		}
	}
	t.Errorf("%s does not have these lines, which %s shows under %q:\n%s", source, page, heading, block[1])
}

// Read returns what is in a file.
func Read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

// ReconcilesPod checks that run, a controller of pods, calls reconcile with a pod that
// exists, and again if that fails, and that it returns when its context has ended.
func ReconcilesPod(t testing.TB, run func(ctx context.Context, cfg *rest.Config, reconcile func(context.Context, *corev1.Pod, error) error) error) {
	t.Helper()
	server := informertest.Start(t, informertest.Options{})
	require.NoError(t, server.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	require.NoError(t, run(ctx, server.Config(), func(_ context.Context, pod *corev1.Pod, err error) error {
		if assert.NoError(t, err) {
			got = append(got, pod.Namespace+"/"+pod.Name)
		}
		if len(got) == 1 && err == nil {
			return errors.New("try again later")
		}
		cancel()
		return nil
	}))
	assert.Equal(t, []string{"default/web", "default/web"}, got)
}
