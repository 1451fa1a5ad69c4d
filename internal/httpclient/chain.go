package httpclient

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// chain is the transports that a request passes through, the credentials and the connections
// included.
type chain struct {
	http.RoundTripper
	names [3]string // of what may block, by stage
}

// stage is how far a request has come in the chain.
type stage = int32

const (
	atCredentials stage = iota
	atWrappers
	atTransport
)

// Share returns a copy of cfg whose transport is shared by all clients that are made from it.
// client-go shares connections between transports of equal configs, unless they have Dial or
// Proxy, and never shares what WrapTransport returns.
func Share(cfg *rest.Config) (*rest.Config, error) {
	withoutAgent := rest.CopyConfig(cfg)
	withoutAgent.UserAgent = "" // each client adds its own
	c, err := chainFor(withoutAgent)
	if err != nil {
		return nil, err
	}
	forURL := rest.CopyConfig(cfg)
	forURL.GroupVersion = &schema.GroupVersion{Version: "v1"} // only a default
	// The scheme depends on the TLS options, which belong to the transport from here on.
	base, _, err := rest.DefaultServerUrlFor(forURL)
	if err != nil {
		return nil, err
	}
	shared := rest.CopyConfig(cfg)
	shared.Host, shared.Transport = base.String(), c
	shared.Username, shared.Password, shared.BearerToken, shared.BearerTokenFile = "", "", "", ""
	shared.Impersonate, shared.TLSClientConfig = rest.ImpersonationConfig{}, rest.TLSClientConfig{}
	shared.AuthProvider, shared.AuthConfigPersister, shared.ExecProvider = nil, nil, nil
	shared.WrapTransport, shared.Dial, shared.Proxy = nil, nil, nil
	return shared, nil
}

// chainFor returns the chain of a config, with a gate below all that wraps the connection.
func chainFor(cfg *rest.Config) (*chain, error) {
	cfg = rest.CopyConfig(cfg)
	inner, _ := cfg.Transport.(*chain)
	if g, ok := cfg.Transport.(*guard); ok {
		inner = g.chain
	}
	c := &chain{}
	if inner != nil { // it has a gate
		cfg.Transport, c.names = inner, inner.names
	} else {
		c.names = namesFor(cfg)
		wrap := cfg.WrapTransport
		cfg.WrapTransport = func(rt http.RoundTripper) http.RoundTripper {
			rt = &gate{rt}
			if wrap != nil {
				rt = wrap(rt)
				c.names[atWrappers] = fmt.Sprintf("the transport %T of WrapTransport", rt)
			}
			return &mark{rt}
		}
	}
	var err error
	if c.RoundTripper, err = rest.TransportFor(cfg); err != nil {
		return nil, err
	}
	if same, ok := c.RoundTripper.(*chain); ok {
		return same, nil
	}
	return c, nil
}

// namesFor says what each stage consists of.
func namesFor(cfg *rest.Config) [3]string {
	names := [...]string{"a wrapped transport", "a wrapped transport", "the connection"}
	switch {
	case cfg.ExecProvider != nil:
		names[atCredentials] = fmt.Sprintf("the credential plugin %q", cfg.ExecProvider.Command)
	case cfg.AuthProvider != nil:
		names[atCredentials] = fmt.Sprintf("the auth provider %q", cfg.AuthProvider.Name)
	case cfg.BearerTokenFile != "":
		names[atCredentials] = fmt.Sprintf("reading the token file %q", cfg.BearerTokenFile)
	}
	switch {
	case cfg.Transport != nil:
		names[atTransport] = fmt.Sprintf("the transport %T", cfg.Transport)
	case cfg.Dial != nil:
		names[atTransport] = "the connection, which the Dial of the configuration made,"
	}
	return names
}

// mark notes that a request has its credentials.
type mark struct{ http.RoundTripper }

func (m *mark) RoundTrip(req *http.Request) (*http.Response, error) {
	if f := flightOf(req); f != nil {
		f.reach(atWrappers)
	}
	return m.RoundTripper.RoundTrip(req)
}

// WrappedRoundTripper implements RoundTripperWrapper of apimachinery.
func (m *mark) WrappedRoundTripper() http.RoundTripper { return m.RoundTripper }

// gate is next to the connection. A transport above it may have blocked for any time, and may
// have replaced the context: what the caller has given up must not be sent.
type gate struct{ http.RoundTripper }

func (g *gate) RoundTrip(req *http.Request) (*http.Response, error) {
	f := flightOf(req)
	if f == nil {
		return g.RoundTripper.RoundTrip(req)
	}
	f.reach(atTransport)
	ctx := req.Context()
	if ctx.Done() != f.Done() {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		stop := context.AfterFunc(f, func() { cancel(context.Cause(f)) })
		f.atEnd(func() { stop(); cancel(context.Canceled) })
	}
	if wrapped, ok := req.Body.(*sending); ok {
		req = req.WithContext(ctx)
		req.Body = wrapped.ReadCloser // net/http sends the headers with a body that it knows to be in memory
	} else if ctx != req.Context() {
		req = req.WithContext(ctx)
	}
	if f.Err() != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, context.Cause(f)
	}
	return g.RoundTripper.RoundTrip(req)
}

// WrappedRoundTripper implements RoundTripperWrapper of apimachinery.
func (g *gate) WrappedRoundTripper() http.RoundTripper { return g.RoundTripper }

// WrappedRoundTripper implements RoundTripperWrapper of apimachinery.
func (c *chain) WrappedRoundTripper() http.RoundTripper { return c.RoundTripper }
