package clients

import (
	"testing"

	"k8s.io/client-go/kubernetes/scheme"

	"github.com/informerkit/informerkit/informer/informertest"
)

func TestTheEmbeddedServerServesRealClients(t *testing.T) {
	Run(t, informertest.Start(t, informertest.Options{Scheme: scheme.Scheme}).Config())
}
