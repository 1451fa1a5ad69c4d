package workqueue_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/informerkit/informerkit/workqueue"
)

// What leaves one state must not carry anything into the next, nor leave a worker
// asleep who could go on.

func TestDoneWakesAnIdleWorkerForAnItemThatWasAddedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Options[string]{})
		q.Add("a")
		mustGet(t, q)
		q.Add("a")
		got := make(chan string, 1)
		go func() { got <- mustGet(t, q) }()
		synctest.Wait()
		q.Done("a")
		synctest.Wait()
		assert.Len(t, got, 1, "the idle worker sleeps on")
		q.Add("b") // ends the test in any case
	})
}

// Every way to queue an item wakes a worker that is waiting already.
func TestEveryWayToQueueAnItemWakesAWorker(t *testing.T) {
	t.Parallel()
	for name, add := range map[string]func(q *workqueue.RateLimitingQueue[string]){
		"Add":      func(q *workqueue.RateLimitingQueue[string]) { q.Add("a") },
		"AddClass": func(q *workqueue.RateLimitingQueue[string]) { q.PriorityClass(1).Add("a") },
		"Park": func(q *workqueue.RateLimitingQueue[string]) {
			q.Park("a", workqueue.ConditionFunc(func(met func()) func() { met(); return nil }), time.Hour)
		},
		"Park that times out": func(q *workqueue.RateLimitingQueue[string]) { q.Park("a", never, time.Second) },
		"AddAfter 0":          func(q *workqueue.RateLimitingQueue[string]) { q.AddAfter("a", 0) },
		"AddAfter":            func(q *workqueue.RateLimitingQueue[string]) { q.AddAfter("a", time.Second) },
		"AddRateLimited":      func(q *workqueue.RateLimitingQueue[string]) { q.AddRateLimited("a") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := workqueue.NewRateLimiting(workqueue.WithMaxWait[string](nil, 0), workqueue.Options[string]{})
				got := make(chan string, 1)
				go func() {
					item, _ := q.Get(t.Context())
					got <- item
				}()
				synctest.Wait()
				add(q)
				advance(time.Second)
				assert.Len(t, got, 1, "the idle worker sleeps on")
				q.ShutDown() // ends the test in any case
			})
		})
	}
}

func TestRetriesEndWithTheItemsRecord(t *testing.T) {
	t.Parallel()
	q := workqueue.NewRateLimiting(workqueue.FastSlow[string](time.Hour, time.Hour, 0), workqueue.Options[string]{})
	q.AddRateLimited("a")
	q.Add("a")
	q.Done(mustGet(t, q)) // its record is free for another item
	q.Add("b")
	assert.Zero(t, q.Inspect(10_000).Queued[0].Retries)
}

func TestShutDownEndsTheDelayOfARunningItem(t *testing.T) {
	t.Parallel()
	q := workqueue.NewDelaying(workqueue.Options[string]{})
	q.Add("a")
	mustGet(t, q)
	q.AddAfter("a", time.Hour)
	q.ShutDown()
	running := q.Inspect(10_000).Running
	assert.Len(t, running, 1)
	assert.Zero(t, running[0].DelayedUntil)
	q.Done("a")
	assert.Zero(t, q.Stats().Running)
}

// More counts expire than one call removes.
func TestExpiredFailureThatIsNotRemovedYetStartsFromScratch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := workqueue.Exponential[string](workqueue.ExponentialOptions{Max: time.Minute})
		for _, item := range number(10, "%d") {
			l.When(item)
		}
		l.When("a")
		l.When("a")
		advance(11*time.Minute + 1)
		assert.Equal(t, 5*time.Millisecond, l.When("a"))
		assert.Equal(t, 1, l.NumRequeues("a"))
		assert.Equal(t, 10*time.Millisecond, l.When("a"))
	})
}

func TestUnfinishedWorkIsThatOfTheRunningItems(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Options[string]{Times: true})
		for _, item := range []string{"a", "b", "c"} {
			q.Add(item)
			advance(time.Second) // waiting is not work
			mustGet(t, q)
		}
		advance(time.Second)
		assert.Equal(t, (1+2+3)*time.Second, q.Stats().UnfinishedWork)
		assert.Equal(t, 3*time.Second, q.Stats().LongestRunning)
		q.Done("b")
		assert.Equal(t, (1+3)*time.Second, q.Stats().UnfinishedWork)
		q.Done("a")
		assert.Equal(t, time.Second, q.Stats().UnfinishedWork)
		assert.Equal(t, time.Second, q.Stats().LongestRunning)
		q.Done("c")
		assert.Zero(t, q.Stats().UnfinishedWork)
	})
}
