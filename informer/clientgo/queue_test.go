package clientgo_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	upstream "k8s.io/client-go/util/workqueue"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/informerkit/informerkit/informer/clientgo"
	"github.com/informerkit/informerkit/workqueue"
)

func TestQueueTakesThePlaceOfClientGos(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := upstream.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute)
		var q upstream.TypedRateLimitingInterface[string] = clientgo.NewTypedRateLimitingQueue(limiter)
		q.AddRateLimited("a")
		q.AddRateLimited("a")
		assert.Equal(t, 2, q.NumRequeues("a"))
		assert.Zero(t, q.Len())
		start := time.Now()
		item, shutdown := q.Get()
		assert.Equal(t, "a", item)
		assert.False(t, shutdown)
		assert.Equal(t, time.Second, time.Since(start), "the shorter of two delays counts")
		q.Forget("a")
		assert.Zero(t, q.NumRequeues("a"))
		q.Done("a")
		q.ShutDownWithDrain()
		_, shutdown = q.Get()
		assert.True(t, shutdown)
		assert.True(t, q.ShuttingDown())
	})
}

func TestQueueWithOptionsOfOursBehindTheInterface(t *testing.T) {
	t.Parallel()
	ours := workqueue.NewRateLimiting[string](nil, workqueue.Options[string]{
		MaxWait:       []time.Duration{0, time.Minute},
		PriorityClass: func(item string) int { return len(item) },
	})
	q := clientgo.FromQueue(ours)
	q.Add("x")
	q.Add("")
	first, _ := q.Get()
	assert.Empty(t, first, "the urgent class comes first")
	assert.Same(t, ours, q.Unwrap())
}

func TestWhatAQueueCannotKeepPanics(t *testing.T) {
	t.Parallel()
	assert.PanicsWithValue(t, "clientgo: TypedQueueConfig.Queue is not supported: workqueue.Options has priority classes and fair groups, see FromQueue", func() {
		clientgo.NewTypedWithConfig(upstream.TypedQueueConfig[string]{Queue: upstream.DefaultQueue[string]()})
	})
	assert.Panics(t, func() {
		clientgo.NewTypedDelayingQueueWithConfig(upstream.TypedDelayingQueueConfig[string]{Queue: upstream.NewTyped[string]()})
	})
	assert.Panics(t, func() {
		clientgo.NewTypedRateLimitingQueueWithConfig(nil, upstream.TypedRateLimitingQueueConfig[string]{DelayingQueue: upstream.NewTypedDelayingQueue[string]()})
	})
}

// A clock of the configuration drives the delays, for tests that step it.
func TestClockOfTheConfigurationDrivesDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := testingclock.NewFakeClock(time.Now())
		limiter := upstream.NewTypedItemExponentialFailureRateLimiter[string](time.Hour, time.Hour)
		q := clientgo.NewTypedRateLimitingQueueWithConfig(limiter, upstream.TypedRateLimitingQueueConfig[string]{Clock: fake})
		q.AddRateLimited("limited")
		q.AddAfter("late", 2*time.Hour)
		q.AddAfter("soon", time.Minute)
		q.AddAfter("soon", time.Hour)
		q.AddAfter("at once", 0)
		synctest.Wait()
		assert.Equal(t, 1, q.Len())
		fake.Step(3 * time.Hour)
		synctest.Wait()
		for _, want := range []string{"at once", "soon", "limited", "late"} {
			item, _ := q.Get()
			assert.Equal(t, want, item)
		}
		assert.Equal(t, 1, q.NumRequeues("limited"))
		q.AddAfter("never", time.Hour)
		q.ShutDown() // ends the goroutine of the delay; the bubble would report it
		q.ShutDown()
		q.AddAfter("never", time.Hour)
		q.AddRateLimited("never")
	})
}

func TestMetricsProviderOfClientGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &provider{}
		q := clientgo.NewTypedRateLimitingQueueWithConfig[string](nil, upstream.TypedRateLimitingQueueConfig[string]{Name: "q", MetricsProvider: m})
		q.Add("a")
		q.Add("b")
		q.AddRateLimited("c")
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, 3.0, m.depth.value)
		q.Get()
		time.Sleep(1750 * time.Millisecond)
		q.Done("a")
		assert.Equal(t, 2.0, m.depth.value)
		assert.Equal(t, 3.0, m.adds.value)
		assert.Equal(t, 1.0, m.retries.value)
		assert.InDelta(t, 1.0, m.latency.value, 0.01)
		assert.InDelta(t, 1.75, m.work.value, 0.01)
		q.ShutDown() // ends the goroutine that writes the next one
		assert.InDelta(t, 1.5, m.longest.value, 0.01, "it is written every half second")
	})
}

type provider struct{ depth, adds, retries, latency, work, unfinished, longest value }

type value struct{ value float64 }

func (v *value) Inc()              { v.value++ }
func (v *value) Dec()              { v.value-- }
func (v *value) Set(x float64)     { v.value = x }
func (v *value) Observe(x float64) { v.value = x }

func (p *provider) NewDepthMetric(string) upstream.GaugeMetric            { return &p.depth }
func (p *provider) NewAddsMetric(string) upstream.CounterMetric           { return &p.adds }
func (p *provider) NewLatencyMetric(string) upstream.HistogramMetric      { return &p.latency }
func (p *provider) NewWorkDurationMetric(string) upstream.HistogramMetric { return &p.work }
func (p *provider) NewUnfinishedWorkSecondsMetric(string) upstream.SettableGaugeMetric {
	return &p.unfinished
}
func (p *provider) NewLongestRunningProcessorSecondsMetric(string) upstream.SettableGaugeMetric {
	return &p.longest
}
func (p *provider) NewRetriesMetric(string) upstream.CounterMetric { return &p.retries }

// As in client-go, all items together are retried 10 times a second after the first 100.
func TestANilLimiterIsClientGosDefault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		waited := func(q upstream.TypedRateLimitingInterface[int]) time.Duration {
			defer q.ShutDown()
			for i := range 150 {
				q.AddRateLimited(i)
			}
			began := time.Now()
			for range 150 {
				item, _ := q.Get()
				q.Done(item)
			}
			return time.Since(began).Round(time.Millisecond)
		}
		want := 5 * time.Second
		assert.Equal(t, want, waited(clientgo.NewTypedRateLimitingQueue[int](nil)))
		assert.Equal(t, want, waited(upstream.NewTypedRateLimitingQueue(upstream.DefaultTypedControllerRateLimiter[int]())))
	})
}
