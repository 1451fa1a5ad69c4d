package measure

import (
	"context"
	"sync"
)

// Monitor is a mutex with a condition variable whose waits end with a context. The zero
// value is ready to use.
type Monitor struct {
	sync.Mutex
	changed chan struct{} // nil: nothing waits
}

// Broadcast lets all waits look at their conditions again. The mutex must be held.
func (m *Monitor) Broadcast() {
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
}

// WaitFor returns when a condition holds, which is called with the mutex held, or the cause
// of the end of ctx.
func (m *Monitor) WaitFor(ctx context.Context, holds func() bool) error {
	for {
		m.Lock()
		if holds() {
			m.Unlock()
			return nil
		}
		if m.changed == nil {
			m.changed = make(chan struct{})
		}
		changed := m.changed
		m.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
