package informertest

import (
	"context"
	"io"
	"log"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// pipeListener hands out connections in memory. They block on channels only,
// so that a synctest bubble can detect that all goroutines are blocked.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	// refusing is set while the server pretends to be down.
	refusing atomic.Bool
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// dial connects to the listener.
func (l *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	if l.refusing.Load() {
		return nil, &net.OpError{Op: "dial", Net: "memory", Addr: l.Addr(), Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	server, client := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "dial", Net: "memory", Err: net.ErrClosed}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// refuse begins or ends the refusal of connections.
func (l *pipeListener) refuse(yes bool) { l.refusing.Store(yes) }

// Accept implements net.Listener.
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

// pipeAddr is the address of every in-memory server.
type pipeAddr struct{}

func (pipeAddr) Network() string { return "memory" }
func (pipeAddr) String() string  { return "informertest.invalid" }

// silent returns a logger for what net/http says about broken connections.
func silent() *log.Logger { return log.New(io.Discard, "", 0) }
