// Package httpclient makes the HTTP clients of the library.
package httpclient

import (
	"net/http"

	"k8s.io/client-go/rest"
)

// For returns a client for the API server that cfg describes. It shares connections with other
// clients of the same config, as that of [rest.HTTPClientFor] does, and sends the
// credentials of cfg to that server only.
//
// The credentials are added by the transport, to each request. So the protection of net/http,
// which takes a header away when a redirect leads to another host, does not help here.
func For(cfg *rest.Config) (*http.Client, error) {
	shared, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	// A copy: it may be http.DefaultClient.
	client := *shared
	client.CheckRedirect = sameServer
	return &client, nil
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
