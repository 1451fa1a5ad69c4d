package httpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// grace is how long a transport may take to return after the context is done: long for a
// transport that watches the context, short for a caller.
const grace = 250 * time.Millisecond

// StuckError reports a transport that did not return although the context of the request is done.
type StuckError struct {
	text  string
	cause error // why the context is done; nil if the request was refused
}

// Error names what blocks.
func (e *StuckError) Error() string { return e.text }

// Unwrap returns why the context is done.
func (e *StuckError) Unwrap() error { return e.cause }

// Timeout reports that the error is a timeout, like those of package net.
func (e *StuckError) Timeout() bool { return true }

var errExited = errors.New("the transport ended its goroutine (runtime.Goexit)")

// guard is the transport of a client. Its requests return when their context is done.
type guard struct {
	chain *chain
	limit int32
	stuck atomic.Int32           // requests that were left behind
	where atomic.Pointer[string] // the last of them is

	// above holds a token for each request that has not reached the gate, so that requests
	// that start together cannot all get stuck there. Where a wrapper answers without the gate, the
	// time above it is the time of a whole request, which needs no limit.
	above  chan struct{}
	noGate atomic.Bool
}

func newGuard(c *chain, limit int32) *guard {
	return &guard{chain: c, limit: limit, above: make(chan struct{}, limit)}
}

// WrappedRoundTripper implements RoundTripperWrapper of apimachinery.
func (g *guard) WrappedRoundTripper() http.RoundTripper { return g.chain }

// CloseIdleConnections is called by the method of http.Client.
func (g *guard) CloseIdleConnections() { utilnet.CloseIdleConnectionsFor(g.chain) }

// RoundTrip implements [http.RoundTripper].
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	f := &flight{Context: req.Context(), guard: g, answers: make(chan answer, 1)}
	if f.Done() == nil { // the caller waits forever
		return g.chain.RoundTrip(req)
	}
	if err := g.admit(f); err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	req = req.WithContext(f)
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = &sending{req.Body, f}
	}
	go f.run(req)
	select {
	case a := <-f.answers:
		return a.get()
	case <-f.Done():
	}
	if a, ok := within(grace, f.answers); ok {
		return a.get()
	}
	if err := f.abandon(g.chain.names[f.at.Load()]); err != nil {
		return nil, err
	}
	return (<-f.answers).get() // it was in time after all
}

// admit returns an error if too many requests are stuck.
func (g *guard) admit(f *flight) error {
	if n := g.stuck.Load(); n >= g.limit {
		return &StuckError{text: fmt.Sprintf("not sent, because earlier requests (%d) are stuck: %s", n, *g.where.Load())}
	}
	if g.noGate.Load() {
		return nil
	}
	select {
	case g.above <- struct{}{}:
		f.holds.Store(true)
		return nil
	case <-f.Done():
		return &StuckError{fmt.Sprintf("not sent, because %d requests have not passed %s", g.limit, g.chain.names[atCredentials]), context.Cause(f)}
	}
}

// flight is a request and its response. It is also the context of the request, by which the
// gate finds it.
type flight struct {
	context.Context //nolint:containedctx // the life of one request
	guard           *guard
	answers         chan answer
	at              atomic.Int32 // a stage
	holds           atomic.Bool  // a token of guard.above

	mu                         sync.Mutex
	answered, abandoned, ended bool
	cleanup                    []func()
}

// flightKey is the key of a flight in a context.
type flightKey struct{}

// Value implements [context.Context].
func (f *flight) Value(key any) any {
	if key == (flightKey{}) {
		return f
	}
	return f.Context.Value(key)
}

// flightOf returns the flight of a request, or nil. A transport may have replaced the context, or
// the body, but rarely both.
func flightOf(req *http.Request) *flight {
	if f, ok := req.Context().Value(flightKey{}).(*flight); ok {
		return f
	}
	if body, ok := req.Body.(*sending); ok {
		return body.flight
	}
	return nil
}

// sending is the body of a request.
type sending struct {
	io.ReadCloser
	flight *flight
}

// Read implements [io.Reader]. The caller may use its buffer again when the flight is over.
func (s *sending) Read(p []byte) (int, error) {
	if s.flight.Err() != nil {
		return 0, context.Cause(s.flight)
	}
	return s.ReadCloser.Read(p)
}

// reach notes how far the request is.
func (f *flight) reach(at stage) {
	f.at.Store(at)
	if at == atTransport {
		f.leave()
	}
}

// leave gives the token back, once.
func (f *flight) leave() bool {
	held := f.holds.CompareAndSwap(true, false)
	if held {
		<-f.guard.above
	}
	return held
}

// atEnd has fn called when the flight has ended.
func (f *flight) atEnd(fn func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cleanup = append(f.cleanup, fn); f.ended {
		fn()
	}
}

// abandon leaves the goroutine of the flight behind. It returns nil if that has answered.
func (f *flight) abandon(where string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.answered {
		return nil
	}
	return f.leaveBehind(where)
}

// leaveBehind counts the flight as stuck, until its goroutine ends.
func (f *flight) leaveBehind(where string) error {
	text := where + " hangs: it did not return when the context of the request was done"
	if !f.abandoned && !f.ended {
		f.abandoned = true
		f.guard.where.Store(&text)
		f.guard.stuck.Add(1)
	}
	return &StuckError{text, context.Cause(f)}
}

// end is called when the goroutine has nothing left to do.
func (f *flight) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	if f.abandoned {
		f.guard.stuck.Add(-1)
	}
	for _, fn := range f.cleanup {
		fn()
	}
}

// run is the goroutine of the flight: it sends the request, and reads and closes the response.
func (f *flight) run(req *http.Request) {
	defer f.end()
	if b := f.send(req); b != nil {
		b.serve()
	}
}

// answer is how a request has ended.
type answer struct {
	resp     *http.Response
	err      error
	panicked any
}

// get returns the answer to the caller.
func (a answer) get() (*http.Response, error) {
	if a.panicked != nil {
		panic(a.panicked)
	}
	return a.resp, a.err
}

// send calls the transport, and hands its answer over. It returns the body, if it is to be served.
func (f *flight) send(req *http.Request) (b *body) {
	a := answer{err: errExited}
	returned := false
	defer func() {
		if !returned { // also by runtime.Goexit, as in a test that fails
			a.panicked = traced(recover())
		}
		if f.leave() && a.resp != nil {
			f.guard.noGate.Store(true)
		}
		f.mu.Lock()
		late := f.abandoned
		f.answered = true
		f.mu.Unlock()
		switch {
		case !late:
			f.answers <- a
		case b != nil:
			_ = b.closeInner()
			b = nil
		}
	}()
	a.resp, a.err = f.guard.chain.RoundTrip(req)
	returned = true
	// The body of a 101 is a connection, for both directions.
	if a.resp != nil && a.resp.Body != nil && a.resp.Body != http.NoBody && a.resp.StatusCode != http.StatusSwitchingProtocols {
		b = newBody(f, a.resp.Body)
		a.resp.Body = b
	}
	return b
}

// traced adds the stack to what was passed to panic, since the caller panics elsewhere.
func traced(p any) any {
	if p == nil || p == http.ErrAbortHandler { //nolint:errorlint // the value means to panic quietly
		return p
	}
	return fmt.Sprintf("%v\n\nin a transport:\n%s", p, debug.Stack())
}

// within receives from c for at most d.
func within[T any](d time.Duration, c <-chan T) (T, bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case v := <-c:
		return v, true
	case <-timer.C:
		var none T
		return none, false
	}
}
