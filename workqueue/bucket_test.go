package workqueue_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/informerkit/informerkit/workqueue"
)

// One item that fails faster than the rate is handed out at the rate.
func TestItemThatIsAddedFasterThanTheRateComesAtTheRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewRateLimiting(workqueue.Bucket[string](rate.NewLimiter(5, 1)), workqueue.Options[string]{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for ctx.Err() == nil {
				q.AddRateLimited("x")
				time.Sleep(99 * time.Millisecond)
			}
		}()
		last := time.Now()
		for range 1000 {
			item := mustGet(t, q)
			require.LessOrEqual(t, time.Since(last), 300*time.Millisecond)
			last = time.Now()
			q.Done(item)
		}
		cancel()
		q.ShutDown()
		advance(time.Second)
	})
}

// Requests that collapse use no token, whatever state the item is in. Each counts as a failure.
func TestRequestThatCollapsesUsesNoToken(t *testing.T) {
	t.Parallel()
	for name, limiter := range map[string]func() workqueue.RateLimiter[string]{
		"default": workqueue.DefaultControllerRateLimiter[string],
		"max wait": func() workqueue.RateLimiter[string] {
			return workqueue.WithMaxWait(workqueue.DefaultControllerRateLimiter[string](), time.Hour)
		},
		"max of a max wait": func() workqueue.RateLimiter[string] {
			return workqueue.MaxOf(
				workqueue.Exponential[string](workqueue.ExponentialOptions{}),
				workqueue.WithMaxWait(workqueue.Bucket[string](rate.NewLimiter(10, 100)), time.Hour))
		},
		"bucket alone": func() workqueue.RateLimiter[string] { return workqueue.Bucket[string](rate.NewLimiter(10, 100)) },
	} {
		for state, prepare := range map[string]func(*workqueue.RateLimitingQueue[string]){
			"none":   func(*workqueue.RateLimitingQueue[string]) {},
			"queued": func(q *workqueue.RateLimitingQueue[string]) { q.Add("x") },
			"again": func(q *workqueue.RateLimitingQueue[string]) {
				q.Add("x")
				mustGet(t, q)
				q.Add("x")
			},
			"delayed":            func(q *workqueue.RateLimitingQueue[string]) { q.AddAfter("x", time.Millisecond) },
			"parked":             func(q *workqueue.RateLimitingQueue[string]) { q.Park("x", never, time.Hour) },
			"added while parked": func(q *workqueue.RateLimitingQueue[string]) { q.Park("x", never, time.Hour); q.Add("x") },
		} {
			t.Run(name+"/"+state, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					q := workqueue.NewRateLimiting(limiter(), workqueue.Options[string]{})
					defer q.ShutDown()
					prepare(q)
					for range 1000 {
						q.AddRateLimited("x")
					}
					if name != "bucket alone" {
						assert.Equal(t, 1000, q.NumRequeues("x"))
					}
					assert.EqualValues(t, 1000, q.Stats().Retried)
					began := time.Now()
					q.AddRateLimited("y")
					for item := ""; item != "y"; {
						item = mustGet(t, q)
					}
					assert.LessOrEqual(t, time.Since(began), 5*time.Millisecond)
				})
			})
		}
	}
}

// A request that comes sooner than the one that is there uses a token.
func TestRequestThatComesSoonerUsesAToken(t *testing.T) {
	t.Parallel()
	for name, limiter := range map[string]func(workqueue.RateLimiter[string]) workqueue.RateLimiter[string]{
		"bucket": func(l workqueue.RateLimiter[string]) workqueue.RateLimiter[string] { return l },
		"max wait": func(l workqueue.RateLimiter[string]) workqueue.RateLimiter[string] {
			return workqueue.WithMaxWait(l, time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				bucket := workqueue.Bucket[string](rate.NewLimiter(rate.Every(time.Second), 1))
				q := workqueue.NewRateLimiting(limiter(bucket), workqueue.Options[string]{})
				defer q.ShutDown()
				q.AddAfter("x", time.Hour)
				q.AddRateLimited("x") // the token at hand
				assert.Equal(t, "x", mustGet(t, q))
				q.AddAfter("y", 500*time.Millisecond)
				q.AddRateLimited("y") // would come after a second: collapses
				q.AddAfter("z", time.Hour)
				q.AddRateLimited("z")
				began := time.Now()
				assert.Equal(t, "y", mustGet(t, q))
				assert.Equal(t, "z", mustGet(t, q))
				assert.Equal(t, time.Second, time.Since(began).Round(time.Millisecond))
			})
		})
	}
}

// A limiter that demands more than the longest wait lets the item come sooner than another
// request, and so a token is used.
func TestCappedWaitThatIsShorterThanAnotherDelayUsesAToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bucket := workqueue.Bucket[string](rate.NewLimiter(rate.Every(time.Hour), 1))
		q := workqueue.NewRateLimiting(workqueue.WithMaxWait(bucket, time.Second), workqueue.Options[string]{})
		defer q.ShutDown()
		bucket.When("other") // the token at hand
		q.AddAfter("x", time.Minute)
		began := time.Now()
		q.AddRateLimited("x")
		assert.Equal(t, "x", mustGet(t, q))
		assert.Equal(t, time.Second, time.Since(began))
		assert.Greater(t, bucket.When("other"), 90*time.Minute, "x has a place in the line")
	})
}

// After a shutdown a retry uses nothing of the limiter.
func TestRetryAfterAShutdownDoesNotAskTheLimiter(t *testing.T) {
	t.Parallel()
	l := &recordingLimiter{RateLimiter: workqueue.Exponential[string](workqueue.ExponentialOptions{})}
	q := workqueue.NewRateLimiting[string](l, workqueue.Options[string]{})
	q.Add("a")
	mustGet(t, q)
	q.ShutDown()
	q.AddRateLimited("a")
	q.AddRateLimited("b")
	assert.Empty(t, l.failed)
	assert.Zero(t, q.NumRequeues("a"))
}

// Added again, an item that was dropped begins with the shortest delay.
func TestDroppedItemIsForgottenByTheLimiter(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]options{"terminal": {}, "attempts": {MaxAttempts: 3}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				attempts := 0
				p := start(t, opts, func(context.Context, string) error {
					if attempts++; attempts == 3 {
						return workqueue.Terminal(assert.AnError)
					}
					return assert.AnError
				})
				p.q.Add("a")
				synctest.Wait()
				require.Equal(t, 1, p.q.NumRequeues("a"))
				advance(time.Hour)
				assert.Equal(t, 3, attempts)
				assert.Zero(t, p.q.NumRequeues("a"))
				assert.EqualValues(t, 1, p.q.Stats().Dropped)
				p.stop()
			})
		})
	}
}

// A condition is cancelled though the park had ended before the queue knew how to.
func TestConditionOfAParkThatEndedDuringItsRegistrationIsCancelled(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(q *workqueue.DelayingQueue[string], met func()){
		"met":        func(_ *workqueue.DelayingQueue[string], met func()) { met() },
		"deadline":   func(*workqueue.DelayingQueue[string], func()) { advance(time.Minute) },
		"other park": func(q *workqueue.DelayingQueue[string], _ func()) { q.Park("a", never, time.Hour) },
		"shutdown":   func(q *workqueue.DelayingQueue[string], _ func()) { q.ShutDown() },
		"drain":      func(q *workqueue.DelayingQueue[string], _ func()) { _ = q.ShutDownWithDrain(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := workqueue.NewDelaying(workqueue.Options[string]{})
				defer q.ShutDown()
				cancelled := 0
				q.Park("a", workqueue.ConditionFunc(func(met func()) (cancel func()) {
					end(q, met)
					return func() { cancelled++ }
				}), time.Minute)
				assert.Equal(t, 1, cancelled)
			})
		})
	}
}
