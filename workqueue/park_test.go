package workqueue_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/workqueue"
)

// condition is met when the test says so.
type condition struct {
	mu         sync.Mutex
	met        []func()
	registered int
	cancelled  int
}

func (c *condition) Register(met func()) (cancel func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.registered++
	c.met = append(c.met, met)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.cancelled++
	}
}

func (c *condition) String() string { return "the cache has seen it" }

// counts returns how often it was registered and cancelled.
func (c *condition) counts() (registered, cancelled int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.registered, c.cancelled
}

func (c *condition) cancels() int {
	_, cancelled := c.counts()
	return cancelled
}

// meet holds its lock while it calls back, as an informer may.
func (c *condition) meet() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, met := range c.met {
		met()
	}
}

// Promise workqueue/13
func TestParkedItemComesOnceWhenItsConditionIsMet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewDelaying(workqueue.Options[string]{})
		q.Add("a")
		mustGet(t, q)
		var seen condition
		q.Park("a", &seen, time.Hour)
		q.Add("a") // while it is running
		q.Done("a")
		q.Add("a") // while it is not
		q.AddAfter("a", time.Second)
		addAll(q, []string{"a", "b"})
		advance(time.Minute)
		assert.Equal(t, []string{"b"}, takeAll(t, q), "an add does not end the park")
		assert.Equal(t, 1, q.Stats().Parked)
		assert.Zero(t, q.Stats().Queued+q.Stats().Again+q.Stats().Delayed)

		seen.meet()
		assert.Equal(t, []string{"a"}, takeAll(t, q))
		seen.meet() // once more
		assert.Equal(t, workqueue.Stats{Added: 3}, q.Stats())
		assert.Zero(t, seen.cancels(), "it was met")
		q.Add("a")
		assert.Equal(t, []string{"a"}, takeAll(t, q), "a park leaves nothing behind")
	})
}

// Promise workqueue/13
func TestParkEndsAtItsDeadline(t *testing.T) {
	t.Parallel()
	for name, timeout := range map[string]time.Duration{"given": time.Second, "default": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := workqueue.NewDelaying(workqueue.Options[string]{})
				var seen condition
				q.Park("a", &seen, timeout)
				if timeout == 0 {
					timeout = time.Minute
				}
				advance(timeout - 1)
				assert.Zero(t, q.Len())
				assert.Zero(t, seen.cancels())
				advance(1)
				assert.Equal(t, 1, seen.cancels())
				seen.meet() // too late
				assert.Equal(t, []string{"a"}, takeAll(t, q))
				assert.Equal(t, workqueue.Stats{Added: 1, ParkTimeouts: 1}, q.Stats())
			})
		})
	}
}

// A negative time means that only the condition ends the park.
//
// Promise workqueue/13
func TestParkWithoutADeadlineLastsUntilItsConditionIsMet(t *testing.T) {
	t.Parallel()
	for _, timeout := range []time.Duration{-1, -time.Hour, math.MinInt64} {
		synctest.Test(t, func(t *testing.T) {
			q := workqueue.NewDelaying(workqueue.Options[string]{})
			var seen condition
			q.Park("a", &seen, timeout)
			q.Add("a")
			advance(100 * 365 * 24 * time.Hour)
			assert.Empty(t, takeAll(t, q))
			assert.Zero(t, q.Stats().ParkTimeouts)
			seen.meet()
			assert.Equal(t, []string{"a"}, takeAll(t, q))
		})
	}
}

func TestParkThatIsMetAtOnceOrWithoutAConditionIsAnAdd(t *testing.T) {
	t.Parallel()
	q := workqueue.NewDelaying(workqueue.Options[string]{})
	for _, until := range []workqueue.Condition{
		nil,
		workqueue.All(),
		workqueue.ConditionFunc(func(met func()) (cancel func()) { met(); return nil }),
		workqueue.ConditionFunc(func(met func()) (cancel func()) { met(); return met }),
	} {
		q.Park("a", until, time.Hour)
		assert.Zero(t, q.Stats().Parked)
		assert.Equal(t, []string{"a"}, takeAll(t, q))

		q.Add("a")
		mustGet(t, q)
		q.Park("a", until, time.Hour)
		q.Done("a")
		assert.Equal(t, []string{"a"}, takeAll(t, q))
	}
}

func TestParkTakesAQueuedItemOutAndReplacesAnEarlierOne(t *testing.T) {
	t.Parallel()
	q := workqueue.NewDelaying(workqueue.Options[string]{})
	addAll(q, []string{"a", "b"})
	var first, second condition
	q.Park("a", &first, time.Hour)
	q.Park("a", &second, time.Hour)
	assert.Equal(t, 1, first.cancels())
	first.meet()
	assert.Equal(t, []string{"b"}, takeAll(t, q))
	second.meet()
	assert.Equal(t, []string{"a"}, takeAll(t, q))
}

func TestParkKeepsThePriorityClass(t *testing.T) {
	t.Parallel()
	q := workqueue.NewDelaying(workqueue.Options[string]{MaxWait: []time.Duration{0, time.Hour}})
	var seen condition
	q.PriorityClass(1).Add("low")
	mustGet(t, q)
	q.Park("low", &seen, time.Hour)
	q.Done("low")
	q.PriorityClass(1).Add("raised")
	mustGet(t, q)
	q.Park("raised", &seen, time.Hour)
	q.PriorityClass(0).Add("raised") // while it is running
	q.Done("raised")
	seen.meet()
	assert.Equal(t, []string{"raised", "low"}, takeAll(t, q))
}

// Promise workqueue/10
func TestShutDownDropsParkedItems(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewDelaying(workqueue.Options[string]{})
		var seen condition
		for _, item := range []string{"waits", "added", "running"} {
			q.Add(item)
			mustGet(t, q)
			q.Park(item, &seen, time.Hour)
		}
		q.Add("running")
		q.Done("waits")
		q.Done("added")
		q.Add("added")
		drained := make(chan error, 1)
		go func() { drained <- q.ShutDownWithDrain(t.Context()) }()
		synctest.Wait()
		assert.Equal(t, 3, seen.cancels())
		assert.Empty(t, drained, "one is running")
		q.Done("running")
		synctest.Wait()
		assert.NoError(t, <-drained)
		seen.meet()
		assert.Equal(t, workqueue.Stats{Added: 5, ShutdownLosses: 3}, q.Stats())
		_, ok := q.Get(t.Context())
		assert.False(t, ok)

		q.Park("late", &seen, time.Hour)
		registered, _ := seen.counts()
		assert.Equal(t, 3, registered, "after a shutdown nothing is parked")
	})
}

// Its cache is stale: the item must not be processed because it was added before.
func TestItemParkedAfterTheShutDownIsNotQueuedAgain(t *testing.T) {
	t.Parallel()
	q := workqueue.NewDelaying(workqueue.Options[string]{})
	var seen condition
	q.Add("a")
	mustGet(t, q)
	q.Add("a")
	q.ShutDown()
	q.Park("a", &seen, time.Hour)
	q.Done("a")
	assert.Zero(t, q.Len())
	assert.EqualValues(t, 1, q.Stats().ShutdownLosses)
}

func TestInspectShowsParkedItems(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewDelaying(workqueue.Options[string]{})
		var seen condition
		for i, item := range []string{"third", "first", "second"} {
			q.Park(item, &seen, []time.Duration{3, 1, 2}[i]*time.Second)
		}
		in := q.Inspect(2)
		require.Len(t, in.Parked, 2)
		assert.Equal(t, "first", in.Parked[0].Item)
		assert.Equal(t, "second", in.Parked[1].Item)
		assert.Equal(t, time.Now().Add(time.Second), in.Parked[0].ParkedUntil)
		assert.Zero(t, in.Parked[0].DelayedUntil)
		assert.Equal(t, 3, in.Stats.Parked)
		assert.Empty(t, in.Delayed)
		q.ShutDown()
	})
}

// A thousand parked items occupy no worker and no goroutine.
//
// Promise workqueue/13
func TestParkedItemsNeedNoWorkerAndNoGoroutine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen condition
		runs := map[string]int{}
		p := startResult(t, options{}, func(_ context.Context, item string) (workqueue.Result, error) {
			runs[item]++
			if item == "other" || runs[item] > 1 {
				return workqueue.Result{}, nil
			}
			return workqueue.Result{Until: &seen}, nil
		})
		p.q.Add("first")
		synctest.Wait()
		before := runtime.NumGoroutine()
		items := number(1000, "%d")
		addAll(p.q, items)
		synctest.Wait()
		assert.LessOrEqual(t, runtime.NumGoroutine(), before+20, "other tests may run beside this one")
		assert.Equal(t, 1001, p.q.Stats().Parked)
		p.q.Add("other")
		synctest.Wait()
		assert.Equal(t, 1, runs["other"], "the only worker is free")
		seen.meet()
		synctest.Wait()
		for _, item := range items {
			assert.Equal(t, 2, runs[item])
		}
		p.stop()
		p.assertLost(t, 0, 0)
	})
}

// A failure that a limiter does not delay is a request like any other: in a synctest bubble no
// time has passed since the park.
//
// Promise workqueue/13
func TestRetryWithoutADelayComesAfterThePark(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen condition
		runs := 0
		p := &processing{
			q:        workqueue.NewRateLimiting(workqueue.MaxOf[string](), workqueue.Options[string]{}),
			returned: make(chan struct{}),
		}
		p.run(t, options{}, func(context.Context, string) (workqueue.Result, error) {
			if runs++; runs > 1 {
				return workqueue.Result{}, nil
			}
			return workqueue.Result{Until: &seen, ParkTimeout: time.Hour}, assert.AnError
		})
		p.q.Add("a")
		advance(time.Minute)
		assert.Equal(t, 1, runs)
		seen.meet()
		synctest.Wait()
		assert.Equal(t, 2, runs)
		p.stop()
	})
}

// What a function returns together with Until decides what is processed after the
// park, and the park how early.
//
// Promise workqueue/13
func TestUntilHoldsBackWhateverElseIsAskedFor(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		after   time.Duration
		err     error
		action  workqueue.Action
		met, at time.Duration // when the condition is met, and the item processed
	}{
		"success":                  {0, nil, workqueue.Parked, 5 * time.Second, 5 * time.Second},
		"shorter RequeueAfter":     {time.Second, nil, workqueue.Requeued, 5 * time.Second, 5 * time.Second},
		"longer RequeueAfter":      {time.Minute, nil, workqueue.Requeued, 5 * time.Second, time.Minute},
		"failure, shorter backoff": {0, assert.AnError, workqueue.Retried, 5 * time.Second, 5 * time.Second},
		"failure, longer backoff":  {0, assert.AnError, workqueue.Retried, time.Millisecond, time.Second},
		"deadline":                 {0, nil, workqueue.Parked, time.Hour, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var seen condition
				var at []time.Duration
				began := time.Now()
				p := startResult(t, options{}, func(context.Context, string) (workqueue.Result, error) {
					if at = append(at, time.Since(began)); len(at) > 1 {
						return workqueue.Result{}, nil
					}
					return workqueue.Result{Until: &seen, RequeueAfter: tc.after, ParkTimeout: 10 * time.Second}, tc.err
				})
				p.q.Add("a")
				advance(tc.met)
				seen.meet()
				advance(time.Hour)
				assert.Equal(t, []time.Duration{0, tc.at}, at)
				p.stop()
				assert.Equal(t, []workqueue.Action{tc.action, workqueue.Succeeded}, p.actions())
			})
		})
	}
}

// With Hold the park is no request, and what is added meanwhile waits.
//
// Promise workqueue/13
func TestHoldIsNoRequest(t *testing.T) {
	t.Parallel()
	for _, added := range []bool{false, true} {
		t.Run(fmt.Sprint("added ", added), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var seen condition
				var at []time.Duration
				began := time.Now()
				p := startResult(t, options{}, func(context.Context, string) (workqueue.Result, error) {
					if at = append(at, time.Since(began)); len(at) > 1 {
						return workqueue.Result{}, nil
					}
					return workqueue.Result{Until: &seen, Hold: true}, nil
				})
				p.q.Add("a")
				advance(time.Second)
				assert.Equal(t, 1, p.q.Stats().Parked)
				if added {
					p.q.Add("a")
				}
				advance(time.Second)
				seen.meet()
				advance(time.Hour)
				want := []time.Duration{0}
				if added {
					want = append(want, 2*time.Second)
				}
				assert.Equal(t, want, at)
				assert.Zero(t, p.q.Stats().Parked)
				assert.Zero(t, p.q.Stats().Delayed, "it is forgotten")
				p.stop()
			})
		})
	}
}

// What is dropped does not come back by itself, but an add for it waits too.
func TestUntilOfADroppedItemHoldsAddsBack(t *testing.T) {
	t.Parallel()
	for _, added := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var seen condition
			calls := 0
			p := startResult(t, options{}, func(context.Context, string) (workqueue.Result, error) {
				if calls++; calls > 1 {
					return workqueue.Result{}, nil
				}
				return workqueue.Result{Until: &seen}, workqueue.Terminal(assert.AnError)
			})
			p.q.Add("a")
			synctest.Wait()
			if added {
				p.q.Add("a")
			}
			synctest.Wait()
			assert.Equal(t, 1, calls)
			seen.meet()
			synctest.Wait()
			if added {
				assert.Equal(t, 2, calls)
			} else {
				assert.Equal(t, 1, calls)
			}
			assert.Zero(t, p.q.Stats().Parked)
			p.stop()
		})
	}
}

func TestStopDropsParkedItems(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen condition
		p := startResult(t, options{Workers: 2, StopTimeout: time.Minute}, func(_ context.Context, item string) (workqueue.Result, error) {
			if item == "after the stop" {
				<-time.After(time.Second)
			}
			if item == "dropped" {
				return workqueue.Result{Until: &seen}, workqueue.Terminal(assert.AnError)
			}
			return workqueue.Result{Until: &seen}, nil
		})
		addAll(p.q, []string{"before the stop", "dropped", "after the stop"})
		synctest.Wait()
		p.stop()
		assert.Equal(t, 2, seen.cancels())
		assert.EqualValues(t, 2, p.q.Stats().ShutdownLosses)
	})
}

func TestAllIsMetWhenEveryConditionIs(t *testing.T) {
	t.Parallel()
	assert.Nil(t, workqueue.All())
	assert.Nil(t, workqueue.All(nil, nil))
	q := workqueue.NewDelaying(workqueue.Options[string]{})
	var a, b condition
	q.Park("x", workqueue.All(&a, nil, &b), time.Hour)
	a.meet()
	a.meet()
	assert.Zero(t, q.Len())
	b.meet()
	assert.Equal(t, []string{"x"}, takeAll(t, q))

	q.Park("y", workqueue.All(&a, nil, &b), time.Hour)
	a.meet()
	q.ShutDown()
	assert.Equal(t, 1, a.cancels())
	assert.Equal(t, 1, b.cancels())
}

// Conditions, deadlines, adds and the shutdown meet in every order.
func TestParksEndOnceWhateverEndsThem(t *testing.T) {
	t.Parallel()
	r := newRand(t)
	for range 200 {
		q := workqueue.NewDelaying(workqueue.Options[int]{})
		var racing sync.WaitGroup
		for item := range 8 {
			var seen condition
			q.Add(item)
			racing.Go(func() { q.Park(item, &seen, time.Duration(1+item)*time.Microsecond) })
			racing.Go(seen.meet)
			racing.Go(func() { q.Add(item) })
			racing.Go(func() { q.AddAfter(item, time.Microsecond) })
		}
		if r.IntN(2) == 0 {
			racing.Go(q.ShutDown)
		}
		racing.Wait()
		assert.NoError(t, q.ShutDownWithDrain(drainWith(t, q)))
		assert.Zero(t, q.Stats().Parked+q.Stats().Queued+q.Stats().Running)
	}
}

// drainWith takes and finishes what is in q until it is shut down.
func drainWith(t *testing.T, q *workqueue.DelayingQueue[int]) context.Context {
	go func() {
		for item, ok := q.Get(t.Context()); ok; item, ok = q.Get(t.Context()) {
			q.Done(item)
		}
	}()
	return t.Context()
}

// never is a condition that is not met.
var never = workqueue.ConditionFunc(func(func()) func() { return nil })

// What a page and a history say of a park.
func TestAConditionSaysWhatIsWaitedFor(t *testing.T) {
	t.Parallel()
	q := workqueue.NewDelaying(workqueue.Options[string]{})
	q.Park("a", &condition{}, time.Hour)
	assert.Equal(t, "the cache has seen it", q.Inspect(1).Parked[0].Until.String())
	q.Park("a", workqueue.All(&condition{}, nil, never), time.Hour)
	parked := q.Inspect(0, "a").Parked[0].Until.String()
	assert.Regexp(t, `^the cache has seen it and workqueue_test\..+ is met$`, parked)
	q.Park("a", workqueue.All(&condition{}, &condition{}, &condition{}, never, never), time.Hour)
	assert.Equal(t, strings.Repeat("the cache has seen it and ", 3)+"2 more conditions are met", q.Inspect(1).Parked[0].Until.String())
	q.ShutDown()
}
