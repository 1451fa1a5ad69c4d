package informertest_test

import (
	"context"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/scheme"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/internal/verify/conformance"
)

// The suite also runs against a real kube-apiserver, in internal/verify/e2e.
// Promise informertest/1
func TestTheEmbeddedServerConforms(t *testing.T) {
	for name, opts := range map[string]informertest.Options{
		"Loopback": {FreshnessTimeout: 100 * time.Millisecond, Scheme: scheme.Scheme},
		"InMemory": {FreshnessTimeout: 100 * time.Millisecond, Scheme: scheme.Scheme, InMemory: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := informertest.Start(t, opts)
			conformance.Run(t, s.Config(), conformance.Options{
				Compact: func(context.Context) error { s.Compact(); return nil },
			})
		})
	}
}
