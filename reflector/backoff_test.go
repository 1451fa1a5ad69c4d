package reflector

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBackoffGrowsToItsCap(t *testing.T) {
	t.Parallel()
	b, err := Backoff{}.withDefaults()
	require.NoError(t, err)
	base := 800 * time.Millisecond
	for n := 1; n < 2000; n++ {
		d := b.delay(n)
		require.LessOrEqual(t, d, 30*time.Second)
		if n < 5 {
			require.GreaterOrEqual(t, d, base)
			require.Less(t, d, base*3/2)
			base *= 2
		}
		if n > 6 {
			require.GreaterOrEqual(t, d, 20*time.Second)
		}
	}
}

func TestBackoffWithoutJitterIsExact(t *testing.T) {
	t.Parallel()
	b, err := Backoff{Initial: time.Second, Factor: 3, Max: 10 * time.Second, Jitter: -1}.withDefaults()
	require.NoError(t, err)
	for n, want := range map[int]time.Duration{1: 1, 2: 3, 3: 9, 4: 10, 1000: 10} {
		require.Equal(t, want*time.Second, b.delay(n))
	}
}

func TestBackoffOfALongFirstWaitIsItsCap(t *testing.T) {
	t.Parallel()
	b, err := Backoff{Initial: time.Hour}.withDefaults()
	require.NoError(t, err)
	require.Equal(t, time.Hour, b.Max)
	require.LessOrEqual(t, b.delay(1), time.Hour)
}

// Requests that were sent without having asked first leave no debt.
//
// Promise reflector/3
func TestTheAllowanceHasNoDebt(t *testing.T) {
	t.Parallel()
	b, err := Backoff{}.withDefaults()
	require.NoError(t, err)
	a, now := newAllowance(b), time.Now()
	for i := range 1000 {
		require.Equal(t, i < 9, a.charge(now), "%d", i)
	}
	require.LessOrEqual(t, a.wait(now, 1), 10*time.Second)
	now = now.Add(10 * time.Second)
	require.Zero(t, a.spend(now, 1))
	require.Positive(t, a.spend(now, 1), "one is earned in this time")
}

func TestOptionsAtTheirLimitsAreTaken(t *testing.T) {
	t.Parallel()
	_, err := Backoff{Factor: 1}.withDefaults()
	require.NoError(t, err)
	for timeouts, want := range map[Timeouts]string{
		{Watch: 10 * time.Second}:   "",
		{Watch: 10*time.Second - 1}: "below",
		{Idle: 10 * time.Second}:    "",
		{Idle: 10*time.Second - 1}:  "below",
		{Idle: -1, Answer: -1}:      "",
		{Watch: -1}:                 "negative",
		{QuarantineRetry: -1}:       "negative",
	} {
		_, err := timeouts.withDefaults(10 * time.Second)
		if want == "" {
			require.NoError(t, err, "%+v", timeouts)
			continue
		}
		require.ErrorContains(t, err, want, "%+v", timeouts)
	}
}

// Two requests are earned per shortest wait of the longest backoff, but no fewer than one in the
// time of a healthy watch.
func TestAllowanceIsEarnedAtThePaceOfTheBackoff(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		backoff Backoff
		every   time.Duration
	}{
		{Backoff{Max: 6 * time.Second, Jitter: 0.5, Healthy: 10 * time.Second}, 2 * time.Second},
		{Backoff{Max: time.Minute, Jitter: 0.5, Healthy: 10 * time.Second}, 10 * time.Second},
		{Backoff{Max: time.Millisecond, Healthy: time.Second}, minWait},
	} {
		require.Equal(t, test.every, newAllowance(test.backoff).every)
	}
}

func TestWatchesThatDeliverAreResumedWithinASecond(t *testing.T) {
	t.Parallel()
	a, now := newAllowance(Backoff{Max: time.Minute, Healthy: 10 * time.Second}), time.Now()
	require.Zero(t, a.resumeWait(now))
	for range burst {
		a.charge(now)
	}
	for range 100 {
		d := a.resumeWait(now)
		require.GreaterOrEqual(t, d, saving/2)
		require.Less(t, d, saving)
	}
}
