package clients

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// Proxy stands between a program and an API server and records what is said about
// one namespace, for programs that cannot be given a transport.
type Proxy struct {
	// URL is where the program finds the server, without TLS or credentials.
	URL string
	r   *recording
}

// NewProxy serves what cfg leads to until the test ends.
func NewProxy(t *testing.T, cfg *rest.Config, namespace string) *Proxy {
	next, err := rest.TransportFor(cfg)
	require.NoError(t, err)
	host, err := url.Parse(cfg.Host)
	require.NoError(t, err)
	p := &Proxy{r: &recording{namespace: namespace}}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(host)
			r.Out.Header.Del("Accept-Encoding") // what is recorded is not compressed
		},
		Transport:     roundTripper(func(req *http.Request) (*http.Response, error) { return p.r.roundTrip(next, req) }),
		FlushInterval: -1, // at once, as watches need it
	})
	t.Cleanup(server.Close)
	p.URL = server.URL
	return p
}

// Take returns what was recorded since it was called last.
func (p *Proxy) Take() []Exchange {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	taken := p.r.exchanges
	p.r.exchanges = nil
	return taken
}
