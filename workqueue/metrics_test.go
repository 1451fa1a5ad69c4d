package workqueue_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/workqueue"
)

// meter adds up the calls. It calls the queue back, which must not
// deadlock.
type meter struct {
	name string

	added          atomic.Int64 // also by the timer
	retried        int
	waited, worked []time.Duration
	q              interface {
		Stats() workqueue.Stats
		Len() int
		Inspect(limit int, only ...string) workqueue.Inspection[string]
	}
}

// Workqueue makes it also the provider.
func (m *meter) Workqueue(name string, queue interface{ Stats() workqueue.Stats }) workqueue.Metrics {
	m.name, m.q = name, queue.(*workqueue.Queue[string])
	return m
}

func (m *meter) Added(n int)              { m.added.Add(int64(n)); m.q.Len() }
func (m *meter) Retried()                 { m.retried++; m.q.Stats() }
func (m *meter) Started(d time.Duration)  { m.waited = append(m.waited, d); m.q.Len() }
func (m *meter) Finished(d time.Duration) { m.worked = append(m.worked, d); m.q.Inspect(10_000) }

// scraper is a provider whose scrape comes as soon as it has a queue.
type scraper struct {
	meter
	inspected workqueue.Inspection[string]
	scrape    sync.WaitGroup
}

func (s *scraper) Workqueue(name string, queue interface{ Stats() workqueue.Stats }) workqueue.Metrics {
	s.meter.Workqueue(name, queue)
	s.scrape.Go(func() { s.q.Stats() }) // for the race detector
	s.inspected = s.q.Inspect(1)
	return s
}

func TestAQueueIsCompleteWhenItsProviderGetsIt(t *testing.T) {
	t.Parallel()
	s := &scraper{}
	workqueue.New(workqueue.Options[string]{Name: "letters", Metrics: s, MaxWait: []time.Duration{0, time.Minute}})
	s.scrape.Wait()
	assert.Equal(t, "letters", s.inspected.Name)
	assert.True(t, s.inspected.Timed)
	assert.Len(t, s.inspected.PriorityClasses, 2)
}

func TestMetricsHaveTheStandardMeaning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &meter{}
		q := workqueue.NewRateLimiting(workqueue.FastSlow[string](time.Second, time.Second, 0), workqueue.Options[string]{Name: "letters", Metrics: m})
		assert.Equal(t, "letters", m.name)

		q.Add("a")
		advance(time.Second)
		q.Add("a") // changes nothing
		addAll(q, []string{"a", "b"})
		assert.EqualValues(t, 2, m.added.Load())
		assert.Equal(t, 2, q.Stats().Queued)

		advance(time.Second)
		mustGet(t, q)
		assert.Equal(t, []time.Duration{2 * time.Second}, m.waited, "since the first Add")
		advance(time.Second)
		mustGet(t, q)
		q.Add("a")
		advance(3 * time.Second)
		s := q.Stats()
		assert.Equal(t, 7*time.Second, s.UnfinishedWork)
		assert.Equal(t, 4*time.Second, s.LongestRunning)
		assert.Equal(t, 1, s.Again)
		assert.Equal(t, 2, s.Running)

		q.Done("a")
		assert.Equal(t, []time.Duration{4 * time.Second}, m.worked)
		assert.Equal(t, 3*time.Second, q.Stats().LongestRunning)
		q.AddRateLimited("b")
		q.Done("b")
		assert.Equal(t, 1, m.retried)
		assert.EqualValues(t, 3, m.added.Load())
		advance(time.Second)
		assert.EqualValues(t, 4, m.added.Load(), "a delayed item counts when its delay ends")
		takeAll(t, q)
		assert.Equal(t, 4*time.Second, m.waited[2], "a waited since it was added again, not since Done")

		q.Done("stray")
		assert.Len(t, m.worked, 4)
		q.AddAfter("later", time.Hour)
		assert.Equal(t, 1, m.retried, "a delay that the caller asks for is not a retry")
		q.ShutDown()
		q.Add("late")
		q.AddRateLimited("late")
		q.AddAfter("late", 1)
		assert.EqualValues(t, 4, m.added.Load())
		assert.Equal(t, 1, m.retried)
		assert.EqualValues(t, 4, q.Stats().Added)
		assert.EqualValues(t, 1, q.Stats().Retried)
		assert.Zero(t, q.Stats().UnfinishedWork)
	})
}

func TestInspectShowsEveryItemAndItsTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		q := workqueue.NewRateLimiting(workqueue.FastSlow[string](time.Minute, time.Minute, 0), workqueue.Options[string]{
			Name:    "pods",
			MaxWait: []time.Duration{0, time.Hour},
			Group:   func(s string) string { return s[:1] },
		})
		q.PriorityClass(1).Add("r1")
		advance(time.Second)
		mustGet(t, q)
		q.PriorityClass(1).Add("q1")
		q.Add("q2")
		q.AddRateLimited("r1")
		q.AddAfter("d1", time.Hour)

		running := workqueue.Item[string]{
			Item: "r1", PriorityClass: 1, Group: "r", Retries: 1,
			RunningSince: began.Add(time.Second),
			DelayedUntil: began.Add(time.Minute + time.Second),
		}
		in := q.Inspect(10_000)
		assert.Equal(t, "pods", in.Name)
		assert.False(t, in.ShuttingDown)
		assert.Equal(t, []workqueue.Item[string]{
			{Item: "q2", Group: "q", QueuedSince: began.Add(time.Second)},
			{Item: "q1", PriorityClass: 1, Group: "q", QueuedSince: began.Add(time.Second)},
		}, in.Queued)
		assert.Equal(t, []workqueue.Item[string]{running}, in.Running)
		assert.ElementsMatch(t, []workqueue.Item[string]{
			running,
			{Item: "d1", Group: "d", DelayedUntil: began.Add(time.Hour + time.Second)},
		}, in.Delayed)

		q.Forget("r1")
		q.Add("r1")
		q.ShutDown()
		in = q.Inspect(10_000)
		require.Len(t, in.Running, 1)
		assert.True(t, in.Running[0].Again)
		assert.Equal(t, began.Add(time.Second), in.Running[0].QueuedSince)
		assert.Zero(t, in.Running[0].Retries)
		assert.Empty(t, in.Delayed)
		assert.True(t, in.ShuttingDown)
	})
}

func TestQueueWithoutTimesShowsNone(t *testing.T) {
	t.Parallel()
	q := workqueue.New(workqueue.Options[string]{})
	addAll(q, []string{"a", "b"})
	mustGet(t, q)
	assert.Equal(t, []workqueue.Item[string]{{Item: "b"}}, q.Inspect(10_000).Queued)
	assert.Equal(t, []workqueue.Item[string]{{Item: "a"}}, q.Inspect(10_000).Running)
	assert.Zero(t, q.Stats().LongestRunning)
}
