package e2e

import (
	"context"
	"net"
	"sync"
	"syscall"

	"k8s.io/client-go/rest"
)

// gate is a network of which a client can be cut off, while others go on.
type gate struct {
	mu    sync.Mutex
	shut  bool
	conns []net.Conn
}

// through returns a configuration whose connections pass the gate.
func (g *gate) through(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.shut {
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err == nil {
			g.conns = append(g.conns, conn)
		}
		return conn, err
	}
	return cfg
}

// sever breaks all connections.
func (g *gate) sever() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, conn := range g.conns {
		conn.Close()
	}
	g.conns = nil
}

// cut breaks all connections and refuses new ones.
func (g *gate) cut() {
	g.mu.Lock()
	g.shut = true
	g.mu.Unlock()
	g.sever()
}

// heal lets connections pass again.
func (g *gate) heal() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = false
}
