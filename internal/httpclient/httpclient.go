// Package httpclient makes the HTTP clients of the library.
//
// A request returns when its context is done, whatever the transport does. net/http promises
// that of its own transport, but a request passes through others first: client-go runs the
// credential plugin of a kubeconfig without the context, and programs wrap transports.
//
//	caller ─▶ guard ─▶ credentials ─▶ WrapTransport ─▶ gate ─▶ http.Transport
//	          │ runs all of that in a goroutine            │ sends nothing for a context that is done
//	          └ leaves it behind if it blocks              └
//
// What is left behind is one goroutine per blocked request. It is the only one that outlives
// the calls of the library, ends when the transport returns, and closes a late response.
package httpclient

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/client-go/rest"
)

const (
	// perClient and perReflector bound the requests that are stuck in a transport. Further ones
	// fail immediately.
	perClient    = 16
	perReflector = 1
)

// For returns a client for the API server that cfg describes. It shares connections with other
// clients of the same config, as that of [rest.HTTPClientFor] does, and sends the
// credentials of cfg to that server only. Its requests return when their context is done.
//
// The credentials are added by the transport, to each request. So the protection of net/http,
// which takes a header away when a redirect leads to another host, does not help here.
func For(cfg *rest.Config) (*http.Client, error) { return limited(cfg, perClient) }

// ForReflector returns a client for one reflector.
func ForReflector(cfg *rest.Config) (*http.Client, error) { return limited(cfg, perReflector) }

func limited(cfg *rest.Config, limit int32) (*http.Client, error) {
	c, err := chainFor(cfg)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: newGuard(c, limit), Timeout: cfg.Timeout, CheckRedirect: sameServer}, nil
}

// sameServer follows a redirect within a server, once: one that redirects to itself gets no
// more requests than the caller paces. It follows none of a write that would become a read. Any
// other redirect is the answer of the request, so the caller can say where it leads.
func sameServer(req *http.Request, via []*http.Request) error {
	from := via[0]
	if len(via) > 1 || req.Method != from.Method || req.URL.Scheme != from.URL.Scheme || req.URL.Host != from.URL.Host || *req.URL == *from.URL {
		return http.ErrUseLastResponse
	}
	return nil
}

// Do sends a request with a client of [For]. It does what [http.Client.Do] does, but for requests that
// are answered without a redirect it saves the copy of the header that would be for the next request.
func Do(client *http.Client, req *http.Request) (*http.Response, error) {
	if client.Timeout != 0 || client.Jar != nil || req.URL.User != nil {
		return client.Do(req)
	}
	transport := client.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	resp, err := transport.RoundTrip(req)
	if err == nil && resp != nil && resp.Body != nil && resp.StatusCode/100 != 3 {
		return resp, nil
	}
	// http.Client would read the header, which a transport that blocks may still write to.
	if stuck := (*StuckError)(nil); errors.As(err, &stuck) {
		return nil, &url.Error{Op: req.Method[:1] + strings.ToLower(req.Method[1:]), URL: req.URL.String(), Err: err}
	}
	// An error or a redirect: http.Client has the rules for these.
	return (&http.Client{Transport: &sent{transport, resp, err, false}, CheckRedirect: client.CheckRedirect}).Do(req)
}

// sent is a transport that has sent the first request already.
type sent struct {
	http.RoundTripper
	resp *http.Response
	err  error
	used bool
}

func (s *sent) RoundTrip(req *http.Request) (*http.Response, error) {
	if s.used {
		return s.RoundTripper.RoundTrip(req)
	}
	s.used = true
	return s.resp, s.err
}
