package informer

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSignalClosesEveryChannelThatWasWaitedFor(t *testing.T) {
	t.Parallel()
	for range 100 {
		var s signal
		assert.False(t, s.isClosed())
		var waiting sync.WaitGroup
		for range 4 {
			waiting.Go(func() {
				<-s.wait()
				assert.True(t, s.isClosed())
			})
		}
		waiting.Go(s.close)
		waiting.Wait()
		assert.True(t, isClosed(s.wait()))
	}
}

func TestSignalWaitsOnOneChannel(t *testing.T) {
	t.Parallel()
	var s signal
	before := s.wait()
	assert.Equal(t, before, s.wait())
	assert.False(t, isClosed(before))
	s.close()
	assert.True(t, isClosed(before))
	assert.Panics(t, s.close, "like a channel, it is closed once")
}

// Nothing may find a signal closed whose channel is not.
func TestSignalAgreesWithItsChannel(t *testing.T) {
	t.Parallel()
	for range 1000 {
		var s signal
		c := s.wait()
		var closing sync.WaitGroup
		closing.Go(s.close)
		for !s.isClosed() {
		}
		assert.True(t, isClosed(c))
		closing.Wait()
	}
}

//nolint:paralleltest // it counts allocations
func TestSignalThatNothingWaitsForAllocatesNothing(t *testing.T) {
	signals := make([]signal, 101) // AllocsPerRun calls once more
	n := 0
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		signals[n].close()
		<-signals[n].wait()
		n++
	}))
}
