package workqueue_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/workqueue"
)

// process runs fn in one worker until the end of the test.
func process(t *testing.T, q *workqueue.RateLimitingQueue[string], opts workqueue.ProcessOptions[string], fn func(item string) error) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	opts.Logger = slog.New(slog.DiscardHandler)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, err := workqueue.ProcessWith(ctx, q, opts, func(_ context.Context, item string) (workqueue.Result, error) {
			return workqueue.Result{}, fn(item)
		})
		assert.NoError(t, err)
	}()
	return func() { cancel(); <-ended }
}

func TestInspectionShowsTheLastErrorOfWhatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewRateLimiting(
			workqueue.FastSlow[string](time.Second, time.Hour, 2), workqueue.Options[string]{})
		poisoned := true
		stop := process(t, q, workqueue.ProcessOptions[string]{CapturePanics: true}, func(item string) error {
			switch {
			case item == "poison" && poisoned:
				return errors.New("cannot swallow")
			case item == "terminal":
				return workqueue.Terminal(errors.New("no use"))
			case item == "panics":
				panic("oh")
			}
			return nil
		})
		q.AddAll([]string{"good", "poison", "terminal"})
		advance(10 * time.Second)
		q.Add("panics")
		synctest.Wait()

		in := q.Inspect()
		require.Len(t, in.Failures, 3)
		assert.Equal(t, 3, in.Failing)
		assert.Equal(t, 3, q.Stats().Failing)
		poison, panics, terminal := in.Failures[0], in.Failures[1], in.Failures[2]
		assert.Equal(t, "poison", poison.Item, "the most attempts first")
		assert.Equal(t, 3, poison.Attempts)
		assert.EqualError(t, poison.Err, "cannot swallow")
		assert.Equal(t, 8*time.Second, time.Since(poison.Time))
		assert.Equal(t, workqueue.Retried, poison.Action)
		assert.Equal(t, time.Hour, poison.NextAttempt.Sub(poison.Time))
		assert.Equal(t, "panics", panics.Item, "then the latest first")
		var captured *workqueue.PanicError
		assert.ErrorAs(t, panics.Err, &captured)
		assert.Equal(t, workqueue.Dropped, terminal.Action)
		assert.Zero(t, terminal.NextAttempt)
		limited := q.InspectUpTo(1)
		assert.Len(t, limited.Failures, 1)
		assert.Equal(t, 3, limited.Failing)

		poisoned = false
		q.Add("poison")
		synctest.Wait()
		in = q.Inspect()
		assert.Equal(t, 2, in.Failing, "a success clears it")
		assert.Equal(t, 2, q.Stats().Failing)
		assert.Equal(t, "panics", in.Failures[0].Item)
		stop()
	})
}

func TestLastFailuresAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewRateLimiting(workqueue.FastSlow[string](24*time.Hour, 24*time.Hour, 1), workqueue.Options[string]{})
		stop := process(t, q, workqueue.ProcessOptions[string]{}, func(item string) error {
			advance(time.Millisecond)
			return errors.New(item)
		})
		for i := range 300 {
			q.Add(fmt.Sprint(i))
		}
		advance(time.Minute)
		in := q.Inspect()
		assert.Equal(t, 256, in.Failing)
		assert.Equal(t, "299", in.Failures[0].Item)
		assert.Equal(t, "44", in.Failures[255].Item, "the oldest made room")
		stop()
	})
}

func TestThroughputOfTheLastMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Options[int]{Times: true})
		done := func(n int) {
			for i := range n {
				q.Add(i)
				q.Done(mustGet(t, q))
			}
		}
		last := func(n int) []int { all := q.Inspect().Throughput; return all[len(all)-n:] }
		require.Len(t, q.Inspect().Throughput, 30)
		done(3)
		assert.Equal(t, []int{0, 3}, last(2))
		advance(workqueue.ThroughputPeriod)
		assert.Equal(t, []int{3, 0}, last(2))
		done(1)
		advance(2 * workqueue.ThroughputPeriod)
		done(2)
		assert.Equal(t, []int{0, 3, 1, 0, 2}, last(5))
		advance(27 * workqueue.ThroughputPeriod)
		assert.Equal(t, []int{1, 0, 2}, q.Inspect().Throughput[:3], "the first has gone")
		advance(1000 * workqueue.ThroughputPeriod)
		assert.Equal(t, make([]int, 30), q.Inspect().Throughput)

		assert.Nil(t, workqueue.New(workqueue.Options[int]{}).Inspect().Throughput, "keeps no times")
	})
}

func TestInspectionShowsTheAgeOfEachClass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Options[string]{MaxWait: []time.Duration{0, time.Minute}})
		began := time.Now()
		q.PriorityClass(1).Add("low")
		advance(time.Second)
		q.PriorityClass(1).Add("low too")
		classes := q.Inspect().PriorityClasses
		assert.Zero(t, classes[0].QueuedSince)
		assert.True(t, began.Equal(classes[1].QueuedSince))
		plain := workqueue.New(workqueue.Options[string]{})
		plain.Add("a")
		assert.Zero(t, plain.Inspect().PriorityClasses[0].QueuedSince, "keeps no times")
	})
}
