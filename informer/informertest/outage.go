package informertest

import (
	"net"
	"net/http"
	"slices"

	"github.com/informerkit/informerkit/internal/memnet"
)

// BreakConnections breaks all connections, in the middle of whatever goes on.
func (s *Server) BreakConnections() {
	s.connMu.Lock()
	defer s.connMu.Unlock()
	for conn := range s.conns {
		_ = conn.Close() // an error changes nothing
	}
}

// Pause breaks all connections and refuses new ones until Resume, as a server
// that is down does.
func (s *Server) Pause() error {
	s.pauseMu.Lock()
	defer s.pauseMu.Unlock()
	if s.paused {
		return nil
	}
	s.paused = true
	if l, ok := s.listener.(*memnet.Listener); ok {
		l.Refuse(memnet.Always)
	} else if err := s.listener.Close(); err != nil {
		return err
	}
	s.BreakConnections()
	return nil
}

// Resume accepts connections again, at the same address. It fails if something
// else has taken the port meanwhile.
func (s *Server) Resume() error {
	s.pauseMu.Lock()
	defer s.pauseMu.Unlock()
	select {
	case <-s.closing:
		return http.ErrServerClosed
	default:
	}
	if !s.paused {
		return nil
	}
	if l, ok := s.listener.(*memnet.Listener); ok {
		l.Refuse(0)
	} else {
		l, err := net.Listen("tcp", s.address)
		if err != nil {
			return err
		}
		s.listener = l
		s.serve(l)
	}
	s.paused = false
	return nil
}

// Restart breaks all connections and forgets the history, as an API server does
// that is restarted: its watch cache knows the present only.
func (s *Server) Restart() {
	s.Compact()
	s.BreakConnections()
}

// RestartWithNewHistory is a restart after which versions start from scratch, as with an
// etcd that was restored from a backup: the objects are the same, by their UIDs,
// their resourceVersions are small numbers again, and those that clients
// remember lie in the future.
func (s *Server) RestartWithNewHistory() error {
	if err := s.store.renumber(); err != nil {
		return err
	}
	s.BreakConnections()
	return nil
}

// renumber gives all objects new versions, from 2 on, in the order of their old
// ones, and forgets the history.
func (s *store) renumber() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	type stored struct {
		c *collection
		v *version
	}
	var all []stored
	for _, c := range s.orderedLocked() {
		for _, v := range c.items {
			all = append(all, stored{c, v})
		}
	}
	slices.SortFunc(all, func(a, b stored) int { return int(a.v.rv) - int(b.v.rv) })
	s.rv = 1
	for _, x := range all {
		v := x.v.at(s.rv + 1)
		s.rv = v.rv
		x.c.items[v.key] = v
	}
	for _, c := range s.collections {
		c.restartLocked(s.rv)
	}
	return nil
}

// restartLocked begins a new history at rv.
func (c *collection) restartLocked(rv uint64) {
	c.events, c.sorted, c.compacted, c.forgotten = nil, nil, rv, rv
	c.wakeLocked()
}
