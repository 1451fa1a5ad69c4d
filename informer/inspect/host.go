package inspect

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// permits reports whether a request with this Host header is answered.
//
// A page on another site can have its own name resolve to 127.0.0.1, and then read
// what a browser gets from there: the browser takes it for the same site. The Host
// header has the name.
//
// The attack is called DNS rebinding. net/http/pprof and other debugging pages are open
// to it; kubectl proxy checks the host for the same reason (--accept-hosts).
func (h *Handler) permits(host string) bool {
	// The port is of no importance, so a Host without one is as good.
	name := host
	if n, _, err := net.SplitHostPort(host); err == nil {
		name = n
	}
	// Brackets of an IPv6 address, and the dot that ends a complete DNS name, are not
	// part of the name.
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	return isLoopback(name) || slices.ContainsFunc(h.opts.Hosts, func(permitted string) bool {
		return permitted == "*" || strings.EqualFold(strings.Trim(permitted, "[]"), name)
	})
}

// isLoopback reports whether name is this machine, as seen from itself. Names below
// localhost are to resolve to the loopback interface (RFC 6761, section 6.3). Unmap,
// because a dual-stack listener reports 127.0.0.1 as ::ffff:127.0.0.1.
func isLoopback(name string) bool {
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}

// exposed reports a page that others than this machine can reach, unless the program
// says with Options.Hosts that it is meant. It is a note and not an error: in a pod,
// listening on all interfaces may be what was meant.
func (h *Handler) exposed(r *http.Request) (problem, bool) {
	if len(h.opts.Hosts) > 0 {
		return problem{}, false
	}
	at := ""
	// The address of this connection: certain, but a server on all interfaces shows a
	// loopback address to a client on this machine.
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		if host, _, err := net.SplitHostPort(local.String()); err == nil && !isLoopback(host) {
			at = local.String()
		}
	}
	// So the address that the server was configured with is looked at, too. It is empty
	// if the program made the listener itself.
	if server, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok {
		if host, _, err := net.SplitHostPort(server.Addr); err == nil && isUnspecified(host) {
			at = server.Addr + ", on all interfaces"
		}
	}
	// Neither is known in a test that calls ServeHTTP, nor behind another server than
	// net/http.
	if at == "" {
		return problem{}, false
	}
	return problem{
		Severity: severityNote, Kind: "exposed", Part: "this page",
		Sentence: fmt.Sprintf("This page listens at %s, and has no authentication.", at),
		Remedy:   "Listen on 127.0.0.1, and use kubectl port-forward for a pod; or name the hosts in inspect.Options.Hosts.",
	}, true
}

// isUnspecified reports whether a host stands for all addresses of the machine.
func isUnspecified(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "" || err == nil && addr.IsUnspecified()
}
