package workqueue

import (
	"math"
	"math/rand/v2"
	"time"
)

// ExponentialOptions configures [Exponential]. The zero value is what
// [DefaultControllerRateLimiter] uses.
type ExponentialOptions struct {
	// Base is the delay after the first failure; 0 or less means 5 ms.
	Base time.Duration
	// Max is the longest delay; 0 or less means 1000 s. If it is shorter than
	// Base, every delay is Max.
	Max time.Duration
	// Jitter lengthens each delay by a random part of up to this fraction of
	// itself, so that items which failed together are not retried together.
	// Max still holds. 0 or less, or not a number, means none.
	Jitter float64
	// IdleAfter is how long after its longest possible delay an item
	// without a call of Forget is forgotten; 0 or less means 10 min.
	IdleAfter time.Duration
}

const (
	defaultBaseDelay = 5 * time.Millisecond
	defaultMaxDelay  = 1000 * time.Second
	defaultIdleAfter = 10 * time.Minute
)

// Exponential returns a limiter that doubles the delay with each failure of the
// same item. An item is forgotten when it has not failed for Max + IdleAfter.
func Exponential[T comparable](opts ExponentialOptions) RateLimiter[T] {
	l := &exponential[T]{
		base:   orDefault(opts.Base, defaultBaseDelay),
		max:    orDefault(opts.Max, defaultMaxDelay),
		jitter: opts.Jitter,
	}
	l.failures.init(saturatingAdd(l.max, orDefault(opts.IdleAfter, defaultIdleAfter)))
	return l
}

type exponential[T comparable] struct {
	base, max time.Duration
	jitter    float64
	failures  failures[T]
}

func (l *exponential[T]) When(item T) time.Duration { return l.whenFailed(failedNow(item), 0) }

func (l *exponential[T]) whenFailed(f failed[T], wait time.Duration) time.Duration {
	return max(wait, l.delay(l.failures.add(f)))
}

func (l *exponential[T]) forgetHashed(item T, hash uint32) { l.failures.forgetHashed(item, hash) }
func (l *exponential[T]) hasBucket() bool                  { return false }

// delay returns the delay after n earlier failures.
func (l *exponential[T]) delay(n int) time.Duration {
	// base << n > max, asked without computing what may not fit.
	if n >= 63 || l.base > l.max>>n {
		return l.max
	}
	d := l.base << n
	if l.jitter > 0 {
		// Compared as floating-point numbers: the sum might not fit a Duration.
		extra := float64(d) * l.jitter * rand.Float64()
		if extra >= float64(l.max-d) {
			return l.max
		}
		d += time.Duration(extra)
	}
	return d
}

func (l *exponential[T]) Forget(item T)          { l.failures.forget(item) }
func (l *exponential[T]) NumRequeues(item T) int { return l.failures.count(item) }

// orDefault returns d, or def if d is not positive.
func orDefault(d, def time.Duration) time.Duration {
	if d <= 0 {
		return def
	}
	return d
}

// saturatingAdd returns a+b, or the longest duration if that does not fit. Both are
// not negative.
func saturatingAdd(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
