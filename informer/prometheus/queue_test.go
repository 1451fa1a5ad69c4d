package prometheus_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/workqueue"
)

// Promise prometheus/1
// Promise prometheus/2
func TestQueueIsShownUnderTheNamesOfKubernetes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		metrics, registry := newMetrics(t)
		limiter := workqueue.Exponential[string](workqueue.ExponentialOptions{Base: time.Minute})
		queue := workqueue.NewRateLimiting(limiter, workqueue.Options[string]{Name: "pods", Metrics: metrics})
		defer queue.ShutDown()

		assert.Equal(t, page{
			`workqueue_adds_total{name="pods"}`:                        0,
			`workqueue_depth{name="pods"}`:                             0,
			`workqueue_running{name="pods"}`:                           0,
			`workqueue_delayed{name="pods"}`:                           0,
			`workqueue_failing{name="pods"}`:                           0,
			`workqueue_class_depth{class="0",name="pods"}`:             0,
			`workqueue_class_oldest_seconds{class="0",name="pods"}`:    0,
			`workqueue_dropped_total{name="pods"}`:                     0,
			`workqueue_panics_total{name="pods"}`:                      0,
			`workqueue_parked{name="pods"}`:                            0,
			`workqueue_park_timeouts_total{name="pods"}`:               0,
			`workqueue_shutdown_losses_total{name="pods"}`:             0,
			`workqueue_longest_running_processor_seconds{name="pods"}`: 0,
			`workqueue_queue_duration_seconds_count{name="pods"}`:      0,
			`workqueue_queue_duration_seconds_sum{name="pods"}`:        0,
			`workqueue_retries_total{name="pods"}`:                     0,
			`workqueue_unfinished_work_seconds{name="pods"}`:           0,
			`workqueue_work_duration_seconds_count{name="pods"}`:       0,
			`workqueue_work_duration_seconds_sum{name="pods"}`:         0,
		}, scrape(t, registry).about(`name="pods"`), "before anything has happened")

		for _, item := range []string{"a", "b", "c", "b"} {
			queue.Add(item)
		} // b is one request
		time.Sleep(2 * time.Second)
		take(t, queue, "a")
		time.Sleep(3 * time.Second)
		take(t, queue, "b")
		queue.Add("a") // it is running: it waits, and counts as waiting
		time.Sleep(4 * time.Second)
		queue.AddRateLimited("d")

		assert.Equal(t, page{
			`workqueue_adds_total{name="pods"}`:                        4,
			`workqueue_depth{name="pods"}`:                             2, // c, and a again
			`workqueue_running{name="pods"}`:                           2,
			`workqueue_delayed{name="pods"}`:                           1,
			`workqueue_failing{name="pods"}`:                           1, // d is a retry
			`workqueue_class_depth{class="0",name="pods"}`:             1,
			`workqueue_class_oldest_seconds{class="0",name="pods"}`:    9,
			`workqueue_dropped_total{name="pods"}`:                     0,
			`workqueue_panics_total{name="pods"}`:                      0,
			`workqueue_parked{name="pods"}`:                            0,
			`workqueue_park_timeouts_total{name="pods"}`:               0,
			`workqueue_shutdown_losses_total{name="pods"}`:             0,
			`workqueue_longest_running_processor_seconds{name="pods"}`: 7,
			`workqueue_queue_duration_seconds_count{name="pods"}`:      2,
			`workqueue_queue_duration_seconds_sum{name="pods"}`:        2 + 5,
			`workqueue_retries_total{name="pods"}`:                     1,
			`workqueue_unfinished_work_seconds{name="pods"}`:           7 + 4,
			`workqueue_work_duration_seconds_count{name="pods"}`:       0,
			`workqueue_work_duration_seconds_sum{name="pods"}`:         0,
		}, scrape(t, registry).about(`name="pods"`), "in the middle")

		time.Sleep(time.Second)
		scrape(t, registry).includes(t, page{ // nothing has happened but time
			`workqueue_longest_running_processor_seconds{name="pods"}`: 8,
			`workqueue_unfinished_work_seconds{name="pods"}`:           8 + 5,
		})

		queue.Done("a")
		queue.Done("b")
		time.Sleep(time.Hour) // d's delay ends
		scrape(t, registry).includes(t, page{
			`workqueue_adds_total{name="pods"}`:                        5,
			`workqueue_depth{name="pods"}`:                             3,
			`workqueue_longest_running_processor_seconds{name="pods"}`: 0,
			`workqueue_unfinished_work_seconds{name="pods"}`:           0,
			`workqueue_work_duration_seconds_count{name="pods"}`:       2,
			`workqueue_work_duration_seconds_sum{name="pods"}`:         8 + 5,
		})
	})
}

// A class that is starved and an item that fails are seen
// without a look at the page.
func TestQueueShowsClassesAndFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		metrics, registry := newMetrics(t)
		limiter := workqueue.Exponential[string](workqueue.ExponentialOptions{Base: time.Hour, Max: time.Hour})
		queue := workqueue.NewRateLimiting(limiter, workqueue.Options[string]{
			Name: "pods", Metrics: metrics, MaxWait: []time.Duration{0, 30 * time.Second},
		})
		queue.PriorityClass(1).Add("bulk1")
		queue.PriorityClass(1).Add("bulk2")
		for _, item := range []string{"urgent"} {
			queue.Add(item)
		}
		time.Sleep(time.Minute)
		scrape(t, registry).includes(t, page{
			`workqueue_class_depth{class="0",name="pods"}`:            1,
			`workqueue_class_depth{class="1",name="pods"}`:            2,
			`workqueue_class_oldest_seconds{class="0",name="pods"}`:   60,
			`workqueue_class_oldest_seconds{class="1",name="pods"}`:   60,
			`workqueue_class_max_wait_seconds{class="1",name="pods"}`: 30,
		})
		stop := run(t, func(ctx context.Context) error {
			err := workqueue.ProcessWith(ctx, queue, workqueue.ProcessOptions[string]{Logger: slog.New(slog.DiscardHandler)},
				func(_ context.Context, item string) (workqueue.Result, error) {
					if item == "urgent" {
						return workqueue.Result{}, assert.AnError
					}
					time.Sleep(time.Second)
					return workqueue.Result{}, nil
				})
			return err
		})
		time.Sleep(500 * time.Millisecond)
		scrape(t, registry).includes(t, page{`workqueue_running{name="pods"}`: 1})
		time.Sleep(time.Minute)
		scrape(t, registry).includes(t, page{
			`workqueue_failing{name="pods"}`:                        1,
			`workqueue_delayed{name="pods"}`:                        1,
			`workqueue_class_oldest_seconds{class="1",name="pods"}`: 0,
		})
		stop()
		queue.ShutDown()
	})
}

// What is given up, and what a shutdown costs, are different things.
func TestQueueShowsDroppedItemsAndShutdownLosses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		metrics, registry := newMetrics(t)
		queue := workqueue.NewRateLimiting(nil, workqueue.Options[string]{Name: "pods", Metrics: metrics})
		for _, item := range []string{"a", "b"} {
			queue.Add(item)
		}
		for i := range 3 {
			queue.AddAfter(fmt.Sprint("later", i), time.Hour)
		}
		never := workqueue.ConditionFunc(func(func()) func() { return nil })
		queue.Park("timed out", never, time.Second)
		queue.Park("parked", never, time.Hour)
		time.Sleep(time.Second)
		synctest.Wait() // the timer of the park is due at the same instant
		scrape(t, registry).includes(t, page{
			`workqueue_parked{name="pods"}`:              1,
			`workqueue_park_timeouts_total{name="pods"}`: 1,
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := workqueue.ProcessWith(ctx, queue, workqueue.ProcessOptions[string]{Logger: slog.New(slog.DiscardHandler)},
			func(context.Context, string) (workqueue.Result, error) {
				return workqueue.Result{}, workqueue.Terminal(assert.AnError)
			})
		require.NoError(t, err)
		scrape(t, registry).includes(t, page{
			`workqueue_dropped_total{name="pods"}`:         3,
			`workqueue_shutdown_losses_total{name="pods"}`: 4,
		}) // once more
		assert.Empty(t, scrape(t, registry))
	})
}

func take(t *testing.T, queue *workqueue.RateLimitingQueue[string], want string) {
	t.Helper()
	got, ok := queue.Get(t.Context())
	require.True(t, ok)
	require.Equal(t, want, got)
}

func TestQueueHistogramsHaveTheUsualBuckets(t *testing.T) {
	t.Parallel()
	metrics, registry := newMetrics(t)
	workqueue.New(workqueue.Options[string]{Name: "pods", Metrics: metrics})
	page := scrape(t, registry)
	for _, family := range []string{"workqueue_queue_duration_seconds", "workqueue_work_duration_seconds"} {
		buckets := 0
		for series := range page {
			if strings.HasPrefix(series, family+"_bucket") {
				buckets++
			}
		}
		assert.Equal(t, 11, buckets, family)
		for _, bound := range []string{
			"1e-08", "1e-07", "1e-06", "9.999999999999999e-06", "9.999999999999999e-05",
			"0.001", "0.01", "0.1", "1", "10", "+Inf",
		} {
			assert.Contains(t, page, fmt.Sprintf(`%s_bucket{name="pods",le=%q}`, family, bound))
		}
	}
}

// Promise prometheus/3
func TestQueueEndsWithTheScrapeAfterItsShutdown(t *testing.T) {
	t.Parallel()
	metrics, registry := newMetrics(t)
	queue := workqueue.NewRateLimiting(nil, workqueue.Options[string]{Name: "pods", Metrics: metrics})
	other := workqueue.New(workqueue.Options[string]{Name: "nodes", Metrics: metrics})
	queue.Add("a")
	queue.ShutDown()
	for range 3 {
		assert.NotEmpty(t, scrape(t, registry).about(`name="pods"`), "it is not empty yet")
	}
	take(t, queue, "a")
	assert.NotEmpty(t, scrape(t, registry).about(`name="pods"`), "an item is running")
	queue.Done("a")
	scrape(t, registry).includes(t, page{`workqueue_adds_total{name="pods"}`: 1, `workqueue_running{name="pods"}`: 0})
	assert.Empty(t, scrape(t, registry).about(`name="pods"`))
	assert.NotEmpty(t, scrape(t, registry).about(`name="nodes"`))

	next := workqueue.New(workqueue.Options[string]{Name: "pods", Metrics: metrics})
	next.Add("b")
	scrape(t, registry).includes(t, page{`workqueue_adds_total{name="pods"}`: 1})
	next.ShutDown()
	last := workqueue.New(workqueue.Options[string]{Name: "pods", Metrics: metrics}) // without a scrape in between
	scrape(t, registry).includes(t, page{`workqueue_adds_total{name="pods"}`: 0})
	for _, q := range []*workqueue.Queue[string]{last, other} {
		q.ShutDown()
	}
	scrape(t, registry)
	assert.Empty(t, scrape(t, registry))
}

// Promise prometheus/4
func TestQueuesOfOneNameAreNumbered(t *testing.T) {
	t.Parallel()
	metrics, registry := newMetrics(t)
	for _, name := range []string{"pods", "pods", "pods\xff"} {
		workqueue.New(workqueue.Options[string]{Name: name, Metrics: metrics}).Add("a")
	}
	for _, name := range []string{"pods", "pods-2", "pods\uFFFD"} {
		scrape(t, registry).includes(t, page{fmt.Sprintf("workqueue_adds_total{name=%q}", name): 1})
	}
}
