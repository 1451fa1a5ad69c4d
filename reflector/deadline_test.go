package reflector

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// inDeadline runs test with a deadline of ten seconds that has just begun.
func inDeadline(t *testing.T, test func(t *testing.T, d *deadline, over func() error)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		d := newDeadline(cancel, 10*time.Second, errIdle)
		test(t, d, func() error { synctest.Wait(); return context.Cause(ctx) })
		d.stop()
	})
}

// requirePassesIn requires that a deadline passes with err after d, and not a nanosecond before.
func requirePassesIn(t *testing.T, d time.Duration, over func() error, err error) {
	t.Helper()
	time.Sleep(d - time.Nanosecond)
	require.NoError(t, over())
	time.Sleep(time.Nanosecond)
	require.ErrorIs(t, over(), err)
}

func TestDeadlinePassesExactlyWhenItIsDue(t *testing.T) {
	inDeadline(t, func(t *testing.T, d *deadline, over func() error) {
		for range 30 {
			time.Sleep(9 * time.Second)
			require.NoError(t, over())
			d.extend()
		}
		requirePassesIn(t, 10*time.Second, over, errIdle)
	})
}

func TestHeldDeadlinePassesOnlyAfterIt(t *testing.T) {
	inDeadline(t, func(t *testing.T, d *deadline, over func() error) {
		d.hold()
		d.extend() // by the goroutine that reads
		time.Sleep(time.Hour)
		require.NoError(t, over())
		d.release()
		requirePassesIn(t, 10*time.Second, over, errIdle)
	})
}

func TestStoppedDeadlineNeverPasses(t *testing.T) {
	inDeadline(t, func(t *testing.T, d *deadline, over func() error) {
		d.stop()
		time.Sleep(time.Hour)
		require.NoError(t, over())
	})
}

func TestDeadlineWithoutATimeNeverPasses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		d := newDeadline(cancel, -1, errIdle)
		d.extend()
		time.Sleep(1000 * time.Hour)
		require.NoError(t, ctx.Err())
		d.stop()
	})
}

// The function of a timer may run after what it is about has happened.
func TestATimerThatFiresLateEndsNothing(t *testing.T) {
	for name, meanwhile := range map[string]func(d *deadline){
		"held and released": func(d *deadline) { d.hold(); d.release() },
		"extended":          (*deadline).extend,
		"stopped":           (*deadline).stop,
	} {
		t.Run(name, func(t *testing.T) {
			inDeadline(t, func(t *testing.T, d *deadline, _ func() error) {
				d.hold()
				time.Sleep(10 * time.Second) // the timer fires, and its function has not run yet
				d.mu.Lock()
				d.held = false
				d.mu.Unlock()
				require.True(t, d.passed())
				meanwhile(d)
				require.False(t, d.passed())
			})
		})
	}
}
