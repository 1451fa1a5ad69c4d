package exampleapp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/informerkit/informerkit/informer/inspect"
)

// inspection is the page that shows what the controller is doing, at an address
// that the user gives. Nobody has to log in to see it.
type inspection struct {
	address string
	page    *inspect.Handler
}

// Inspect shows the parts of a controller to those who asked for it with the flag
// -inspect, for as long as the example runs.
func (e *Env) Inspect(parts ...inspect.Source) error {
	if e.inspection == nil {
		return nil
	}
	_, err := e.inspection.page.Add(parts...)
	return err
}

// url is where the page is; empty if nobody asked for it.
func (e *Env) url() string {
	if e.inspection == nil {
		return ""
	}
	return "http://" + e.inspection.address + "/debug/informers"
}

// serveInspection serves the page until stop is called, which is after the
// controller has ended: what it still does then can be seen, too.
func (e *Env) serveInspection() (stop func(), err error) {
	if e.inspection == nil {
		return func() {}, nil
	}
	if e.inspection.page, err = inspect.New(inspect.Options{}); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", e.inspection.address)
	if err != nil {
		return nil, fmt.Errorf("-inspect %s: %w", e.inspection.address, err)
	}
	e.inspection.address = listener.Addr().String() // with the port
	mux := http.NewServeMux()
	mux.Handle("/debug/informers", e.inspection.page)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			e.Log.Error("informers and queues are not shown any more", "error", err)
		}
	}()
	if !e.Embedded() { // else the story says so
		e.Log.Info("informers and queues are shown", "url", e.url())
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close() // a reader that does not come to an end
		}
		<-ended
	}, nil
}
