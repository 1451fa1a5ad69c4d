package workqueue_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/workqueue"
)

// another runs a second ProcessWith on the same queue.
func (p *processing) another(t *testing.T, opts options, fn func(context.Context, string) (workqueue.Result, error)) *processing {
	other := &processing{q: p.q, returned: make(chan struct{})}
	other.run(t, opts, fn)
	return other
}

// A call that ends must not stop the others, nor lose what was requested.
func TestStoppedProcessLeavesTheQueueToTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls []string
		slow := func(ctx context.Context, item string) (workqueue.Result, error) {
			calls = append(calls, item)
			<-time.After(time.Minute)
			if item == "requeued" && len(calls) < 3 {
				return workqueue.Result{RequeueAfter: time.Minute}, nil
			}
			return workqueue.Result{}, ctx.Err()
		}
		goes := start(t, options{}, func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return ctx.Err()
		})
		goes.q.Add("interrupted")
		synctest.Wait()
		stays := goes.another(t, options{}, slow)
		goes.q.Add("again")
		synctest.Wait()
		goes.q.Add("again") // while stays works on it
		goes.q.Add("requeued")
		goes.q.AddAfter("delayed", time.Hour)

		goes.stop()
		assert.NoError(t, goes.err)
		assert.Zero(t, goes.left)
		assert.Equal(t, []workqueue.Action{workqueue.Retried}, goes.actions())
		assert.False(t, stays.q.ShuttingDown())
		advance(2 * time.Hour)
		assert.Equal(t, []string{"again", "requeued", "interrupted", "again", "requeued", "delayed"}, calls)

		stays.q.AddAfter("left", time.Hour)
		stays.stop()
		assert.True(t, stays.q.ShuttingDown(), "the last one shuts the queue down")
		assert.Equal(t, leftover{Delayed: []string{"left"}}, stays.left)
	})
}

func TestStoppedProcessReturnsWhatItsOwnWorkersStillHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		stuck := func(context.Context, string) error { <-release; return nil }
		for _, drain := range []bool{false, true} {
			goes := start(t, options{Drain: drain, StopTimeout: time.Minute}, stuck)
			goes.q.Add("its own")
			synctest.Wait()
			stays := goes.another(t, options{}, resultless(stuck))
			goes.q.AddAll([]string{"of the other", "queued"})
			synctest.Wait()
			goes.q.Add("its own") // again

			goes.stop()
			assert.ErrorIs(t, goes.err, workqueue.ErrStopTimeout)
			assert.Equal(t, leftover{Running: []string{"its own"}}, goes.left)
			require.Equal(t, 1, goes.q.Stats().Again, "the request belongs to the other")
			release <- struct{}{}
			release <- struct{}{}
			synctest.Wait()
			assert.Zero(t, goes.q.Stats().Queued+goes.q.Stats().Again-1, "the other works them off")
			close(release)
			synctest.Wait()
			assert.Len(t, stays.actions(), 3)
			stays.stop()
			assert.Zero(t, stays.left)
			release = make(chan struct{})
		}
	})
}

// Both stop at the same moment: no request may be lost between them.
func TestProcessesThatStopTogetherReturnEveryRequestOnce(t *testing.T) {
	t.Parallel()
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			fn := func(ctx context.Context, _ string) error {
				<-ctx.Done()
				return ctx.Err()
			}
			one := start(t, options{}, fn)
			two := one.another(t, options{}, resultless(fn))
			one.q.AddAll([]string{"a", "b", "c"})
			one.q.AddAfter("d", time.Hour)
			synctest.Wait()
			one.q.Add("a") // again
			one.cancel()
			two.cancel()
			<-one.returned
			<-two.returned
			got := map[string]int{}
			for _, l := range []leftover{one.left, two.left} {
				for _, item := range append(l.Queued, l.Delayed...) {
					got[item]++
				}
				assert.Empty(t, l.Running)
			}
			// Two requests are for a: the failed one, and the one made meanwhile. If the
			// worker notices the stop before the queue is shut down, its retry collapses
			// with the other (promise 3). If after, both are left over, as Leftovers says.
			assert.Contains(t, []int{1, 2}, got["a"])
			delete(got, "a")
			assert.Equal(t, map[string]int{"b": 1, "c": 1, "d": 1}, got)
			assert.True(t, one.q.ShuttingDown())
		})
	}
}

// With Drain, only the last one drains the queue: the others just stop.
func TestStoppedProcessDoesNotDrainForTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		goes := start(t, options{Drain: true}, func(context.Context, string) error { return nil })
		stays := goes.another(t, options{}, resultless(func(context.Context, string) error { return nil }))
		goes.cancel()
		synctest.Wait()
		select {
		case <-goes.returned:
		default:
			t.Error("it goes on taking items")
		}
		goes.q.Add("a")
		synctest.Wait()
		assert.Len(t, stays.actions(), 1)
		stays.stop()
		<-goes.returned
	})
}

// One that has ended, because the queue was shut down and nothing was queued, is
// no longer there to return what is left.
func TestLastProcessIsTheLastThatHasNotEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fn := func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return ctx.Err()
		}
		works := start(t, options{}, fn)
		works.q.Add("a")
		synctest.Wait()
		idle := works.another(t, options{}, resultless(fn))
		works.q.Add("a") // again
		works.q.ShutDown()
		<-idle.returned
		works.stop()
		assert.Equal(t, []string{"a", "a"}, works.left.Queued)
		assert.Zero(t, works.q.Len())
	})
}

func TestStopEndsADrainOfTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := start(t, options{}, func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return ctx.Err()
		})
		p.q.AddAll([]string{"running", "queued"})
		drained := make(chan error, 1)
		go func() { drained <- p.q.ShutDownWithDrain(t.Context()) }()
		synctest.Wait()
		p.stop()
		synctest.Wait()
		if assert.Len(t, drained, 1, "nothing is queued or running, but the drain goes on") {
			assert.NoError(t, <-drained)
		}
		p.q.ShutDown() // ends the test in any case
	})
}

// What is left over as running is not queued again when it is done after all.
func TestLeftoverOfARunningItemDoesNotComeBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := start(t, options{StopTimeout: time.Minute}, func(context.Context, string) error { <-release; return nil })
		p.q.Add("stuck")
		synctest.Wait()
		p.q.Add("stuck") // again
		p.stop()
		assert.Equal(t, leftover{Running: []string{"stuck"}}, p.left)
		close(release)
		synctest.Wait()
		stats := p.q.Stats()
		assert.Zero(t, stats.Running+stats.Queued+stats.Again, "%+v", stats)
	})
}

// An item whose context the stop has cancelled has not failed for the last time.
func TestInterruptedItemIsNotDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := start(t, options{MaxAttempts: 1}, func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return ctx.Err()
		})
		p.q.Add("a")
		synctest.Wait()
		p.stop()
		assert.Equal(t, []workqueue.Action{workqueue.Interrupted}, p.actions())
		assert.Equal(t, leftover{Queued: []string{"a"}}, p.left)
	})
}

func TestStatsCountDroppedItemsAndShutdownLossesApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := start(t, options{MaxAttempts: 2}, func(ctx context.Context, item string) error {
			switch item {
			case "terminal":
				return workqueue.Terminal(assert.AnError)
			case "running":
				<-ctx.Done()
			}
			return assert.AnError
		})
		p.q.AddAll([]string{"terminal", "poison"})
		advance(time.Minute)
		assert.EqualValues(t, 2, p.q.Stats().Dropped)
		assert.Zero(t, p.q.Stats().ShutdownLosses)

		p.q.AddAfter("delayed", time.Hour)
		p.q.AddAll([]string{"running", "queued 1", "queued 2"})
		synctest.Wait()
		p.stop()
		assert.Equal(t, leftover{Queued: []string{"running", "queued 1", "queued 2"}, Delayed: []string{"delayed"}}, p.left)
		assert.EqualValues(t, 2, p.q.Stats().Dropped)
		assert.EqualValues(t, 4, p.q.Stats().ShutdownLosses)
	})
}
