package exampleapp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/inspect"
	"github.com/informerkit/informerkit/workqueue/history"
)

// inspectAt is where the page for people is, if that port is free and the user does not
// say otherwise. The port is that of net/http/pprof's documentation.
const inspectAt = "127.0.0.1:6060"

// historyEntries is how much of what happened to keys the page can tell: about a megabyte.
// A reconcile that succeeds takes some five entries.
const historyEntries = 8192

// pages are what an example serves over HTTP. They are not protected: the one for
// people listens on a loopback address unless the user gives another, and the one for
// the kubelet says nothing but yes or no.
type pages struct {
	inspectAt, healthAt string // empty: not served
	// anyPort permits another port if that of inspectAt is taken: nobody asked for it.
	anyPort   bool
	inspector *inspect.Handler

	ready atomic.Pointer[http.Handler]
}

// Inspect shows the parts of a controller at the address of -inspect for as long as the
// example runs. With -once it does so only if that flag is given.
func (e *Env) Inspect(parts ...inspect.Source) error {
	if e.pages.inspector == nil {
		return nil
	}
	_, err := e.pages.inspector.Add(parts...)
	return err
}

// ReadyWhen lets /readyz at the address of -health succeed while all of these are
// synced and up to date; before the first call it fails. It is called once.
func (e *Env) ReadyWhen(all ...informer.Readiness) error {
	handler, err := informer.ReadyHandler(all...)
	if err != nil {
		return err
	}
	e.pages.ready.Store(&handler)
	return nil
}

// InspectURL is where the page is; empty if it is not served.
func (e *Env) InspectURL() string {
	if e.pages.inspectAt == "" {
		return ""
	}
	at := e.pages.inspectAt
	if host, port, err := net.SplitHostPort(at); err == nil {
		// On all interfaces: there is one that the reader of this output can use.
		if addr, err := netip.ParseAddr(host); err == nil && addr.IsUnspecified() {
			at = net.JoinHostPort("127.0.0.1", port)
		}
	}
	return "http://" + at + "/debug/informers"
}

// serve serves the pages until stop is called, which is after the controller has
// ended: what it still does then can be seen, too.
func (e *Env) serve() (stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, s := range stops {
			s()
		}
	}
	mux := http.NewServeMux()
	if e.pages.inspectAt != "" {
		e.History = history.New(history.Options{Entries: historyEntries})
		if e.pages.inspector, err = inspect.New(inspect.Options{Hosts: hosts(e.pages.inspectAt), History: e.History}); err != nil {
			return nil, err
		}
		mux.Handle("/debug/informers", e.pages.inspector)
		s, err := e.listen("-inspect", &e.pages.inspectAt, mux)
		if err != nil && e.pages.anyPort {
			// Another example runs. Which port it is then is printed.
			e.pages.inspectAt = "127.0.0.1:0"
			s, err = e.listen("-inspect", &e.pages.inspectAt, mux)
		}
		if err != nil {
			return nil, err
		}
		stops = append(stops, s)
		e.warnOfOthers()
		if !e.Embedded() { // else the demo says so
			e.Log.Info("informers and queues are shown", "url", e.InspectURL())
		}
	}
	if e.pages.healthAt != "" {
		mux = http.NewServeMux()
		mux.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {}) // it answers: it is alive
		mux.HandleFunc("/readyz", e.readyz)
		s, err := e.listen("-health", &e.pages.healthAt, mux)
		if err != nil {
			stop()
			return nil, err
		}
		stops = append(stops, s)
	}
	return stop, nil
}

// warnOfOthers warns of a page that other machines can reach.
func (e *Env) warnOfOthers() {
	if host, _, _ := net.SplitHostPort(e.pages.inspectAt); !isLoopback(host) {
		e.Log.Warn("other machines can reach the page of informers and queues, which has no authentication; give -inspect a loopback address, such as "+inspectAt, "address", e.pages.inspectAt)
	}
}

// hosts are the names under which a page at this address may be asked for, besides those
// of the loopback interface: the one that the user gave or, of a page on all interfaces,
// the addresses and the name of this machine. A site elsewhere is none of them.
func hosts(address string) []string {
	host, _, err := net.SplitHostPort(address)
	if err != nil || isLoopback(host) {
		return nil // listen says what is wrong
	}
	if addr, err := netip.ParseAddr(host); host != "" && (err != nil || !addr.IsUnspecified()) {
		return []string{host}
	}
	var all []string
	if name, err := os.Hostname(); err == nil && name != "" {
		all = append(all, name)
	}
	addresses, _ := net.InterfaceAddrs() // without them, the name is left
	for _, a := range addresses {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			all = append(all, prefix.Addr().String())
		}
	}
	return all
}

// isLoopback reports whether only this machine can reach an address.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

func (e *Env) readyz(w http.ResponseWriter, r *http.Request) {
	handler := e.pages.ready.Load()
	if handler == nil {
		http.Error(w, "the controller has not started", http.StatusServiceUnavailable)
		return
	}
	(*handler).ServeHTTP(w, r)
}

// listen serves mux at an address and completes the address with its port.
func (e *Env) listen(flag string, address *string, mux *http.ServeMux) (stop func(), err error) {
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", flag, *address, err)
	}
	*address = listener.Addr().String()
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			e.Log.Error("no longer serving HTTP", "flag", flag, "error", err)
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close() // a client that does not read
		}
		<-ended
	}, nil
}
