package informertest

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/internal/memnet"
	"github.com/informerkit/informerkit/internal/panics"
)

// Server is an API server within the process. Create one with [NewServer] or
// [Start] and close it when done.
//
// All methods may be called from any goroutine.
type Server struct {
	opts   Options
	store  *store
	params parameters
	log    requestLog
	faults faults

	sharded atomic.Bool // the feature gate ShardedListAndWatch

	http    *http.Server
	client  *http.Transport // of an in-memory server only
	address string

	pauseMu  sync.Mutex // guards the two
	listener net.Listener
	paused   bool

	connMu sync.Mutex
	conns  map[net.Conn]struct{}

	// closing is closed first of all by Close and ends the watches; the group
	// counts everything that runs for the server.
	closing   chan struct{}
	closeOnce sync.Once
	running   sync.WaitGroup

	panicMu   sync.Mutex
	recovered []string // panics that the test has not expected so far
	unwatch   func()
}

// NewServer starts a server that has the built-in resources, those of the
// options and the namespaces of a new cluster (default, kube-system,
// kube-public, kube-node-lease). It fails if no loopback port can be had or if
// a resource is described incompletely.
func NewServer(opts Options) (*Server, error) {
	s := &Server{opts: opts.withDefaults(), params: newParameters(), closing: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	s.store = newStore(s.opts)
	s.sharded.Store(opts.ShardedListAndWatch)
	for _, b := range builtins {
		res, err := b.resource().complete()
		if err != nil {
			return nil, err
		}
		s.store.register(res)
	}
	for _, res := range opts.Resources {
		if err := s.Register(res); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		if err := s.store.createNamespace(name); err != nil {
			return nil, err
		}
	}
	if err := s.listen(); err != nil {
		return nil, err
	}
	s.http = &http.Server{Handler: s, ConnState: s.connState, ErrorLog: log.New(io.Discard, "", 0)}
	s.address = s.listener.Addr().String()
	s.serve(s.listener)
	s.unwatch = panics.Watch(s.Config(), func(value any, stack []byte) {
		s.panicMu.Lock()
		defer s.panicMu.Unlock()
		s.recovered = append(s.recovered, fmt.Sprintf("%v\n%s", value, stack))
	})
	return s, nil
}

// serve accepts connections until the listener is closed.
func (s *Server) serve(l net.Listener) {
	s.running.Go(func() { _ = s.http.Serve(l) })
}

// TB is the part of testing.TB that [Start] needs.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// Start is [NewServer] for a test: it fails the test if the server cannot be
// started, and closes the server when the test ends. A panic of a reconcile function that package controller has
// recovered fails the test too, unless it is expected: see [Server.Panics].
//
// In a synctest bubble call it with the *testing.T of the bubble.
func Start(tb TB, opts Options) *Server {
	tb.Helper()
	s, err := NewServer(opts)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	tb.Cleanup(func() {
		s.Close()
		if unexpected := s.Panics(); len(unexpected) > 0 {
			tb.Fatalf("a reconcile function has panicked %d times, the first time with: %s", len(unexpected), unexpected[0])
		}
	})
	return s
}

// Panics returns the panics, each with its stack, that package controller has recovered from reconcile functions that
// ran against the server. The test expects those: [Start] fails it for any other.
func (s *Server) Panics() []string {
	s.panicMu.Lock()
	defer s.panicMu.Unlock()
	all := s.recovered
	s.recovered = nil
	return all
}

// Register adds a resource, or replaces the description of one that exists and
// keeps its objects.
func (s *Server) Register(res Resource) error {
	res, err := res.complete()
	if err != nil {
		return err
	}
	s.store.register(res)
	return nil
}

// Config returns a new configuration for clients of the server, which the caller may
// change. Clients made from it are not rate limited. Without [Options].Scheme its
// ContentType is JSON, so that clients that would write built-in kinds in protobuf do not.
func (s *Server) Config() *rest.Config {
	cfg := &rest.Config{Host: s.URL(), QPS: -1}
	if s.opts.Scheme == nil {
		cfg.ContentType = mediaJSON
	}
	if s.client != nil {
		cfg.Transport = s.client
	}
	return cfg
}

// URL returns the base URL, such as "http://127.0.0.1:34567". Only clients made from
// Config reach that of an in-memory server.
func (s *Server) URL() string { return "http://" + s.address }

// Close ends all watches, breaks all connections, and returns when nothing of
// the server runs any more. It may be called more than once.
func (s *Server) Close() {
	s.closeOnce.Do(func() {
		close(s.closing)
		s.unwatch()
		_ = s.http.Close() // closes sockets; an error changes nothing
		if s.client != nil {
			s.client.CloseIdleConnections()
		}
	})
	s.running.Wait()
}

// connState knows the connections and counts the goroutines that net/http runs
// for them.
func (s *Server) connState(conn net.Conn, state http.ConnState) {
	s.connMu.Lock()
	defer s.connMu.Unlock()
	switch state {
	case http.StateNew:
		s.conns[conn] = struct{}{}
		s.running.Add(1)
	case http.StateClosed, http.StateHijacked:
		delete(s.conns, conn)
		s.running.Done()
	}
}

// listen opens the listener that the options ask for.
func (s *Server) listen() error {
	if !s.opts.InMemory {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		s.listener = l
		return err
	}
	l := memnet.Listen("informertest.invalid")
	s.listener, s.client = l, l.Transport()
	return nil
}
