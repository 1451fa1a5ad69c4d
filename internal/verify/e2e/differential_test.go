package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/internal/verify/e2e/clients"
)

// The requests of real clients are answered alike: same codes, reasons, kinds and
// objects, managed fields and defaults included.
func TestBothServersAnswerRealClientsAlike(t *testing.T) {
	cp := shared(t)
	embedded := informertest.Start(t, informertest.Options{Scheme: scheme.Scheme})
	for _, s := range clients.Scenarios() {
		t.Run(s.Name(), func(t *testing.T) {
			t.Parallel()
			want, got := clients.Record(t, cp.Config(), s), clients.Record(t, embedded.Config(), s)
			require.NotEmpty(t, want)
			for i := range min(len(want), len(got)) {
				assert.Equal(t, want[i], got[i], "answer %d, to %s", i, want[i].Request)
			}
			assert.Len(t, got, len(want))
		})
	}
}
