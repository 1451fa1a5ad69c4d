package conformance

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/internal/httpclient"
)

// Options hold what the suite cannot find out by itself.
type Options struct {
	// Compact makes the server forget all versions before the present one, also
	// for events, which a kube-apiserver does not keep in its watch cache. If it
	// is nil, the tests of compaction are left out.
	Compact func(context.Context) error
}

// Run tests the server that cfg leads to. The user must be allowed everything.
func Run(t *testing.T, cfg *rest.Config, opts Options) {
	client, err := httpclient.For(cfg)
	require.NoError(t, err)
	base, _, err := rest.DefaultServerUrlFor(cfg)
	require.NoError(t, err)
	s := &suite{client: client, base: base, opts: opts}
	defer client.CloseIdleConnections()

	t.Run("Parallel", func(t *testing.T) {
		for _, group := range []struct {
			name  string
			tests []test
		}{
			{"Create", createTests}, {"Update", updateTests}, {"Patch", patchTests}, {"Delete", deleteTests},
			{"List", listTests}, {"Watch", watchTests}, {"Discovery", discoveryTests}, {"Custom", customTests}, {"Schemas", schemaTests},
			{"Views", viewTests}, {"Protobuf", protobufTests},
			{"Defaults", defaultsTests}, {"Strict", strictTests}, {"Kinds", kindTests},
			{"Apply", applyTests}, {"ManagedFields", managedFieldsTests}, {"StrategicPatch", strategicPatchTests}, {"Events", eventTests}, {"BadInput", badInputTests},
			{"Subresources", subresourceTests}, {"OpenAPI", openAPITests}, {"Tables", tableTests},
		} {
			t.Run(group.name, func(t *testing.T) {
				t.Parallel()
				s.run(t, group.tests, true)
			})
		}
	})
	// Compaction concerns everything that goes on at the same time.
	if opts.Compact != nil {
		t.Run("Compaction", func(t *testing.T) { s.run(t, compactionTests, false) })
	}
}

// test is one property of the API, in a namespace of its own.
type test struct {
	name string
	run  func(*api)
}

// run runs tests, if wanted at the same time.
func (s *suite) run(t *testing.T, tests []test, parallel bool) {
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if parallel {
				t.Parallel()
			}
			test.run(s.api(t))
		})
	}
}
