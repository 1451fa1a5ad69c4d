package e2e

import (
	"testing"

	"github.com/informerkit/informerkit/internal/verify/e2e/clients"
)

// What real clients see of the embedded server they see of the real one.
func TestClients(t *testing.T) {
	clients.Run(t, shared(t).Config())
}
