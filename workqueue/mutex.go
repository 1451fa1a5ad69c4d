package workqueue

import "sync"

// mutex is a sync.Mutex that tries for longer before it parks its goroutine.
//
// A queue is locked for some tens of nanoseconds, by many goroutines. A sync.Mutex does
// not wait for that while other goroutines are ready to run, as they always are
// when there are more producers and workers than cores: it parks the goroutine, which then
// has its turn behind all of those. That is a thousand times as long as the lock is held.
//
// Each try takes a pause half as long again as the one before, up to a limit. What the lock
// guards moves to the core that gets it, which takes longer than what is done with it there.
// So two things are at odds where several cores want the lock all the time: to leave it to
// one of them for a few turns, which makes a turn cheap, and to hand it over at once, which
// makes the longest waits short. The limit is a compromise: throughput gains half, and a
// wait takes some microseconds. An Add seldom has to wait, see inbox.go. A goroutine that
// gives up earlier has to park, and waits a hundred times as long.
type mutex struct{ sync.Mutex }

const (
	// lockTries tries make a wait of some ten microseconds. The lock is held for so
	// long only by a goroutine that allocates much, or has lost its core.
	lockTries = 60
	// lockPause and lockPauseMax are turns of an empty loop, about three to the nanosecond.
	lockPause    = 50
	lockPauseMax = 400
)

// Lock locks m.
func (m *mutex) Lock() {
	if !m.TryLock() {
		m.lockSlow()
	}
}

func (m *mutex) lockSlow() {
	pause := lockPause
	for range lockTries {
		for range pause {
		}
		if m.TryLock() {
			return
		}
		pause = min(pause+pause/2, lockPauseMax)
	}
	m.Mutex.Lock()
}
