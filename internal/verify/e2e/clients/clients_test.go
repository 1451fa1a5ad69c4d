package clients

import (
	"testing"

	"github.com/informerkit/informerkit/informer/informertest"
	"k8s.io/client-go/kubernetes/scheme"
)

func TestTheEmbeddedServerServesRealClients(t *testing.T) {
	Run(t, informertest.Start(t, informertest.Options{Scheme: scheme.Scheme}).Config())
}
