package workqueue_test

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/informerkit/informerkit/workqueue"
)

// limiters are all limiters, for the conformance test.
func limiters() map[string]func() workqueue.RateLimiter[string] {
	exponential := func() workqueue.RateLimiter[string] {
		return workqueue.Exponential[string](workqueue.ExponentialOptions{})
	}
	bucket := func() workqueue.RateLimiter[string] {
		return workqueue.Bucket[string](rate.NewLimiter(5, 2))
	}
	fastSlow := func() workqueue.RateLimiter[string] {
		return workqueue.FastSlow[string](time.Millisecond, time.Second, 3)
	}
	return map[string]func() workqueue.RateLimiter[string]{
		"default":     workqueue.DefaultControllerRateLimiter[string],
		"exponential": exponential,
		"jitter": func() workqueue.RateLimiter[string] {
			return workqueue.Exponential[string](workqueue.ExponentialOptions{Jitter: 0.5})
		},
		"huge": func() workqueue.RateLimiter[string] {
			return workqueue.Exponential[string](workqueue.ExponentialOptions{Base: 1, Max: math.MaxInt64, Jitter: 3})
		},
		"garbage": func() workqueue.RateLimiter[string] {
			return workqueue.Exponential[string](workqueue.ExponentialOptions{Base: -1, Max: -1, Jitter: math.NaN()})
		},
		"fast/slow":         fastSlow,
		"fast/slow garbage": func() workqueue.RateLimiter[string] { return workqueue.FastSlow[string](-1, -1, -1) },
		"bucket":            bucket,
		"nil bucket":        func() workqueue.RateLimiter[string] { return workqueue.Bucket[string](nil) },
		"empty bucket":      func() workqueue.RateLimiter[string] { return workqueue.Bucket[string](rate.NewLimiter(1, 0)) },
		"max of": func() workqueue.RateLimiter[string] {
			return workqueue.MaxOf(exponential(), nil, bucket(), workqueue.MaxOf(fastSlow(), bucket()))
		},
		"max of none": func() workqueue.RateLimiter[string] { return workqueue.MaxOf[string]() },
		"max wait":    func() workqueue.RateLimiter[string] { return workqueue.WithMaxWait(exponential(), 2*time.Second) },
		"max wait of bucket in max of": func() workqueue.RateLimiter[string] {
			return workqueue.MaxOf(workqueue.WithMaxWait(bucket(), time.Second), exponential())
		},
		"max wait of nil": func() workqueue.RateLimiter[string] { return workqueue.WithMaxWait[string](nil, -1) },
	}
}

func TestLimiterConformance(t *testing.T) {
	t.Parallel()
	for name, limiter := range limiters() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := limiter()
				assert.Zero(t, l.NumRequeues("a"), "failures before the first")
				l.Forget("never seen")
				last := 0
				for range 200 { // far beyond any overflow
					require.GreaterOrEqual(t, l.When("a"), time.Duration(0))
					n := l.NumRequeues("a")
					require.Contains(t, []int{0, last + 1}, n, "a limiter counts each failure or none")
					last = n
				}
				assert.Zero(t, l.NumRequeues("b"), "items influence each other's count")
				l.Forget("a")
				assert.Zero(t, l.NumRequeues("a"))

				var wg sync.WaitGroup
				for g := range 8 {
					wg.Go(func() {
						for i := range 50 {
							item := fmt.Sprint((g + i) % 5)
							assert.GreaterOrEqual(t, l.When(item), time.Duration(0))
							l.NumRequeues(item)
							if i%7 == 0 {
								l.Forget(item)
							}
						}
					})
				}
				wg.Wait()
			})
		})
	}
}

func TestExponentialDoublesUpToMaxAndStartsAnewAfterForget(t *testing.T) {
	t.Parallel()
	l := workqueue.Exponential[string](workqueue.ExponentialOptions{Base: time.Millisecond, Max: time.Second})
	for range 2 {
		for n := range 100 {
			want := time.Second
			if n < 10 {
				want = time.Millisecond << n
			}
			require.Equal(t, want, l.When("a"), "failure %d", n)
		}
		assert.Equal(t, 100, l.NumRequeues("a"))
		assert.Equal(t, time.Millisecond, l.When("other"))
		l.Forget("a")
		l.Forget("other")
	}
}

// 2^62 is the last power of two that fits; one more is where a computation by
// floating point wraps around.
func TestExponentialSaturatesInsteadOfOverflowing(t *testing.T) {
	t.Parallel()
	for _, base := range []time.Duration{1, 2, 3, 1 << 31, 1 << 61, 1 << 62, math.MaxInt64} {
		l := workqueue.Exponential[string](workqueue.ExponentialOptions{Base: base, Max: math.MaxInt64})
		last := time.Duration(0)
		for range 130 {
			d := l.When("a")
			require.GreaterOrEqual(t, d, last, "base %d", base)
			last = d
		}
		require.Equal(t, time.Duration(math.MaxInt64), last)
	}
}

func TestJitterChangesDelaysByAtMostItsFraction(t *testing.T) {
	t.Parallel()
	limiter := func() workqueue.RateLimiter[int] {
		return workqueue.Exponential[int](workqueue.ExponentialOptions{Base: time.Second, Max: 90 * time.Minute, Jitter: 0.5})
	}
	l, again := limiter(), limiter()
	different := map[time.Duration]bool{}
	longer := 0
	for i := range 200 {
		d := l.When(i)
		require.GreaterOrEqual(t, d, 500*time.Millisecond)
		require.LessOrEqual(t, d, 1500*time.Millisecond)
		require.Equal(t, d, again.When(i), "a second limiter has another sequence")
		different[d] = true
		if d > time.Second {
			longer++
		}
	}
	assert.Greater(t, len(different), 100)
	assert.InDelta(t, 100, longer, 30)
	longest := map[time.Duration]bool{}
	for range 200 {
		d := l.When(0)
		require.LessOrEqual(t, d, 90*time.Minute, "jitter went beyond Max")
		longest[d] = true
	}
	assert.Greater(t, len(longest), 100, "the longest delays are equal")
}

// Items that failed in one outage fail again and again. Their retries must not come in step.
func TestItemsThatFailTogetherAreRetriedApart(t *testing.T) {
	t.Parallel()
	const items = 5000
	// The retries in each tenth of a second, of items that fail as soon as they are tried.
	retries := func(l workqueue.RateLimiter[int]) []int {
		inTenth := make([]int, 12000)
		for i := range items {
			for at := l.When(i); at < 20*time.Minute; at += l.When(i) {
				inTenth[at/(time.Second/10)]++
			}
		}
		return inTenth
	}
	jittered := retries(workqueue.Exponential[int](workqueue.ExponentialOptions{Jitter: 0.2}))
	inStep := retries(workqueue.Exponential[int](workqueue.ExponentialOptions{}))
	for _, from := range []int{0, 1, 5, 10, 60, 300} { // seconds
		most := slices.Max(jittered[10*from:])
		t.Logf("%3d s after %d items failed together: at most %d retries in 100 ms, without jitter %d",
			from, items, most, slices.Max(inStep[10*from:]))
		if from >= 10 {
			assert.Less(t, most, items/10, "after %d s", from)
		}
	}
}

// An item that fails with each event gets its next event before its retry. Another one that fails for
// the first time does not wait for it.
func TestAnItemThatOftenFailsDelaysNoOther(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			q := workqueue.NewRateLimiting[string](nil, workqueue.Options[string]{})
			defer q.ShutDown()
			for end := time.Now().Add(d); time.Now().Before(end); advance(50 * time.Millisecond) {
				q.Add("hot")
				q.AddRateLimited(mustGet(t, q))
				q.Done("hot")
			}
			q.Add("hot")
			q.Done(mustGet(t, q))
			q.Add("cold")
			began := time.Now()
			q.AddRateLimited(mustGet(t, q))
			q.Done("cold")
			assert.Equal(t, "cold", mustGet(t, q))
			assert.LessOrEqual(t, time.Since(began), 6*time.Millisecond, "after %v", d)
		})
	}
}

func TestForgottenForgetExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := workqueue.Exponential[string](workqueue.ExponentialOptions{Max: time.Minute})
		l.When("a")
		l.When("a")
		advance(11 * time.Minute)
		assert.Equal(t, 2, l.NumRequeues("a"), "forgotten while its longest delay may still run")
		advance(1)
		assert.Zero(t, l.NumRequeues("a"))
		assert.Equal(t, 5*time.Millisecond, l.When("a"))
		assert.Equal(t, 1, l.NumRequeues("a"))
	})
}

func TestFastSlow(t *testing.T) {
	t.Parallel()
	l := workqueue.FastSlow[string](time.Millisecond, time.Minute, 2)
	assert.Equal(t, time.Millisecond, l.When("a"))
	assert.Equal(t, time.Millisecond, l.When("a"))
	assert.Equal(t, time.Minute, l.When("a"))
	assert.Equal(t, time.Millisecond, l.When("b"))
	l.Forget("a")
	assert.Equal(t, time.Millisecond, l.When("a"))
}

func TestWithMaxWaitCapsTheDelay(t *testing.T) {
	t.Parallel()
	l := workqueue.WithMaxWait(workqueue.FastSlow[string](time.Millisecond, time.Minute, 1), time.Second)
	assert.Equal(t, time.Millisecond, l.When("a"))
	assert.Equal(t, time.Second, l.When("a"))
	assert.Equal(t, 2, l.NumRequeues("a"))
}

func TestLimitersWithoutALimiterDemandNothing(t *testing.T) {
	t.Parallel()
	l := workqueue.MaxOf(workqueue.MaxOf[string](), workqueue.WithMaxWait[string](nil, time.Second), nil)
	assert.Zero(t, l.When("a"))
	assert.Zero(t, l.NumRequeues("a"))
	l.Forget("a")
}

func TestBucketLetsABurstThroughAndThenSpreads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := workqueue.Bucket[int](rate.NewLimiter(10, 3))
		for i := range 3 {
			assert.Zero(t, l.When(i))
		}
		for i := range 5 {
			assert.InDelta(t, float64(i+1)*1e8, float64(l.When(i)), 10)
		}
		advance(time.Second) // 5 of the 10 new tokens are taken, 3 are kept
		for i := range 3 {
			assert.Zero(t, l.When(i))
		}
	})
}

// The overall limit holds for a burst of first failures, each of which is
// delayed by a few milliseconds of its own.
func TestDefaultLimiterBoundsABurstOfFirstFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := workqueue.DefaultControllerRateLimiter[int]()
		for i := range 100 {
			require.Equal(t, 5*time.Millisecond, l.When(i))
		}
		for i := range 100 {
			require.InDelta(t, float64(i+1)*1e8, float64(l.When(100+i)), 1e3)
		}
	})
}
