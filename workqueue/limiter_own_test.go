package workqueue_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/workqueue"
)

// A queue passes the hash and the time to its limiter; a limiter that is asked directly finds
// them out itself. Both must be the same.
func TestQueueDelaysByWhatItsLimiterDemands(t *testing.T) {
	t.Parallel()
	for name, limiter := range limiters() {
		if name == "jitter" || name == "huge" {
			continue // random
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, 2))
				direct, asked := limiter(), limiter()
				q := workqueue.NewRateLimiting(asked, workqueue.Options[string]{})
				defer q.ShutDown()
				for range 300 {
					item := string(rune('a' + r.IntN(4)))
					if r.IntN(5) == 0 {
						direct.Forget(item)
						q.Forget(item)
					}
					want := direct.When(item)
					began := time.Now()
					q.AddRateLimited(item)
					if want > 1000*time.Hour { // forever, from an empty bucket
						q.Add(item)
						want = 0
					}
					got, ok := q.Get(t.Context())
					require.True(t, ok)
					require.Equal(t, item, got)
					require.Equal(t, want, time.Since(began))
					q.Done(item)
					require.Equal(t, direct.NumRequeues(item), q.NumRequeues(item))
					require.Equal(t, direct.NumRequeues(item), asked.NumRequeues(item))
				}
			})
		})
	}
}

func TestQueuesThatShareALimiterShareItsCounts(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]workqueue.RateLimiter[string]{
		"exponential": workqueue.Exponential[string](workqueue.ExponentialOptions{Base: time.Hour, Max: 100 * time.Hour}),
		"fast/slow":   workqueue.FastSlow[string](time.Hour, 2*time.Hour, 1),
		"max of":      workqueue.MaxOf(workqueue.FastSlow[string](time.Hour, time.Hour, 1)),
		"max wait":    workqueue.WithMaxWait(workqueue.FastSlow[string](time.Hour, time.Hour, 1), time.Minute),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one := workqueue.NewRateLimiting(l, workqueue.Options[string]{})
			two := workqueue.NewRateLimiting(l, workqueue.Options[string]{})
			defer one.ShutDown()
			defer two.ShutDown()
			one.AddRateLimited("a")
			two.AddRateLimited("a")
			l.When("a")
			l.When("b")
			for _, count := range []func(string) int{one.NumRequeues, two.NumRequeues, l.NumRequeues} {
				assert.Equal(t, 3, count("a"))
			}
			two.Forget("a")
			for _, count := range []func(string) int{one.NumRequeues, two.NumRequeues, l.NumRequeues} {
				assert.Zero(t, count("a"))
				assert.Equal(t, 1, count("b"))
			}
			l.Forget("b") // without a queue
			assert.Zero(t, one.NumRequeues("b"))
		})
	}
}

// recordingLimiter is a limiter of a user.
type recordingLimiter struct {
	workqueue.RateLimiter[string]
	mu                sync.Mutex
	failed, forgotten []string
}

func (l *recordingLimiter) When(item string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = append(l.failed, item)
	return l.RateLimiter.When(item)
}

func (l *recordingLimiter) Forget(item string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgotten = append(l.forgotten, item)
	l.RateLimiter.Forget(item)
}

// A limiter of a user is asked by its exported methods, once for each call, wherever it is.
func TestLimitersOfUsersSeeEachFailureAndEachForget(t *testing.T) {
	t.Parallel()
	fixed := func() workqueue.RateLimiter[string] {
		return workqueue.FastSlow[string](time.Hour, time.Hour, 1)
	}
	for name, wrap := range map[string]func(workqueue.RateLimiter[string]) workqueue.RateLimiter[string]{
		"alone": func(l workqueue.RateLimiter[string]) workqueue.RateLimiter[string] { return l },
		"in a max of": func(l workqueue.RateLimiter[string]) workqueue.RateLimiter[string] {
			return workqueue.MaxOf(fixed(), l)
		},
		"in a max wait": func(l workqueue.RateLimiter[string]) workqueue.RateLimiter[string] {
			return workqueue.WithMaxWait(l, time.Hour)
		},
		"beside a bucket": func(l workqueue.RateLimiter[string]) workqueue.RateLimiter[string] {
			return workqueue.MaxOf(workqueue.Bucket[string](nil), l)
		},
		"in both": func(l workqueue.RateLimiter[string]) workqueue.RateLimiter[string] {
			return workqueue.MaxOf(workqueue.WithMaxWait(l, time.Minute), fixed())
		},
		"around a max of": func(l workqueue.RateLimiter[string]) workqueue.RateLimiter[string] {
			return &recordingLimiter{RateLimiter: workqueue.MaxOf(l)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &recordingLimiter{RateLimiter: workqueue.Exponential[string](workqueue.ExponentialOptions{Base: time.Hour})}
			q := workqueue.NewRateLimiting(wrap(l), workqueue.Options[string]{})
			defer q.ShutDown()
			q.Forget("before") // when nothing has failed
			for range 2 {
				q.AddRateLimited("a")
			}
			q.AddRateLimited("b")
			assert.Equal(t, 2, q.NumRequeues("a"))
			q.Forget("a")
			assert.Zero(t, q.NumRequeues("a"))
			assert.Equal(t, 1, q.NumRequeues("b"))
			q.Forget("b")
			q.Forget("after")
			assert.Equal(t, []string{"a", "a", "b"}, l.failed)
			assert.Equal(t, []string{"before", "a", "b", "after"}, l.forgotten)
		})
	}
}
