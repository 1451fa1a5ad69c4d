package httpclient

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// Clients of a shared config have one connection and one transport, with the credentials and
// their own User-Agent.
func TestSharedConfigsHaveOneConnection(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*rest.Config){
		"Dial":  func(c *rest.Config) { c.Dial = (&net.Dialer{}).DialContext },
		"Proxy": func(c *rest.Config) { c.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil } },
		"plain": func(*rest.Config) {},
	} {
		var connections, wrapped atomic.Int32
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			assert.Equal(t, "Bearer secret", r.Header.Get("Authorization"))
			assert.Equal(t, "mine", r.Header.Get("User-Agent"))
		}))
		server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				connections.Add(1)
			}
		}
		server.EnableHTTP2 = true
		server.StartTLS()
		cfg := &rest.Config{Host: server.Listener.Addr().String(), BearerToken: "secret", TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
		cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { wrapped.Add(1); return rt })
		change(cfg)
		shared, err := Share(cfg)
		require.NoError(t, err)
		for range 20 {
			again, err := Share(shared) // as a controller does for its factory
			require.NoError(t, err)
			again.UserAgent = "mine"
			client, err := ForReflector(again)
			require.NoError(t, err)
			req, err := http.NewRequestWithContext(context.WithValue(t.Context(), flightKey{}, nil), http.MethodGet, again.Host, http.NoBody)
			require.NoError(t, err)
			resp, err := client.Do(req)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
		}
		assert.EqualValues(t, 1, connections.Load(), name)
		assert.EqualValues(t, 1, wrapped.Load(), name)
		assert.Equal(t, "secret", cfg.BearerToken, "the caller's config is unchanged")
		server.Close()
	}
}
