package controllerruntime_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program that reads from a cache and has no manager does not get one, nor handlers and their queues.
func TestCacheImportsNoManager(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", ".")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	deps := strings.Fields(string(out))
	require.Contains(t, deps, "sigs.k8s.io/controller-runtime/pkg/cache")
	for _, unwanted := range []string{
		"sigs.k8s.io/controller-runtime/pkg/manager",
		"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue",
		"sigs.k8s.io/controller-runtime/pkg/webhook",
	} {
		require.False(t, slices.Contains(deps, unwanted), unwanted)
	}
}
