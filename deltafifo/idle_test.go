package deltafifo

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A consumer has waited for so long that it gives memory back, and at that very
// moment something is written.
func TestAWriteAtTheMomentOfTheIdleTrimIsNotLost(t *testing.T) {
	t.Parallel()
	burst := func(t *testing.T, q face) {
		for range 2 { // one for each of two buffers
			for i := range 10_000 {
				require.NoError(t, q.Add(t.Context(), newThing(strconv.Itoa(i), "1")))
			}
			drain(t, q, nil)
		}
	}
	// race lets the idle time of a waiting consumer end while the mutex is locked,
	// and then unlocks it after a write.
	race := func(t *testing.T, q face, g *gate, write func()) {
		var got []Delta[thing]
		popped := make(chan error, 1)
		go func() {
			popped <- q.pop(context.Background(), func(deltas []Delta[thing]) error { got = append(got, deltas...); return nil })
		}()
		synctest.Wait()
		g.mu.Lock()
		time.Sleep(idleAfter)
		write()
		g.leave(1)
		require.NoError(t, <-popped)
		assert.Equal(t, "Added a@1", describe(got))
		assert.Zero(t, q.Len())
	}
	d := Delta[thing]{Type: Added, Key: keyNamed("a"), Object: newThing("a", "1")}
	t.Run("batch", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := NewBatch[thing](BatchOptions{Limit: Unbounded})
			burst(t, batchFace{q})
			require.Greater(t, cap(q.buf.fill), idleDeltas, "the buffer that is written to")
			race(t, batchFace{q}, &q.gate, func() { *q.buf.next() = d })
		})
	})
	t.Run("classic", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := New(Options[thing]{Limit: Unbounded})
			burst(t, classicFace{q})
			race(t, classicFace{q}, &q.gate, func() { q.append(d) })
		})
	})
}
