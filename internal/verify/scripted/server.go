package scripted

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/internal/memnet"
)

// Answer is the answer to one request. n counts the requests of the same verb,
// from 1.
type Answer func(w http.ResponseWriter, r *http.Request, n int)

// Server answers by script. Set the answers before its first request; a verb
// without one is answered with status 418. The zero value is ready to use, as a
// handler on a port of the machine too.
type Server struct {
	List      Answer // of requests that are not watches, whatever their path
	WatchList Answer // of watches that ask for initial events
	Watch     Answer // of all other watches
	Refuse    int    // how many dials to refuse at first; memnet.Always for all

	started  time.Time        // by Config, like the next
	listener *memnet.Listener // nil before

	mu       sync.Mutex
	requests []Request
}

// Request is one request that a server has received.
type Request struct {
	At     time.Duration // since the server started
	Verb   string        // list, watchlist or watch
	Path   string
	Query  url.Values
	Header http.Header
}

// ResourceVersion is the version that the client asked for.
func (r Request) ResourceVersion() string { return r.Query.Get("resourceVersion") }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	verb, answer := "list", s.List
	if watch := q.Get("watch"); watch == "true" || watch == "1" {
		verb, answer = "watch", s.Watch
		if q.Get("sendInitialEvents") == "true" {
			verb, answer = "watchlist", s.WatchList
		}
	}
	n := s.record(Request{Verb: verb, Path: r.URL.Path, Query: q, Header: r.Header})
	if answer == nil {
		WriteStatus(w, http.StatusTeapot, "Teapot", "no script for "+verb)
		return
	}
	answer(w, r, n)
}

// record adds a request, and returns how many of its verb there are now.
func (s *Server) record(r Request) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.At = time.Since(s.started)
	s.requests = append(s.requests, r)
	for _, old := range s.requests {
		if old.Verb == r.Verb {
			n++
		}
	}
	return n
}

// Requests returns the requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Verbs returns the requests so far with their versions, such as
// "list@0 watch@10 watch@12".
func (s *Server) Verbs() string {
	var out []string
	for _, r := range s.Requests() {
		out = append(out, r.Verb+"@"+r.ResourceVersion())
	}
	return strings.Join(out, " ")
}

// Config starts the server on a network in memory, and returns how to reach it. It
// is called once, in the synctest bubble of the test if it has one, and the server
// stops when the test ends.
func (s *Server) Config(t testing.TB) *rest.Config {
	t.Helper()
	if s.listener != nil {
		t.Fatal("scripted: Config starts the server, so call it once")
	}
	l := memnet.Listen("apiserver.test")
	l.Refuse(s.Refuse)
	s.started, s.listener = time.Now(), l
	server := &http.Server{Handler: s}
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(l) })
	transport := l.Transport()
	t.Cleanup(func() {
		_ = server.Close()
		transport.CloseIdleConnections()
		running.Wait()
	})
	return &rest.Config{Host: "http://" + l.Addr().String(), Transport: transport}
}

// Started returns when Config was called.
func (s *Server) Started() time.Time { return s.started }

// Dials returns how many connections clients have opened, or tried to.
func (s *Server) Dials() int { return s.listener.Dials() }

// RefuseDials refuses the next n connections of a server that has been started; see
// Refuse for the first ones.
func (s *Server) RefuseDials(n int) { s.listener.Refuse(n) }
