package e2e

import (
	"context"
	"testing"

	"github.com/informerkit/informerkit/internal/verify/conformance"
	"github.com/informerkit/informerkit/internal/verify/e2e/controlplane"
)

// The suite that the embedded server of informertest has to pass, against the
// server that it imitates.
func TestConformance(t *testing.T) {
	t.Parallel()
	cp := dedicated(t, controlplane.Options{})
	conformance.Run(t, cp.Config(), conformance.Options{
		Compact: func(ctx context.Context) error {
			_, err := cp.Compact(ctx)
			return err
		},
	})
}
