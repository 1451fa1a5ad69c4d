package deltafifo

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestQueueThatWasNotConstructedSaysSo(t *testing.T) {
	t.Parallel()
	for name, q := range map[string]face{
		"batch":   batchFace{&BatchFIFO[thing]{}},
		"classic": classicFace{&DeltaFIFO[thing]{}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.ErrorIs(t, q.Add(t.Context(), newThing("a", "1")), errNotMade)
			assert.ErrorIs(t, q.Replace(t.Context(), nil, "1"), errNotMade)
			assert.ErrorIs(t, q.pop(t.Context(), mustNotRun(t)), errNotMade)
			if q, ok := q.(classic); ok {
				assert.ErrorIs(t, q.AddIfNotPresent(Deltas[thing]{{Type: Added, Key: keyNamed("a"), Object: newThing("a", "1")}}), errNotMade)
				assert.ErrorIs(t, q.Resync(t.Context()), errNotMade)
				assert.Empty(t, q.List())
			}
			assert.ErrorIs(t, q.Bookmark(t.Context(), "1"), errNotMade)
			assert.False(t, q.HasSynced())
			assert.Zero(t, q.Len())
			q.Close()
		})
	}
}

func TestProducersThatHaveGotRoomOrGivenUpAreNotCountedAsBlocked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := batchFace{NewBatch[thing](BatchOptions{Limit: 1})}
		require.NoError(t, q.Add(t.Context(), newThing("a", "1")))
		ctx, cancel := context.WithCancel(t.Context())
		got := blockProducers(1, func(int) error { return q.Add(t.Context(), newThing("a", "2")) })
		gaveUp := blockProducers(1, func(int) error { return q.Add(ctx, newThing("a", "3")) })
		require.Equal(t, 2, q.blocked)
		cancel()
		require.ErrorIs(t, <-gaveUp, context.Canceled)
		require.Equal(t, 1, q.blocked)
		popOnce(t, q)
		require.NoError(t, <-got)
		synctest.Wait()
		require.Zero(t, q.blocked)
	})
}
