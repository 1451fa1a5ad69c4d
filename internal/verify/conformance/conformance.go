package conformance

import (
	"context"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/internal/httpclient"
)

// Options describe what the suite cannot find out on its own.
type Options struct {
	// Compact makes the server forget all versions before the current one, even for
	// events, which a kube-apiserver does not keep in its watch cache.
	Compact func(context.Context) error
}

// suite is what all scenarios share.
type suite struct {
	client *http.Client
	base   *url.URL
	opts   Options
}

// Run tests the server that cfg leads to. The user must be allowed everything.
func Run(t *testing.T, cfg *rest.Config, opts Options) {
	client, err := httpclient.For(cfg)
	require.NoError(t, err)
	base, _, err := rest.DefaultServerUrlFor(cfg)
	require.NoError(t, err)
	s := &suite{client: client, base: base, opts: opts}
	defer client.CloseIdleConnections()
	files, err := readScripts()
	require.NoError(t, err)

	t.Run("Parallel", func(t *testing.T) {
		for _, tests := range []map[string]func(*api){others, protobufTests} {
			for name, run := range tests {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					run(s.api(t))
				})
			}
		}
		for _, file := range files {
			if file.name != "compaction" {
				t.Run(file.name, func(t *testing.T) {
					t.Parallel()
					s.run(t, file, true)
				})
			}
		}
	})
	// Compaction concerns everything that goes on at the same time.
	for _, file := range files {
		if file.name == "compaction" {
			t.Run(file.name, func(t *testing.T) { s.run(t, file, false) })
		}
	}
}

// run plays the scenarios of a file, if wanted at the same time.
func (s *suite) run(t *testing.T, file script, parallel bool) {
	for _, sc := range file.scenarios {
		t.Run(sc.title, func(t *testing.T) {
			if parallel {
				t.Parallel()
			}
			s.api(t).play(sc)
		})
	}
}
