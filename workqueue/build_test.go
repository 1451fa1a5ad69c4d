package workqueue_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	step08 "github.com/informerkit/informerkit/examples/build/step08"
	"github.com/informerkit/informerkit/workqueue"
)

// plainQueue is what a queue needs for the promises 1, 2, 3 and 8.
type plainQueue interface {
	getter[string]
	Add(item string)
	Done(item string)
}

// onPlainQueues runs a test, in a bubble, on this package's queue and on the one of
// examples/build, which explains it.
func onPlainQueues(t *testing.T, test func(t *testing.T, q plainQueue)) {
	t.Helper()
	for name, newQueue := range map[string]func() plainQueue{
		"workqueue":             func() plainQueue { return workqueue.New(workqueue.Options[string]{}) },
		"examples/build/step08": func() plainQueue { return step08.NewWorkQueue[string]() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, newQueue()) })
		})
	}
}

// untilEmpty takes items until there is none, and finishes none of them.
func untilEmpty(t *testing.T, q plainQueue) (items []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for item, ok := q.Get(ctx); ok; item, ok = q.Get(ctx) {
		items = append(items, item)
	}
	return items
}

// Promise workqueue/3
func TestPlainQueuesCollapseAdds(t *testing.T) {
	onPlainQueues(t, func(t *testing.T, q plainQueue) {
		addAll(q, []string{"a", "b", "a", "b", "c"})
		assert.Equal(t, []string{"a", "b", "c"}, untilEmpty(t, q))
	})
}

// Promise workqueue/2
func TestPlainQueuesHandOutAgainWhatWasAddedMeanwhile(t *testing.T) {
	onPlainQueues(t, func(t *testing.T, q plainQueue) {
		q.Add("a")
		a := mustGet(t, q)
		q.Add("a")
		q.Add("a")
		assert.Empty(t, untilEmpty(t, q), "it is being worked on")
		q.Done(a)
		assert.Equal(t, []string{"a"}, untilEmpty(t, q))
		q.Done(a)
		assert.Empty(t, untilEmpty(t, q))
	})
}

// Promise workqueue/8
func TestPlainQueuesIgnoreAStrayDone(t *testing.T) {
	onPlainQueues(t, func(t *testing.T, q plainQueue) {
		q.Done("never added")
		q.Add("a")
		q.Done("a") // queued, and not taken
		assert.Equal(t, []string{"a"}, untilEmpty(t, q))
		q.Add("a")
		q.Done("a")
		q.Done("a")
		assert.Equal(t, []string{"a"}, untilEmpty(t, q), "queued once")
	})
}

// Promise workqueue/1
func TestPlainQueuesGiveAnItemToOneWorker(t *testing.T) {
	onPlainQueues(t, func(t *testing.T, q plainQueue) {
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		running, total := map[string]int{}, 0
		var workers sync.WaitGroup
		for range 4 {
			workers.Go(func() {
				for item, ok := q.Get(ctx); ok; item, ok = q.Get(ctx) {
					mu.Lock()
					running[item]++
					total++
					assert.Equal(t, 1, running[item], "two workers have %s", item)
					mu.Unlock()
					<-time.After(3 * time.Second)
					mu.Lock()
					running[item]--
					mu.Unlock()
					q.Done(item)
				}
			})
		}
		for range 30 {
			addAll(q, []string{"a", "b", "c"})
			<-time.After(time.Second)
		}
		<-time.After(time.Minute)
		cancel()
		workers.Wait()
		assert.GreaterOrEqual(t, total, 30, "each item is worked on all the time")
	})
}
