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
	q := byObject{&DeltaFIFO[thing]{}}
	assert.ErrorIs(t, q.Add(t.Context(), newThing("a", "1")), errNotMade)
	assert.ErrorIs(t, q.Replace(t.Context(), nil, "1"), errNotMade)
	assert.ErrorIs(t, q.pop(t.Context(), mustNotRun(t)), errNotMade)
	assert.ErrorIs(t, q.AddIfNotPresent(Deltas[thing]{{Type: Added, Object: newThing("a", "1")}}), errNotMade)
	assert.ErrorIs(t, q.Resync(t.Context()), errNotMade)
	assert.ErrorIs(t, q.Bookmark(t.Context(), "1"), errNotMade)
	_, ok := q.Known(keyNamed("a"))
	assert.False(t, ok)
	assert.False(t, q.HasSynced())
	assert.Zero(t, q.Len())
	q.Close()
}

// Promise deltafifo/9
func TestAProducerThatGivesUpTakesNoRoomFromOneThatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := inOrder{New(Options[thing]{Limit: 1})}
		require.NoError(t, q.Add(t.Context(), newThing("a", "1")))
		ctx, cancel := context.WithCancel(t.Context())
		got := blockProducers(1, func(int) error { return q.Add(t.Context(), newThing("a", "2")) })
		gaveUp := blockProducers(1, func(int) error { return q.Add(ctx, newThing("a", "3")) })
		cancel()
		require.ErrorIs(t, <-gaveUp, context.Canceled)
		popOnce(t, q)
		require.NoError(t, <-got)
		assert.Equal(t, "Added a@2", describe(popOnce(t, q)))
	})
}
