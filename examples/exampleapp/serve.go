package exampleapp

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
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
// people listens on a loopback address, and the one for the kubelet says nothing but yes or no.
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

// Show is Inspect, and lets /readyz at the address of -health succeed while ready is
// synced and up to date; before the call it fails. Of several calls the last one counts for that.
func (e *Env) Show(ready informer.Readiness, parts ...inspect.Source) error {
	handler, err := informer.ReadyHandler(ready)
	if err != nil {
		return err
	}
	e.pages.ready.Store(&handler)
	return e.Inspect(parts...)
}

// InspectURL is where the page is; empty if it is not served.
func (e *Env) InspectURL() string {
	if e.pages.inspectAt == "" {
		return ""
	}
	return "http://" + e.pages.inspectAt + "/debug/informers"
}

// serve serves the pages until stop is called, which is after the controller has
// ended: what it still does then can be seen, too.
func (e *Env) serve() (stop func(), err error) {
	p := &e.pages
	mux := http.NewServeMux()
	if p.inspectAt != "" {
		if host, _, err := net.SplitHostPort(p.inspectAt); err == nil && host != "localhost" {
			if addr, err := netip.ParseAddr(host); err != nil || !addr.IsLoopback() {
				return nil, fmt.Errorf("-inspect %s: the page has no authentication; give a loopback address, such as %s (from a pod, kubectl port-forward leads there)", p.inspectAt, inspectAt)
			}
		}
		e.History = history.New(history.Options{Entries: historyEntries})
		if p.inspector, err = inspect.New(inspect.Options{History: e.History}); err != nil {
			return nil, err
		}
		mux.Handle("/debug/informers", p.inspector)
	}
	stopPage, err := e.listen("-inspect", &p.inspectAt, p.anyPort, mux)
	if err != nil {
		return nil, err
	}
	mux = http.NewServeMux()
	mux.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {}) // it answers: it is alive
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, r *http.Request) {
		if ready := p.ready.Load(); ready != nil {
			(*ready).ServeHTTP(w, r)
			return
		}
		http.Error(w, "the controller has not started", http.StatusServiceUnavailable)
	})
	stopHealth, err := e.listen("-health", &p.healthAt, false, mux)
	if err != nil {
		stopPage()
		return nil, err
	}
	return func() { stopPage(); stopHealth() }, nil
}

// listen serves mux at an address, if it is not empty, and completes the address with its port.
func (e *Env) listen(flag string, address *string, anyPort bool, mux *http.ServeMux) (stop func(), err error) {
	if *address == "" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", *address)
	if err != nil && anyPort { // another example runs; which port it is then is printed
		listener, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", flag, *address, err)
	}
	*address = listener.Addr().String()
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			e.Log.Error("no longer serving HTTP", "flag", flag, "error", err)
		}
	})
	return func() {
		_ = server.Close()
		serving.Wait()
	}, nil
}
