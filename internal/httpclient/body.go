package httpclient

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// body is the body of a response. The goroutine of the flight reads and closes what the
// transport has returned, so that Read and Close return if that blocks. The bytes go
// directly into the buffer of the caller, who must not use it again after a [StuckError].
type body struct {
	*flight
	inner io.ReadCloser
	// closeInner closes inner once: by the goroutine of the flight, or by another one if that is in a Read.
	closeInner func() error

	reads   chan []byte
	results chan result
	closing chan struct{} // closed by Close
	gone    chan struct{} // closed when inner is

	once sync.Once
	err  error // of the last Read; it belongs to the reader
}

// result is the one of a Read.
type result struct {
	n        int
	err      error
	panicked any
}

func newBody(f *flight, inner io.ReadCloser) *body {
	return &body{
		flight: f, inner: inner, closeInner: sync.OnceValue(func() error { return closeSafely(inner) }),
		reads: make(chan []byte), results: make(chan result, 1), closing: make(chan struct{}), gone: make(chan struct{}),
	}
}

// serve reads for the caller, up to an error. Then, or when the caller closes the body or the
// context is done, it closes it.
func (b *body) serve() {
	defer close(b.gone)
	for {
		select {
		case p := <-b.reads:
			if !b.read(p) {
				_ = b.closeInner()
				return
			}
		case <-b.closing:
			_ = b.closeInner()
			return
		case <-b.Done():
			_ = b.closeInner()
			return
		}
	}
}

// read makes one Read. It returns false after an error.
func (b *body) read(p []byte) bool {
	r := result{err: errExited}
	returned := false
	defer func() {
		if !returned {
			r.panicked = traced(recover())
		}
		b.results <- r
	}()
	r.n, r.err = b.inner.Read(p)
	returned = true
	return r.err == nil
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	select {
	case b.reads <- p:
	case <-b.closing:
		return 0, http.ErrBodyReadAfterClose
	case <-b.Done():
		return 0, context.Cause(b)
	}
	var r result
	select {
	case r = <-b.results:
	case <-b.closing:
		r = b.unblock()
	case <-b.Done():
		r = b.unblock()
	}
	if b.err = r.err; r.panicked != nil {
		panic(r.panicked)
	}
	return r.n, r.err
}

// unblock waits for a Read that should return by now.
func (b *body) unblock() result {
	go b.closeInner() //nolint:errcheck // it makes Read return
	if r, ok := within(grace, b.results); ok {
		return r
	}
	return result{err: b.hangs()}
}

// hangs leaves the goroutine of the flight behind.
func (b *body) hangs() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.leaveBehind(fmt.Sprintf("the body %T of a response", b.inner))
}

// Close implements [io.Closer]. It may be called while another goroutine is in Read.
func (b *body) Close() error {
	b.once.Do(func() { close(b.closing) })
	select {
	case <-b.gone: // after the last Read, as usual
		return b.closeInner()
	default:
	}
	if _, ok := within(grace, b.gone); !ok {
		return b.hangs()
	}
	return b.closeInner()
}

// closeSafely closes the body that a transport has returned, on a goroutine that nothing recovers.
func closeSafely(c io.Closer) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return c.Close()
}
