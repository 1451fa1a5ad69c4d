// Package memnet is a network in memory, for servers that live in a
// testing/synctest bubble.
//
// A connection of the operating system blocks outside the bubble, so the bubble
// never sees that all its goroutines wait, and its clock stands still. The
// connections of this package block on channels only.
package memnet

import (
	"context"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
)

// Listener hands out connections in memory. Create it in the bubble that uses it.
// All methods may be called at any time and from any goroutine.
type Listener struct {
	name   string
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once

	mu     sync.Mutex
	dials  int
	refuse int // dials to refuse; below 0: all
}

// Listen returns a listener whose address is name.
func Listen(name string) *Listener {
	return &Listener{name: name, conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Always is how many dials to refuse until further notice.
const Always = -1

// Refuse refuses the next n dials, as a machine does on which nothing listens. It
// replaces what was set before: 0 accepts dials again.
func (l *Listener) Refuse(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse = n
}

// Dials returns how often clients have dialled, also those that were refused.
func (l *Listener) Dials() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dials
}

// refused counts a dial and reports whether it is to be refused.
func (l *Listener) refused() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dials++
	if l.refuse > 0 {
		l.refuse--
		return true
	}
	return l.refuse < 0
}

// Dial connects to the listener. It waits until the connection is accepted.
func (l *Listener) Dial(ctx context.Context) (net.Conn, error) {
	if l.refused() {
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

// Transport returns the transport of an HTTP client that reaches the listener,
// whatever the address that it dials.
func (l *Listener) Transport() *http.Transport {
	return &http.Transport{
		DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return l.Dial(ctx) },
		MaxIdleConnsPerHost: 16, // a test has more clients than two
	}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. Connections stay as they are.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return addr(l.name) }

// addr is the address of a listener: its name.
type addr string

func (addr) Network() string  { return "memory" }
func (a addr) String() string { return string(a) }
