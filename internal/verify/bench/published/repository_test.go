package published

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The documents of this repository match its results.
func TestThisRepository(t *testing.T) {
	t.Parallel()
	require.NoError(t, Check("..", "../../../README.md"))
}
