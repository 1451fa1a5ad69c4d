package controllerruntime

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A kind of no informers has synced, as one may between its making and the waiting.
func TestASyncThatIsFastDoesNotHideThatTheContextHasEnded(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	k := &kind{}
	require.NoError(t, k.waitFor(ended, true))
	require.NoError(t, k.waitFor(t.Context(), false))
	assert.True(t, apierrors.IsTimeout(k.waitFor(ended, false)))
}
