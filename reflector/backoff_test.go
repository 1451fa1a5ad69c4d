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
