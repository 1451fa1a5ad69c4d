package workqueue

import "sync"

// mutex is a sync.Mutex that tries for longer before it parks its goroutine.
//
// A queue is locked for some tens of nanoseconds, by many goroutines. A sync.Mutex does
// not wait for that while other goroutines are ready to run, as they always are
// when there are more producers and workers than cores: it parks the goroutine, which then
// has its turn behind all of those. That is a thousand times as long as the lock is held.
type mutex struct{ sync.Mutex }

const (
	// lockTries and lockPause make a wait of some microseconds. The lock is held for so
	// long only by a goroutine that allocates, or has lost its core.
	lockTries = 100
	lockPause = 50
)

// Lock locks m.
func (m *mutex) Lock() {
	if !m.TryLock() {
		m.lockSlow()
	}
}

func (m *mutex) lockSlow() {
	for range lockTries {
		for range lockPause {
			// Not a look at the lock each time: that would slow down its release.
		}
		if m.TryLock() {
			return
		}
	}
	m.Mutex.Lock()
}
