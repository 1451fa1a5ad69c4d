package workqueue

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMutexExcludesEachOther(t *testing.T) {
	t.Parallel()
	const goroutines, each = 16, 2000
	var m mutex
	var wg sync.WaitGroup
	held, n := 0, 0
	for range goroutines {
		wg.Go(func() {
			for range each {
				m.Lock()
				held++
				assert.Equal(t, 1, held)
				n++
				held--
				m.Unlock()
			}
		})
	}
	wg.Wait()
	assert.Equal(t, goroutines*each, n)
}

// One that has tried often enough waits like that of any mutex, and is woken.
func TestMutexThatIsHeldForLongIsWaitedFor(t *testing.T) {
	t.Parallel()
	var m mutex
	m.Lock()
	locked := make(chan struct{})
	go func() {
		m.lockSlow()
		close(locked)
	}()
	for range 10 * lockTries {
		assert.False(t, m.TryLock())
	}
	select {
	case <-locked:
		t.Error("locked twice")
	default:
	}
	m.Unlock()
	<-locked
	assert.False(t, m.TryLock(), "it is held by the one that waited")
	m.Unlock()
}
