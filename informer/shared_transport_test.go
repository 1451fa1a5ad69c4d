package informer

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/internal/verify/scripted"
)

// However many kinds a factory reads, its server sees one connection, also if Dial or Proxy keeps client-go from
// sharing the transport.
func TestAFactoryHasOneConnection(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*rest.Config){
		"plain": func(*rest.Config) {},
		"Dial":  func(c *rest.Config) { c.Dial = (&net.Dialer{}).DialContext },
		"Proxy": func(c *rest.Config) { c.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil } },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var connections, wrapped atomic.Int32
			server := httptest.NewUnstartedServer(&scripted.Server{
				List: scripted.Lists("7"),
				WatchList: func(w http.ResponseWriter, r *http.Request, _ int) {
					scripted.Send(w, "BOOKMARK", scripted.Bookmark("7", true))
					scripted.Hang(r)
				},
			})
			server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
				if s == http.StateNew {
					connections.Add(1)
				}
			}
			server.EnableHTTP2 = true
			server.StartTLS()
			defer server.Close()
			cfg := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
			cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { wrapped.Add(1); return rt })
			change(cfg)
			fac, err := NewFactory(cfg, FactoryOptions{})
			require.NoError(t, err)
			fac.Start(t.Context())
			defer func() { require.NoError(t, fac.Shutdown(context.WithoutCancel(t.Context()))) }()
			for i := range 20 {
				_, err := For(fac, ForOptions[untyped]{Resource: schema.GroupVersionResource{Version: "v1", Resource: fmt.Sprint("kind", i)}})
				require.NoError(t, err)
				if i == 0 { // requests that begin together may each dial
					require.NoError(t, fac.WaitForSync(t.Context()))
				}
			}
			require.NoError(t, fac.WaitForSync(t.Context()))
			assert.EqualValues(t, 1, connections.Load())
			assert.EqualValues(t, 1, wrapped.Load())
		})
	}
}
