package sharding

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// skewed returns t as it is read when the monotonic clock has gone further than the wall
// clock by d. Nothing but a machine that sleeps, or a clock that is set, makes such a time.
func skewed(t time.Time, d time.Duration) time.Time {
	(*struct {
		wall uint64
		ext  int64
	})(unsafe.Pointer(&t)).ext += int64(d) //nolint:gosec // see above
	return t
}

// A deadline has passed by the first clock that is past it: the wall clock, if the
// monotonic one stands still while the machine sleeps, and the monotonic one, if the wall
// clock is set back.
//
// Promise informer/sharding/1
func TestPromise1ADeadlinePassesByTheClockThatIsAhead(t *testing.T) {
	t.Parallel()
	now := time.Now()
	at := now.Add(time.Second)
	require.Equal(t, time.Minute, skewed(now, time.Minute).Sub(now), "the monotonic clocks")
	require.True(t, skewed(now, time.Minute).Round(0).Equal(now.Round(0)), "the wall clocks")
	assert.True(t, before(now, at))
	assert.False(t, before(at, at))
	slept := skewed(now.Add(time.Minute), -time.Minute)
	assert.False(t, before(slept, at), "after a sleep of the machine")
	setBack := skewed(now, time.Minute)
	assert.False(t, before(setBack, at), "after the wall clock was set back")
	for _, now := range []time.Time{slept, setBack} {
		d := newDeadline(fixedClock{at: now}, at)
		assert.False(t, d.extend(at.Add(time.Hour)))
		assert.False(t, d.ahead())
	}
}

// fixedClock stands still.
type fixedClock struct {
	systemClock
	at time.Time
}

func (c fixedClock) now() time.Time { return c.at }
