package deltafifo

import (
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
)

func TestKeyringIsAQueue(t *testing.T) {
	t.Parallel()
	rnd := newRand(t)
	var ring keyring
	want := []types.NamespacedName{}
	for i := range 100_000 {
		grow := i/10_000%2 == 0 // so that it also shrinks
		if len(want) == 0 || rnd.IntN(10) < 3 || grow && rnd.IntN(10) < 7 {
			key := types.NamespacedName{Name: strconv.Itoa(i)}
			ring.push(key)
			want = append(want, key)
		} else {
			require.Equal(t, want[0], ring.pop())
			want = want[1:]
		}
		require.Equal(t, len(want), ring.len)
		if i%1000 == 0 {
			require.Equal(t, want, slices.AppendSeq([]types.NamespacedName{}, ring.all()))
		}
	}
	for ring.len > 0 {
		ring.pop()
	}
	assert.LessOrEqual(t, len(ring.slots), idleSlots)
}

func TestKeyringHoldsOnToNoKeyThatHasLeft(t *testing.T) {
	t.Parallel()
	var ring keyring
	for range 3 {
		for i := range firstSlots - 1 {
			ring.push(types.NamespacedName{Name: strconv.Itoa(i)})
		}
		for ring.len > 0 {
			ring.pop()
		}
		for _, slot := range ring.slots {
			require.Zero(t, slot)
		}
	}
}

func TestClassicFaceShrinksAfterABurst(t *testing.T) {
	t.Parallel()
	q := classicFace{New(Options[thing]{Limit: Unbounded})}
	for i := range 10_000 {
		require.NoError(t, q.Add(t.Context(), newThing(strconv.Itoa(i), "1")))
	}
	drain(t, q, nil)
	assert.Equal(t, 10_000, q.size, "a burst may be followed by another")
	assert.LessOrEqual(t, len(q.queue.slots), idleSlots)
	require.NoError(t, q.Add(t.Context(), newThing("a", "1")))
	drain(t, q, nil)
	assert.Zero(t, q.size, "but it was not: the map has been replaced")
}

func TestClassicFaceShrinksWhenIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := classicFace{New(Options[thing]{Limit: Unbounded})}
		for i := range 10_000 {
			require.NoError(t, q.Add(t.Context(), newThing(strconv.Itoa(i), "1")))
		}
		drain(t, q, nil)
		size := func() int {
			q.mu.Lock()
			defer q.mu.Unlock()
			return q.size
		}
		waiting := make(chan error, 1)
		go func() { waiting <- q.Pop(t.Context(), func(Deltas[thing]) error { return nil }) }()
		synctest.Wait()
		advance(idleAfter - 1)
		assert.Equal(t, 10_000, size(), "not yet idle")
		advance(time.Nanosecond)
		synctest.Wait()
		assert.Zero(t, size(), "idle")
		require.NoError(t, q.Add(t.Context(), newThing("a", "1")))
		require.NoError(t, <-waiting)
	})
}
