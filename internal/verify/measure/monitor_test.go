package measure

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestWaitForReturnsWhenTheConditionHolds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var m Monitor
		n, waited := 0, 0
		for range 2 {
			go func() {
				require.NoError(t, m.WaitFor(t.Context(), func() bool { return n == 2 }))
				m.Lock()
				defer m.Unlock()
				waited++
			}()
		}
		for want := range 2 {
			synctest.Wait()
			require.Zero(t, waited, "%d is not enough", want)
			m.Lock()
			n++
			m.Broadcast()
			m.Unlock()
		}
		synctest.Wait()
		require.Equal(t, 2, waited)
	})
}

func TestWaitForEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var m Monitor
	require.ErrorIs(t, m.WaitFor(ctx, func() bool { return false }), context.Canceled)
}
