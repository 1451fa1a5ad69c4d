package controller

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/informerkit/informerkit/informer"
)

// serverStop is how long requests in progress may take at the end.
const serverStop = time.Second

// serve serves what Options.Health and Options.Serve say, until stop is called.
func (c *Controller) serve() (stop func(), err error) {
	muxes := map[string]*http.ServeMux{}
	for address, handler := range c.opts.Serve {
		if handler == nil {
			return nil, fmt.Errorf("Options.Serve has a nil handler for %q", address)
		}
		muxes[address] = http.NewServeMux()
		muxes[address].Handle("/", handler)
	}
	if address := c.opts.Health; address != "" {
		if muxes[address] == nil {
			muxes[address] = http.NewServeMux()
		}
		ready, err := informer.ReadyHandler(c)
		if err != nil {
			return nil, err
		}
		muxes[address].HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
		muxes[address].Handle("/readyz", ready)
	}
	var stops []func()
	stop = func() {
		for _, s := range stops {
			s()
		}
	}
	for address, mux := range muxes {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			stop()
			return nil, fmt.Errorf("cannot serve HTTP: %w", err)
		}
		stops = append(stops, c.serveOn(listener, mux))
	}
	return stop, nil
}

// serveOn serves on a listener.
func (c *Controller) serveOn(listener net.Listener, handler http.Handler) (stop func()) {
	c.opts.Logger.Info("listening for HTTP requests now", "address", listener.Addr())
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			c.opts.Logger.Error("no longer listening for HTTP requests", "address", listener.Addr(), "error", err)
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), serverStop)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close() // a client that does not read
		}
		<-ended
	}
}
