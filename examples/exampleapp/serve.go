package exampleapp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/inspect"
)

// pages are what an example serves over HTTP, at addresses that the user gives.
// They are not protected: the one for people should listen on a loopback address,
// and the one for the kubelet says nothing but yes or no.
type pages struct {
	inspectAt, healthAt string // empty: not served
	inspector           *inspect.Handler

	ready atomic.Pointer[http.Handler]
}

// Inspect shows the parts of a controller at the address of -inspect, if that
// flag is given, for as long as the example runs.
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

// url is where the page is; empty if it is not served.
func (e *Env) url() string {
	if e.pages.inspectAt == "" {
		return ""
	}
	return "http://" + e.pages.inspectAt + "/debug/informers"
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
		if e.pages.inspector, err = inspect.New(inspect.Options{}); err != nil {
			return nil, err
		}
		mux.Handle("/debug/informers", e.pages.inspector)
		s, err := e.listen("-inspect", &e.pages.inspectAt, mux)
		if err != nil {
			return nil, err
		}
		stops = append(stops, s)
		if !e.Embedded() { // else the demo says so
			e.Log.Info("informers and queues are shown", "url", e.url())
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
