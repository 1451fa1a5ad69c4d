package deltafifo

import (
	"context"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func newInOrder() inOrder {
	return inOrder{New(Options[thing]{})}
}

// Promise deltafifo/12
func TestBatchIsEverythingPendingHoweverMuchAndWhateverKind(t *testing.T) {
	t.Parallel()
	q := newInOrder()
	ctx := t.Context()
	require.NoError(t, q.Add(ctx, newThing("a", "1")))
	require.NoError(t, q.Update(ctx, newThing("a", "2")))
	require.NoError(t, q.Bookmark(ctx, "3"))
	require.NoError(t, q.Replace(ctx, []thing{newThing("b", "4"), newThing("a", "2")}, "5"))
	require.NoError(t, q.Delete(ctx, newThing("b", "6")))
	require.NoError(t, q.Replace(ctx, nil, "7"))
	require.NoError(t, q.Bookmark(ctx, "8"))
	assert.Equal(t, "Added a@1, Updated a@2, Bookmark @3, Replaced [b@4 a@2]@5, Deleted b@6, "+
		"Replaced []@7, Bookmark @8", describe(popOnce(t, q)))

	for i := range 10_000 {
		require.NoError(t, q.Update(ctx, newThing("a", strconv.Itoa(i))))
	}
	assert.Len(t, popOnce(t, q), 10_000)
}

// Promise deltafifo/13
func TestReplaceIsOneDeltaThatKeepsTheSlice(t *testing.T) {
	t.Parallel()
	q := newInOrder()
	objs := []thing{newThing("a", "1"), newThing("b", "1")}
	require.NoError(t, q.Replace(t.Context(), objs, "7"))
	assert.Equal(t, 1, q.Len())
	batch := popOnce(t, q)
	assert.Equal(t, []delta{{Type: Replaced, Objects: objs, ResourceVersion: "7"}}, batch)
	assert.Same(t, &objs[0], &batch[0].Objects[0], "no copy of the list is made")
}

// Promise deltafifo/9
func TestReplaceCountsAsOneDeltaAgainstTheLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := inOrder{New(Options[thing]{Limit: 2})}
		long := make([]thing, 100)
		for i := range long {
			long[i] = newThing(strconv.Itoa(i), "1")
		}
		require.NoError(t, q.Replace(t.Context(), long, "1"))
		require.NoError(t, q.Add(t.Context(), newThing("a", "2")))
		for _, barrier := range []func() error{
			func() error { return q.Replace(context.Background(), long, "3") },
			func() error { return q.Bookmark(context.Background(), "3") },
		} {
			waiting := blockProducers(1, func(int) error { return barrier() })
			assert.Equal(t, 2, q.Len())
			assert.Len(t, popOnce(t, q), 2)
			require.NoError(t, <-waiting)
			require.NoError(t, q.Add(t.Context(), newThing("a", "4")))
		}
	})
}

func TestDeleteOfAnUnknownObjectIsHandedOver(t *testing.T) {
	t.Parallel()
	q := newInOrder()
	require.NoError(t, q.Delete(t.Context(), newThing("never-seen", "1")))
	assert.Equal(t, "Deleted never-seen@1", describe(popOnce(t, q)))
}

// Promise deltafifo/13
func TestEmptyReplaceIsABarrierThatHasToBeProcessed(t *testing.T) {
	t.Parallel()
	q := newInOrder()
	require.NoError(t, q.Replace(t.Context(), nil, "1"))
	assert.Equal(t, 1, q.Len(), "the consumer may hold objects that it has to drop")
	assert.Equal(t, "Replaced []@1", describe(popOnce(t, q)))
}

// The slots behind the batch are those of later deltas: an append of the consumer
// must not write into them.
func TestTheBatchHasNoSpareCapacity(t *testing.T) {
	t.Parallel()
	q := inOrder{New(Options[thing]{})}
	for round := range 3 {
		require.NoError(t, q.Add(t.Context(), newThing("a", "1")))
		require.NoError(t, q.Pop(t.Context(), func(batch Batch[thing]) error {
			assert.Equal(t, len(batch.Deltas), cap(batch.Deltas))
			_ = append(batch.Deltas, Delta[thing]{Type: Replaced, List: &List[thing]{ResourceVersion: "garbage"}})
			return nil
		}))
		require.NoError(t, q.Add(t.Context(), newThing("a", "2")))
		require.NoError(t, q.Add(t.Context(), newThing("b", strconv.Itoa(round))))
		assert.Equal(t, []delta{
			{Type: Added, Key: keyNamed("a"), Object: newThing("a", "2")},
			{Type: Added, Key: keyNamed("b"), Object: newThing("b", strconv.Itoa(round))},
		}, popOnce(t, q))
	}
}

func TestZeroLimitIsADefaultAndNegativeIsNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bounded, unbounded := newInOrder(), inOrder{New(Options[thing]{Limit: unbounded})}
		obj := newThing("a", "1")
		for range defaultLimit {
			require.NoError(t, bounded.Update(t.Context(), obj))
			require.NoError(t, unbounded.Update(t.Context(), obj))
		}
		require.NoError(t, unbounded.Update(t.Context(), obj))
		waiting := blockProducers(1, func(int) error { return bounded.Update(context.Background(), obj) })
		assert.Equal(t, defaultLimit, bounded.Len())
		bounded.Close()
		assert.ErrorIs(t, <-waiting, ErrClosed)
	})
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	for _, size := range []int{1, 10, 100, 1000} {
		q := newInOrder()
		obj := newThing("ns/a", "1")
		process := func(Batch[thing]) error { return nil }
		allocs := testing.AllocsPerRun(100, func() {
			for range size {
				_ = q.Update(t.Context(), obj)
			}
			_ = q.Pop(t.Context(), process)
		})
		assert.Zero(t, allocs, "batches of %d", size)
	}
}

// Promise deltafifo/11
func TestProcessedObjectsCanBeCollected(t *testing.T) {
	t.Parallel()
	for name, newQueue := range map[string]maker{"in order": implementations["in order"], "by object": implementations["by object"]} {
		t.Run(name, func(t *testing.T) {
			q := newQueue(unbounded, newStore())
			var refs []weak.Pointer[thingValue]
			write := func(obj thing, write func(context.Context, thing) error) {
				refs = append(refs, weak.Make(obj))
				require.NoError(t, write(t.Context(), obj))
			}
			for i := range 100 {
				write(newThing(strconv.Itoa(i), "1"), q.Add)
				write(newThing(strconv.Itoa(i), "2"), q.Update)
			}
			write(newThing("0", "3"), q.Delete)
			write(newThing("listed", "4"), func(ctx context.Context, obj thing) error { return q.Replace(ctx, []thing{obj}, "4") })
			for q.Len() > 0 {
				require.NoError(t, q.pop(t.Context(), func([]delta) error { return nil }))
			}
			for range 3 {
				runtime.GC()
			}
			for i, ref := range refs {
				assert.Nil(t, ref.Value(), "object %d is still reachable", i)
			}
			runtime.KeepAlive(q)
		})
	}
}
