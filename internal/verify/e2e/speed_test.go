package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/internal/verify/e2e/clients"
)

// BenchmarkWritesToTheRealServer is beside the same for the embedded one in package
// clients.
func BenchmarkWritesToTheRealServer(b *testing.B) {
	cp, err := startShared()
	require.NoError(b, err)
	clients.BenchmarkWrites(b, cp.Config())
}
