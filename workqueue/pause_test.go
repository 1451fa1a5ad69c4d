package workqueue_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/workqueue"
)

// byFirst is a queue whose groups are the first letters of its items.
func byFirst() *workqueue.RateLimitingQueue[string] {
	return workqueue.NewRateLimiting(workqueue.FastSlow[string](time.Hour, time.Hour, 9), workqueue.Options[string]{
		Group: func(item string) string { return item[:1] },
	})
}

// Promise workqueue/15
func TestPausedGroupIsNotHandedOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := byFirst()
		q.AddAll([]string{"a1", "a2", "b1"})
		require.NoError(t, q.PauseGroup("a"))
		require.NoError(t, q.PauseGroup("a"), "twice is once")
		assert.Equal(t, "b1", mustGet(t, q))
		q.Done("b1")

		// Whatever asks for its items later only adds to what waits.
		q.Add("a3")
		q.Add("a1")
		q.AddAfter("a4", time.Second)
		q.Park("a5", func(met func()) (cancel func()) { met(); return nil }, time.Hour)
		q.Park("a2", func(func()) (cancel func()) { return nil }, time.Second)
		advance(time.Minute)
		assert.Zero(t, q.Len())
		assert.Equal(t, 5, q.Stats().Paused)
		assert.Equal(t, []workqueue.PausedGroup{{Name: "a", Queued: 5}}, q.Inspect().PausedGroups)

		// A worker that waits is woken by the end of the pause.
		got := make(chan string, 5)
		for range 5 {
			go func() {
				item, _ := q.Get(t.Context())
				got <- item
			}()
		}
		synctest.Wait()
		assert.Empty(t, got)
		require.NoError(t, q.ResumeGroup("a"))
		require.NoError(t, q.ResumeGroup("a"), "it is not paused any more")
		synctest.Wait()
		close(got)
		var items []string
		for item := range got {
			items = append(items, item)
		}
		assert.ElementsMatch(t, []string{"a1", "a2", "a3", "a4", "a5"}, items)
		assert.Empty(t, q.Inspect().PausedGroups)
	})
}

func TestGroupIsPausedBeforeItsFirstItem(t *testing.T) {
	t.Parallel()
	q := byFirst()
	require.NoError(t, q.PauseGroup("a"))
	q.Add("a1")
	q.Add("a2")
	assert.Zero(t, q.Len())
	require.NoError(t, q.ResumeGroup("a"))
	assert.Equal(t, "a1", mustGet(t, q), "in the order in which they came")
	assert.Equal(t, "a2", mustGet(t, q))
}

// Promise workqueue/15
func TestDrainOfAGroupWaitsForItsRunningItemsOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := byFirst()
		q.AddAll([]string{"a1", "b1", "a2", "a3"})
		for range 3 {
			mustGet(t, q) // a1, b1, a2: the groups take turns
		}
		drained := make(chan error, 3)
		for range 2 {
			go func() { drained <- q.DrainGroup(t.Context(), "a") }()
		}
		synctest.Wait()
		ended, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("the lease is over")
		cancel(reason)
		require.ErrorIs(t, q.DrainGroup(ended, "a"), reason)
		q.Add("a1") // once more: it must not come again
		q.Done("a1")
		synctest.Wait()
		assert.Empty(t, drained, "a2 is running")
		assert.Equal(t, []workqueue.PausedGroup{{Name: "a", Queued: 2, Running: 1}}, q.Inspect().PausedGroups)
		q.AddRateLimited("a2")
		q.Done("a2")
		require.NoError(t, <-drained)
		require.NoError(t, <-drained)
		require.NoError(t, q.DrainGroup(ended, "a"), "nothing to wait for")
		assert.Zero(t, q.Len())
		assert.Equal(t, 1, q.Stats().Running, "that of another group goes on")
		q.Done("b1")
	})
}

func TestDrainOfAGroupThatIsResumedIsAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := byFirst()
		q.Add("a1")
		mustGet(t, q)
		drained := make(chan error, 1)
		go func() { drained <- q.DrainGroup(t.Context(), "a") }()
		synctest.Wait()
		require.NoError(t, q.ResumeGroup("a"))
		require.ErrorIs(t, <-drained, workqueue.ErrGroupResumed)
		q.Done("a1")
	})
}

// Promise workqueue/15
func TestDroppedGroupLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := byFirst()
		q.AddAll([]string{"a1", "a2", "b1"})
		mustGet(t, q)
		q.Add("a1")            // again
		q.AddAfter("a3", 1)    // delayed
		q.AddRateLimited("a4") // delayed, with a count of failures
		q.AddAfter("b2", 2)    // of another group
		cancelled := make(chan int, 1)
		q.Park("a5", func(func()) (cancel func()) { return func() { cancelled <- 1 } }, time.Hour)
		q.Add("a5")
		reached := q.Barrier()
		dropped, err := q.DropGroup("a")
		require.NoError(t, err)
		assert.Equal(t, 5, dropped)
		assert.Len(t, cancelled, 1)
		assert.Zero(t, q.NumRequeues("a4"))
		assert.Equal(t, []workqueue.PausedGroup{{Name: "a", Running: 1}}, q.Inspect().PausedGroups)
		q.Done("a1")
		advance(2 * time.Hour)
		assert.Equal(t, "b1", mustGet(t, q))
		q.Done("b1")
		<-reached // what was dropped is not waited for
		assert.Equal(t, "b2", mustGet(t, q))
		q.Done("b2")

		q.Add("a6") // after the drop: kept until the group is resumed
		assert.Equal(t, 1, q.Stats().Paused)
		require.NoError(t, q.ResumeGroup("a"))
		assert.Equal(t, "a6", mustGet(t, q))
	})
}

func TestShutDownDropsPausedItemsAndDoesNotWaitForThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := byFirst()
		q.AddAll([]string{"a1", "a2", "b1", "c1", "c2"})
		mustGet(t, q)
		require.NoError(t, q.PauseGroup("a"))
		q.Add("a1")
		drained := make(chan error, 1)
		go func() { drained <- q.ShutDownWithDrain(t.Context()) }()
		synctest.Wait()
		assert.EqualValues(t, 1, q.Stats().ShutdownLosses, "a2")
		q.Done("a1") // added again, which nothing will ever process
		assert.EqualValues(t, 2, q.Stats().ShutdownLosses)
		q.Done(mustGet(t, q))
		assert.Empty(t, drained)
		require.NoError(t, q.PauseGroup("c")) // also now: its items may not be processed any more
		require.NoError(t, <-drained)
		assert.EqualValues(t, 4, q.Stats().ShutdownLosses)
		assert.Zero(t, q.Stats().Paused)
		require.NoError(t, q.ResumeGroup("c"))
		_, ok := q.Get(t.Context())
		assert.False(t, ok)
	})
}

func TestProcessReturnsPausedItemsAsLeftovers(t *testing.T) {
	t.Parallel()
	q := byFirst()
	q.AddAll([]string{"a1", "a2"})
	require.NoError(t, q.PauseGroup("a"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	left, err := workqueue.ProcessWith(ctx, q, workqueue.ProcessOptions[string]{Workers: 1},
		func(context.Context, string) (workqueue.Result, error) { return workqueue.Result{}, nil })
	require.NoError(t, err)
	assert.Equal(t, workqueue.Leftovers[string]{Paused: []string{"a1", "a2"}}, left)
}

func TestQueueWithoutGroupsCannotPauseOne(t *testing.T) {
	t.Parallel()
	q := workqueue.NewDelaying(workqueue.Options[string]{})
	q.Add("a")
	require.ErrorContains(t, q.PauseGroup("a"), "set Options.Group")
	require.ErrorContains(t, q.ResumeGroup("a"), "set Options.Group")
	require.ErrorContains(t, q.DrainGroup(t.Context(), "a"), "set Options.Group")
	_, err := q.DropGroup("a")
	require.ErrorContains(t, err, "set Options.Group")
	assert.Equal(t, "a", mustGet(t, q))
}

// The record of a paused item is found after the map of items was replaced.
func TestPausedItemsSurviveTheEndOfABurst(t *testing.T) {
	t.Parallel()
	q := byFirst()
	require.NoError(t, q.PauseGroup("a"))
	q.Add("a1")
	items := number(20_000, "b%d")
	q.AddAll(items)
	for range items {
		q.Done(mustGet(t, q))
	}
	q.Add("a1")
	assert.Equal(t, 1, q.Stats().Paused)
	require.NoError(t, q.ResumeGroup("a"))
	q.Done(mustGet(t, q))
	assert.Zero(t, q.Len())
}
