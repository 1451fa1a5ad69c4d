package workqueue_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/workqueue"
)

// inBubble runs f with an empty delaying queue on a bubble's clock.
func inBubble(t *testing.T, f func(*testing.T, *workqueue.DelayingQueue[string])) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f(t, workqueue.NewDelaying(workqueue.Options[string]{}))
	})
}

func TestDelayedItemComesExactlyWhenDueAndOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, q *workqueue.DelayingQueue[string]) {
		q.AddAfter("a", time.Second)
		advance(time.Second - 1)
		assert.Zero(t, q.Len())
		advance(1)
		assert.Equal(t, []string{"a"}, takeAll(t, q))
		advance(time.Hour)
		assert.Zero(t, q.Len())
	})
}

// Promise workqueue/7
func TestEarliestDeadlineWins(t *testing.T) {
	inBubble(t, func(t *testing.T, q *workqueue.DelayingQueue[string]) {
		q.AddAfter("a", time.Minute)
		q.AddAfter("a", time.Second)
		q.AddAfter("a", time.Hour)
		advance(time.Second)
		assert.Equal(t, []string{"a"}, takeAll(t, q))
		advance(2 * time.Hour)
		assert.Zero(t, q.Len(), "a superseded deadline fired")
	})
}

// Promise workqueue/7
func TestDelayedItemIsSupersededByAdd(t *testing.T) {
	inBubble(t, func(t *testing.T, q *workqueue.DelayingQueue[string]) {
		q.AddAfter("a", time.Second)
		q.Add("a")
		assert.Equal(t, []string{"a"}, takeAll(t, q))
		advance(time.Hour)
		assert.Zero(t, q.Len(), "the stale delayed add fired after the work was done")

		q.AddAfter("a", time.Second)
		q.AddAfter("a", -1) // the same as Add
		assert.Equal(t, 1, q.Len())
		assert.Zero(t, q.Stats().Delayed)
		takeAll(t, q)

		// Also while it is running, and by an add that comes before the delay.
		q.Add("a")
		mustGet(t, q)
		q.AddAfter("a", time.Second)
		q.Add("a")
		q.AddAfter("a", time.Second)
		q.Done("a")
		assert.Equal(t, []string{"a"}, takeAll(t, q))
		advance(time.Hour)
		assert.Zero(t, q.Len())
	})
}

// Promise workqueue/7
func TestDelayOfAQueuedItemIsIgnored(t *testing.T) {
	inBubble(t, func(t *testing.T, q *workqueue.DelayingQueue[string]) {
		q.Add("a")
		q.AddAfter("a", time.Second)
		assert.Equal(t, []string{"a"}, takeAll(t, q))
		advance(time.Hour)
		assert.Zero(t, q.Len())
	})
}

func TestDelayThatEndsDuringProcessingWaitsForDone(t *testing.T) {
	inBubble(t, func(t *testing.T, q *workqueue.DelayingQueue[string]) {
		q.Add("a")
		mustGet(t, q)
		q.AddAfter("a", time.Second)
		advance(time.Minute)
		assert.Zero(t, q.Len(), "an item was offered twice at once")
		q.Done("a")
		assert.Equal(t, []string{"a"}, takeAll(t, q))
	})
}

func TestDelayOutlivesDone(t *testing.T) {
	inBubble(t, func(t *testing.T, q *workqueue.DelayingQueue[string]) {
		q.Add("a")
		mustGet(t, q)
		q.AddAfter("a", time.Second)
		q.Done("a")
		assert.Zero(t, q.Len())
		advance(time.Second)
		assert.Equal(t, []string{"a"}, takeAll(t, q))
	})
}

// Promise workqueue/9
func TestAddAfterNeverBlocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewDelaying(workqueue.Options[int]{})
		for i := range 100_000 { // nobody takes anything, no time passes
			q.AddAfter(i, time.Duration(1+i%1000))
		}
		advance(1000)
		assert.Equal(t, 100_000, q.Len())
		took := takeAll(t, q)
		assert.Equal(t, 0, took[0])
		assert.Equal(t, 999, took[99_999]%1000)
	})
}

func TestDelaysOfCenturiesDoNotOverflow(t *testing.T) {
	inBubble(t, func(t *testing.T, q *workqueue.DelayingQueue[string]) {
		advance(time.Hour)
		q.AddAfter("never", math.MaxInt64)
		q.AddAfter("past", math.MinInt64)
		assert.Equal(t, []string{"past"}, takeAll(t, q))
		advance(24 * time.Hour)
		assert.Zero(t, q.Len())
		assert.Equal(t, 1, q.Stats().Delayed)
		q.ShutDown()
	})
}

// Promise workqueue/10
func TestShutDownDropsDelayedItemsAndCountsThem(t *testing.T) {
	inBubble(t, func(t *testing.T, q *workqueue.DelayingQueue[string]) {
		q.AddAfter("a", time.Second)
		q.AddAfter("b", time.Second)
		q.Add("c")
		mustGet(t, q)
		q.AddAfter("c", time.Second)
		drained := make(chan error)
		go func() { drained <- q.ShutDownWithDrain(t.Context()) }()
		synctest.Wait()
		require.EqualValues(t, 3, q.Stats().ShutdownLosses)
		q.AddAfter("d", time.Second)
		q.Done("c")
		// At once: nothing of the queue lingers, neither a goroutine nor a
		// timer, or the bubble would not end.
		require.NoError(t, <-drained)
		advance(time.Hour)
		assert.Zero(t, q.Len())
		assert.Zero(t, q.Stats().Delayed)
	})
}
