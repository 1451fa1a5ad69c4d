package workqueue_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/informerkit/informerkit/workqueue"
)

func TestStopEndsADrainOfTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := start(t, options{}, func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return ctx.Err()
		})
		addAll(p.q, []string{"running", "queued"})
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

// What is still running at the end of the stop timeout is not queued again when it is done
// after all.
func TestItemThatEndsAfterTheStopDoesNotComeBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := start(t, options{StopTimeout: time.Minute}, func(context.Context, string) error { <-release; return nil })
		p.q.Add("stuck")
		synctest.Wait()
		p.q.Add("stuck") // again
		p.stop()
		p.assertLost(t, 1, 1)
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
		p.assertLost(t, 1, 0)
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
		addAll(p.q, []string{"terminal", "poison"})
		advance(time.Minute)
		assert.EqualValues(t, 2, p.q.Stats().Dropped)
		assert.Zero(t, p.q.Stats().ShutdownLosses)

		p.q.AddAfter("delayed", time.Hour)
		addAll(p.q, []string{"running", "queued 1", "queued 2"})
		synctest.Wait()
		p.stop()
		assert.EqualValues(t, 2, p.q.Stats().Dropped)
		assert.EqualValues(t, 4, p.q.Stats().ShutdownLosses)
	})
}
