package clients

import (
	"testing"

	"github.com/informerkit/informerkit/informer/informertest"
)

func TestTheEmbeddedServerServesRealClients(t *testing.T) {
	Run(t, informertest.Start(t, informertest.Options{}).Config())
}
