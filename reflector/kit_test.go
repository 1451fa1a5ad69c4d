package reflector_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/url"
	"sort"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/reflector"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// request is what a scripted server has been asked.
type request struct {
	at    time.Duration // since the server started
	verb  string        // list, watchlist or watch
	query url.Values
	path  string
	head  http.Header
}

func (r request) rv() string { return r.query.Get("resourceVersion") }

// answer is how a scripted server answers one request; n counts the requests of
// its verb, from 1.
type answer func(w http.ResponseWriter, r *http.Request, n int)

// scripted is an HTTP server that answers by script, over connections in
// memory, so that it can live in a synctest bubble.
type scripted struct {
	list, watchList, watch answer

	start    time.Time
	mu       sync.Mutex
	requests []request
	refuse   int // dials to refuse
	conns    chan net.Conn
	done     chan struct{}
	dials    []time.Duration
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	verb, do := "list", s.list
	if q.Get("watch") == "true" {
		if verb, do = "watch", s.watch; q.Get("sendInitialEvents") == "true" {
			verb, do = "watchlist", s.watchList
		}
	}
	s.mu.Lock()
	s.requests = append(s.requests, request{at: time.Since(s.start), verb: verb, query: q, path: r.URL.Path, head: r.Header})
	n := 0
	for _, old := range s.requests {
		if old.verb == verb {
			n++
		}
	}
	s.mu.Unlock()
	if do == nil {
		status(w, http.StatusTeapot, "Teapot", "no script for "+verb)
		return
	}
	do(w, r, n)
}

// asked returns the requests so far in the form "list 0 limit=500".
func (s *scripted) asked() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]request(nil), s.requests...)
}

func (s *scripted) verbs() string {
	var out []string
	for _, r := range s.asked() {
		out = append(out, r.verb+"@"+r.rv())
	}
	return strings.Join(out, " ")
}

func (s *scripted) refuseDials(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = n
}

// Accept, Close and Addr make it a net.Listener.
func (s *scripted) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.done:
		return nil, net.ErrClosed
	}
}
func (s *scripted) Close() error   { return nil }
func (s *scripted) Addr() net.Addr { return &net.TCPAddr{} }

func (s *scripted) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	s.mu.Lock()
	s.dials = append(s.dials, time.Since(s.start))
	if s.refuse > 0 {
		s.refuse--
		s.mu.Unlock()
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	s.mu.Unlock()
	client, server := net.Pipe()
	select {
	case s.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.done:
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
}

// config starts the server and returns how to reach it.
func (s *scripted) config(t testing.TB) *rest.Config {
	s.start, s.conns, s.done = time.Now(), make(chan net.Conn), make(chan struct{})
	server := &http.Server{Handler: s}
	stopped := make(chan struct{})
	go func() { defer close(stopped); _ = server.Serve(s) }()
	transport := &http.Transport{DialContext: s.dial}
	t.Cleanup(func() {
		close(s.done)
		_ = server.Close()
		transport.CloseIdleConnections()
		<-stopped
	})
	return &rest.Config{Host: "http://apiserver.test", Transport: transport}
}

func (s *scripted) source(t testing.TB) reflector.ListerWatcher[*corev1.ConfigMap] {
	lw, err := reflector.NewResource[*corev1.ConfigMap](s.config(t), configMaps, reflector.ResourceOptions{})
	require.NoError(t, err)
	return lw
}

// status answers with an error as API servers do.
func status(w http.ResponseWriter, code int, reason metav1.StatusReason, message string, causes ...metav1.StatusCause) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(statusJSON(code, reason, message, causes...))
}

func statusJSON(code int, reason metav1.StatusReason, message string, causes ...metav1.StatusCause) []byte {
	s := metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Code: int32(code), Reason: reason, Message: message}
	if len(causes) > 0 {
		s.Details = &metav1.StatusDetails{Causes: causes}
	}
	b, _ := json.Marshal(s)
	return b
}

func fails(code int, reason metav1.StatusReason, causes ...metav1.StatusCause) answer {
	return func(w http.ResponseWriter, _ *http.Request, _ int) {
		status(w, code, reason, string(reason), causes...)
	}
}

// cm is the JSON of a ConfigMap.
func cm(name, rv string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"ns","uid":"uid-%s","resourceVersion":%q},"data":{"rv":%q}}`, name, name, rv, rv)
}

// lists answers with a list.
func lists(rv string, items ...string) answer {
	return func(w http.ResponseWriter, _ *http.Request, _ int) { writeList(w, rv, "", items...) }
}

func writeList(w http.ResponseWriter, rv, cont string, items ...string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":%q,"continue":%q},"items":[%s]}`+"\n", rv, cont, strings.Join(items, ","))
}

// send begins or continues the answer to a watch.
func send(w http.ResponseWriter, typ, object string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"type":%q,"object":%s}`+"\n", typ, object)
	w.(http.Flusher).Flush()
}

func bookmark(rv string, end bool) string {
	ann := ""
	if end {
		ann = `,"annotations":{"k8s.io/initial-events-end":"true"}`
	}
	return fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":%q%s}}`, rv, ann)
}

// begin sends the head of a watch's answer.
func begin(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
}

// hang keeps an answer open until the client goes away.
func hang(r *http.Request) { <-r.Context().Done() }

// linger keeps an answer open for d, and reports whether the client still waits.
func linger(r *http.Request, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-r.Context().Done():
		return false
	}
}

// quiet answers a watch that brings nothing.
func quiet(w http.ResponseWriter, r *http.Request, _ int) {
	begin(w)
	hang(r)
}

// inTurn answers the n-th request by the n-th answer, and then by the last.
func inTurn(as ...answer) answer {
	return func(w http.ResponseWriter, r *http.Request, n int) { as[min(n, len(as))-1](w, r, n) }
}

// cut breaks the connection.
func cut() { panic(http.ErrAbortHandler) }

// recorder is a sink that keeps the state and a log.
type recorder struct {
	mu    sync.Mutex
	state map[types.NamespacedName]*corev1.ConfigMap
	rv    string
	log   []string
	fail  func(op string) error
	block chan struct{} // if not nil, every call waits for it or its context
}

func newRecorder() *recorder {
	return &recorder{state: map[types.NamespacedName]*corev1.ConfigMap{}}
}

func (s *recorder) do(ctx context.Context, op string, f func()) error {
	if s.block != nil {
		select {
		case <-s.block:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail(op); err != nil {
			return err
		}
	}
	s.log = append(s.log, op)
	f()
	return nil
}

func keyOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

func (s *recorder) Add(ctx context.Context, o *corev1.ConfigMap) error {
	return s.do(ctx, "add "+o.Name+"@"+o.ResourceVersion, func() { s.state[keyOf(o)] = o })
}

func (s *recorder) Update(ctx context.Context, o *corev1.ConfigMap) error {
	return s.do(ctx, "update "+o.Name+"@"+o.ResourceVersion, func() { s.state[keyOf(o)] = o })
}

func (s *recorder) Delete(ctx context.Context, o *corev1.ConfigMap) error {
	return s.do(ctx, "delete "+o.Name+"@"+o.ResourceVersion, func() { delete(s.state, keyOf(o)) })
}

func (s *recorder) Bookmark(ctx context.Context, rv string) error {
	return s.do(ctx, "bookmark @"+rv, func() { s.rv = rv })
}

func (s *recorder) Replace(ctx context.Context, objs []*corev1.ConfigMap, rv string) error {
	var names []string
	for _, o := range objs {
		names = append(names, o.Name+"@"+o.ResourceVersion)
	}
	return s.do(ctx, fmt.Sprintf("replace %v @%s", names, rv), func() {
		clear(s.state)
		for _, o := range objs {
			s.state[keyOf(o)] = o
		}
		s.rv = rv
	})
}

// calls returns the log so far.
func (s *recorder) calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.log...)
}

// objects returns a copy of the state.
func (s *recorder) objects() map[types.NamespacedName]*corev1.ConfigMap {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.state)
}

// holds returns the objects as name@rv, sorted.
func (s *recorder) holds() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for k, o := range s.state {
		out = append(out, k.Name+"@"+o.ResourceVersion)
	}
	sort.Strings(out)
	return strings.Join(out, " ")
}

// knowing is a recorder that implements reflector.Known.
type knowing struct{ *recorder }

func (s knowing) Known(key types.NamespacedName) (*corev1.ConfigMap, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.state[key]
	return o, ok
}

// running is a reflector in its own goroutine.
type running struct {
	*reflector.Reflector[*corev1.ConfigMap]
	cancel context.CancelFunc
	done   chan error
}

// run starts a reflector that ends with the test at the latest.
func run(t testing.TB, lw reflector.ListerWatcher[*corev1.ConfigMap], sink reflector.Sink[*corev1.ConfigMap], opts reflector.Options) *running {
	r, err := reflector.New(lw, sink, opts)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	out := &running{Reflector: r, cancel: cancel, done: make(chan error, 1)}
	finished := make(chan struct{})
	go func() { defer close(finished); out.done <- r.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-finished })
	return out
}

// bubble runs a test with a clock of its own.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Parallel()
	synctest.Test(t, f)
}

// after lets the time of the bubble pass.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// listMode reads with LIST.
var listMode = reflector.Options{Sync: reflector.SyncList}

var errBroken = errors.New("broken")

type (
	httpWriter  = http.ResponseWriter
	httpRequest = http.Request
)

type (
	flusher   = http.Flusher
	configMap = corev1.ConfigMap
)

// quietLog is for servers whose errors are part of the test.
func quietLog() *log.Logger { return log.New(io.Discard, "", 0) }
