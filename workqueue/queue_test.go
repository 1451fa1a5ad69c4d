package workqueue_test

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/workqueue"
)

// Promise workqueue/4
func TestItemsComeInOrderOfArrival(t *testing.T) {
	t.Parallel()
	q := workqueue.New(workqueue.Options[int]{})
	var want []int
	for i := range 1000 {
		q.Add(i)
		want = append(want, i)
	}
	assert.Equal(t, 1000, q.Len())
	assert.Equal(t, want, takeAll(t, q))
}

// Promise workqueue/3
func TestAddsBeforeGetCollapse(t *testing.T) {
	t.Parallel()
	q := workqueue.New(workqueue.Options[string]{})
	addAll(q, []string{"a", "b", "a"})
	q.Add("b")
	assert.Equal(t, []string{"a", "b"}, takeAll(t, q))
}

// Promise workqueue/2
func TestAddDuringProcessingComesBackAfterDone(t *testing.T) {
	t.Parallel()
	q := workqueue.New(workqueue.Options[string]{})
	q.Add("a")
	a := mustGet(t, q)
	q.Add("a")
	q.Add("a")
	assert.Zero(t, q.Len(), "an item was offered twice at once")
	q.Done(a)
	assert.Equal(t, []string{"a"}, takeAll(t, q))
}

// Promise workqueue/8
func TestStrayDoneIsIgnored(t *testing.T) {
	t.Parallel()
	q := workqueue.New(workqueue.Options[string]{})
	q.Done("never added")
	q.Add("a")
	q.Done("a") // queued, not taken: must not queue it a second time
	require.Equal(t, 1, q.Len())

	a := mustGet(t, q)
	q.Add("a")
	q.Done(a)
	q.Done(a) // done already, queued again: the same
	require.Equal(t, 1, q.Len())
	mustGet(t, q)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, ok := q.Get(ctx)
	assert.False(t, ok, "the same item was handed out twice at once")
}

// Promise workqueue/9
func TestGetEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Options[string]{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		_, ok := q.Get(ctx)
		assert.False(t, ok)
		assert.Equal(t, time.Minute, time.Since(began))

		q.Add("a")
		_, ok = q.Get(ctx)
		assert.False(t, ok, "Get with a context that is done took an item")
		assert.Equal(t, 1, q.Len())
	})
}

// An item added while the only waiter is being cancelled must reach the next.
func TestCancelledWaiterPassesItsWakeUpOn(t *testing.T) {
	t.Parallel()
	for range 2000 {
		q := workqueue.New(workqueue.Options[int]{})
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan int, 2)
		var wg sync.WaitGroup
		for _, c := range []context.Context{ctx, t.Context()} {
			wg.Go(func() {
				if item, ok := q.Get(c); ok {
					got <- item
				}
			})
		}
		wg.Go(cancel)
		wg.Go(func() { q.Add(1) })
		require.Equal(t, 1, <-got)
		q.ShutDown()
		wg.Wait()
	}
}

// Promise workqueue/10
func TestGetAfterShutDownHandsOutWhatIsQueued(t *testing.T) {
	t.Parallel()
	q := workqueue.New(workqueue.Options[string]{})
	q.Add("a")
	assert.False(t, q.ShuttingDown())
	q.ShutDown()
	assert.True(t, q.ShuttingDown())
	q.Add("b")
	addAll(q, []string{"c"})
	assert.Equal(t, "a", mustGet(t, q))
	q.Add("a")
	_, ok := q.Get(t.Context())
	assert.False(t, ok)
	q.Done("a")
	assert.Zero(t, q.Len(), "an add after the shutdown was accepted")
}

func TestDoneQueuesAgainAfterShutDown(t *testing.T) {
	t.Parallel()
	q := workqueue.New(workqueue.Options[string]{})
	q.Add("a")
	a := mustGet(t, q)
	q.Add("a")
	q.ShutDown()
	q.Done(a)
	assert.Equal(t, "a", mustGet(t, q))
}

// Promise workqueue/10
func TestDrainWaitsForQueuedAndRunning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Options[string]{})
		addAll(q, []string{"running", "again", "queued"})
		mustGet(t, q)
		mustGet(t, q)
		q.Add("again")

		var ended atomic.Int32
		for range 3 { // any number may wait
			go func() {
				assert.NoError(t, q.ShutDownWithDrain(t.Context()))
				ended.Add(1)
			}()
		}
		for _, step := range []func(){
			func() { q.Done("running") },
			func() { q.Done("again") },
			func() { assert.Equal(t, "queued", mustGet(t, q)) },
			func() { q.Done("queued") },
			func() { assert.Equal(t, "again", mustGet(t, q)) },
		} {
			synctest.Wait()
			require.Zero(t, ended.Load(), "the drain ended with %+v", q.Stats())
			step()
		}
		q.Done("again")
		synctest.Wait()
		assert.EqualValues(t, 3, ended.Load())
		assert.NoError(t, q.ShutDownWithDrain(t.Context()), "a drain of an empty queue")
	})
}

func TestDrainWaitsForEveryRunningItem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Options[string]{})
		addAll(q, []string{"a", "b"})
		mustGet(t, q)
		mustGet(t, q) // nothing is queued any more
		ended := make(chan error, 1)
		go func() { ended <- q.ShutDownWithDrain(t.Context()) }()
		for _, item := range []string{"a", "b"} {
			synctest.Wait()
			require.Empty(t, ended, "the drain ended with %+v", q.Stats())
			q.Done(item)
		}
		assert.NoError(t, <-ended)
	})
}

func TestDrainEndsWithTheContextOrShutDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Options[string]{})
		q.Add("a")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, assert.AnError)
		defer cancel()
		assert.ErrorIs(t, q.ShutDownWithDrain(ctx), assert.AnError)
		assert.True(t, q.ShuttingDown())

		errs := make(chan error, 2)
		for range 2 {
			go func() { errs <- q.ShutDownWithDrain(t.Context()) }()
		}
		synctest.Wait()
		q.ShutDown()
		assert.ErrorContains(t, <-errs, "ShutDown ended the drain")
		assert.ErrorContains(t, <-errs, "ShutDown ended the drain")

		assert.Equal(t, []string{"a"}, takeAll(t, q))
		assert.NoError(t, q.ShutDownWithDrain(t.Context()))
	})
}

func TestShutDownWakesEveryWaiter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Options[string]{})
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				_, ok := q.Get(t.Context())
				assert.False(t, ok)
			})
		}
		synctest.Wait()
		q.ShutDown()
		wg.Wait()
	})
}

// Wake-ups are invitations; a burst must still end up with every worker busy.
func TestBurstEngagesEveryWaitingWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Options[int]{})
		var taken atomic.Int32
		for range 8 {
			go func() {
				_, ok := q.Get(t.Context())
				assert.True(t, ok)
				taken.Add(1)
			}()
		}
		synctest.Wait()
		addAll(q, []int{1, 2, 3})
		synctest.Wait()
		assert.EqualValues(t, 3, taken.Load())
		for i := 4; i <= 8; i++ {
			q.Add(i)
		}
		synctest.Wait()
		assert.EqualValues(t, 8, taken.Load())
	})
}

// Promise workqueue/2
func TestProducersAndConsumersEndWithAnEmptyQueue(t *testing.T) {
	t.Parallel()
	q := workqueue.New(workqueue.Options[int]{})
	var producers, consumers sync.WaitGroup
	var busy [100]atomic.Int32
	for p := range 50 {
		producers.Go(func() {
			for i := range 200 {
				q.Add((p + i) % 100)
			}
		})
	}
	for range 10 {
		consumers.Go(func() {
			for {
				item, ok := q.Get(t.Context())
				if !ok {
					return
				}
				assert.EqualValues(t, 1, busy[item].Add(1), "an item was processed twice at once")
				runtime.Gosched()
				busy[item].Add(-1)
				q.Done(item)
			}
		})
	}
	producers.Wait()
	require.NoError(t, q.ShutDownWithDrain(t.Context()))
	consumers.Wait()
	assert.Equal(t, 0, q.Len())
	assert.Zero(t, q.Stats().Running)
}

func TestProcessedPointerIsCollectable(t *testing.T) {
	t.Parallel()
	type object [1024]byte
	q := workqueue.New(workqueue.Options[*object]{})
	collected := make(chan struct{})
	func() {
		o := new(object)
		runtime.AddCleanup(o, func(struct{}) { close(collected) }, struct{}{})
		q.Add(o)
		q.Done(mustGet(t, q))
	}()
	for {
		runtime.GC()
		select {
		case <-collected:
			runtime.KeepAlive(q)
			return
		default:
			runtime.Gosched()
		}
	}
}

func TestItemsOfAnyComparableType(t *testing.T) {
	t.Parallel()
	q := workqueue.New(workqueue.Options[any]{})
	addAll(q, []any{1, "1", 1.0, nil, [2]int{1, 2}, 1, nil})
	assert.Equal(t, []any{1, "1", 1.0, nil, [2]int{1, 2}}, takeAll(t, q))
	assert.Panics(t, func() { q.Add([]int{1}) }, "a slice is not comparable")
	assert.Panics(t, func() { q.Add([]int{1}) }, "a slice is not comparable")
	assert.Zero(t, q.Len())
	q.Add("still usable")
	assert.Equal(t, 1, q.Len())
}

// Promise workqueue/11
func TestIdleQueueNeedsNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := runtime.NumGoroutine()
		queues := make([]*workqueue.RateLimitingQueue[string], 100)
		for i := range queues {
			queues[i] = workqueue.NewRateLimiting[string](nil, workqueue.Options[string]{})
			queues[i].AddAfter("a", 24*time.Hour)
			queues[i].AddRateLimited("b")
		}
		// A timer that fires runs a goroutine for a moment: in fake time, that moment is over.
		time.Sleep(time.Second)
		synctest.Wait()
		require.Less(t, runtime.NumGoroutine(), before+50)
		require.Equal(t, 1, queues[0].Len())
	})
}

func TestGarbageOptionsMeanTheNearestSensible(t *testing.T) {
	t.Parallel()
	q := workqueue.New(workqueue.Options[string]{
		MaxWait:       []time.Duration{-time.Hour, math.MaxInt64},
		PriorityClass: func(string) int { return -7 },
	})
	q.PriorityClass(99).Add("low")
	q.PriorityClass(math.MaxInt).Add("lowest")
	q.PriorityClass(math.MinInt).Add("high")
	q.Add("by function")
	assert.Equal(t, []string{"high", "by function", "low", "lowest"}, takeAll(t, q))

	assert.Panics(t, func() { _, _ = q.Get(nil) }) //nolint:staticcheck // that is the point
	q.Add("a")
	assert.Equal(t, 1, q.Len(), "the queue is unusable after a panic")
}

// Promise workqueue/12
func TestPanicInUserFunctionsLeavesTheQueueUsable(t *testing.T) {
	t.Parallel()
	bad := func(s string) {
		if s == "bad" {
			panic("bad item")
		}
	}
	q := workqueue.NewDelaying(workqueue.Options[string]{
		Group:         func(s string) string { bad(s); return "" },
		PriorityClass: func(s string) int { bad(s); return 0 },
	})
	for name, f := range map[string]func(){ // each changes nothing
		"Add":      func() { q.Add("bad") },
		"Park":     func() { q.Park("bad", never, time.Second) },
		"AddAfter": func() { q.AddAfter("bad", time.Second) },
	} {
		assert.Panics(t, f, name)
	}
	q.Add("good")
	assert.Equal(t, []string{"good"}, takeAll(t, q))
}

// All user code calls the queue, which would deadlock if it were locked.
//
// Promise workqueue/12
func TestNoUserCodeRunsWhileTheQueueIsLocked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		called := map[string]int{}
		var q *workqueue.RateLimitingQueue[string]
		call := func(name string) {
			if called[name]++; q != nil {
				free := make(chan struct{})
				go func() {
					defer close(free)
					q.Inspect(1)
				}()
				select {
				case <-free:
				case <-time.After(time.Minute):
					panic(name + " runs while the queue is locked")
				}
			}
		}
		opts := workqueue.Options[string]{
			Group:         func(string) string { call("Group"); return "" },
			PriorityClass: func(string) int { call("PriorityClass"); return 0 },
			Observe:       func(workqueue.Observation[string]) { call("Observe") },
			Metrics:       calling{call},
		}
		q = workqueue.NewRateLimiting[string](calling{call}, opts)
		until := workqueue.ConditionFunc(func(met func()) func() {
			call("Register")
			go func() {
				time.Sleep(time.Second)
				met()
			}()
			return func() { call("cancel") }
		})
		q.AddRateLimited("a")
		advance(time.Second)
		mustGet(t, &q.Queue)
		q.Park("a", until, time.Hour)
		q.Done("a")
		q.Park("b", until, time.Millisecond) // its time passes first
		advance(time.Minute)
		assert.Equal(t, []string{"b", "a"}, takeAll(t, &q.Queue))
		q.Forget("a")
		q.AddAfter("c", time.Hour)
		q.ShutDown()
		for _, name := range []string{"Group", "PriorityClass", "Observe", "Register", "cancel", "When", "Forget", "Added", "Started", "Finished", "Retried"} {
			assert.Positive(t, called[name], name)
		}
	})
}

// calling is a limiter and a metrics provider.
type calling struct{ call func(name string) }

func (c calling) When(string) time.Duration { c.call("When"); return time.Millisecond }
func (c calling) Forget(string)             { c.call("Forget") }
func (c calling) NumRequeues(string) int    { c.call("NumRequeues"); return 0 }
func (c calling) Added(int)                 { c.call("Added") }
func (c calling) Started(time.Duration)     { c.call("Started") }
func (c calling) Finished(time.Duration)    { c.call("Finished") }
func (c calling) Retried()                  { c.call("Retried") }
func (c calling) Workqueue(string, interface{ Stats() workqueue.Stats }) workqueue.Metrics {
	return c
}
