package workqueue

import (
	"time"

	"golang.org/x/time/rate"
)

// RateLimiter decides how long an item that failed waits before it is tried
// again. Implementations must be safe for concurrent use.
type RateLimiter[T comparable] interface {
	// When records one more failure of item and returns how long to wait. The
	// delay is never negative.
	When(item T) time.Duration
	// Forget forgets all failures of item.
	Forget(item T)
	// NumRequeues returns how many failures of item are recorded.
	NumRequeues(item T) int
}

// DefaultControllerRateLimiter is the limiter that most controllers want: 5 ms
// doubling up to 1000 s for each item, and 10 retries per second with bursts of
// 100 over all of them, whichever demands the longer delay.
func DefaultControllerRateLimiter[T comparable]() RateLimiter[T] {
	return MaxOf(
		Exponential[T](ExponentialOptions{}),
		Bucket[T](rate.NewLimiter(10, 100)),
	)
}

// FastSlow returns a limiter that delays the first fastAttempts failures of an
// item by fast, and all later ones by slow. Negative arguments count as 0. An
// item is forgotten when it has not failed for the longer delay and 10 min.
func FastSlow[T comparable](fast, slow time.Duration, fastAttempts int) RateLimiter[T] {
	l := &fastSlow[T]{fast: max(0, fast), slow: max(0, slow), fastAttempts: fastAttempts}
	l.failures.keep = saturatingAdd(max(l.fast, l.slow), defaultIdleAfter)
	return l
}

type fastSlow[T comparable] struct {
	fast, slow   time.Duration
	fastAttempts int
	failures     failures[T]
}

func (l *fastSlow[T]) When(item T) time.Duration {
	if l.failures.add(item) < l.fastAttempts {
		return l.fast
	}
	return l.slow
}

func (l *fastSlow[T]) Forget(item T)          { l.failures.forget(item) }
func (l *fastSlow[T]) NumRequeues(item T) int { return l.failures.count(item) }

// waitingLimiter is implemented by limiters whose demand may depend on how long
// the item will wait anyway, because they are a bucket or have one inside.
type waitingLimiter[T comparable] interface {
	// whenAfter is When for an item that waits at least so long; it returns no
	// less.
	whenAfter(item T, wait time.Duration) time.Duration
	hasBucket() bool
}

func hasBucket[T comparable](l RateLimiter[T]) bool {
	w, ok := l.(waitingLimiter[T])
	return ok && w.hasBucket()
}

// whenAfter asks l for the delay of an item that waits for at least that long.
func whenAfter[T comparable](l RateLimiter[T], item T, wait time.Duration) time.Duration {
	if w, ok := l.(waitingLimiter[T]); ok {
		return w.whenAfter(item, wait)
	}
	return max(wait, l.When(item))
}

// MaxOf returns a limiter that demands the longest delay of several. Limiters
// with a budget over all items ([Bucket]) are asked last, so that they know how
// long the item waits anyway. Nil limiters are left out; without any limiter,
// there is no delay.
func MaxOf[T comparable](limiters ...RateLimiter[T]) RateLimiter[T] {
	var m maxOf[T]
	for _, l := range limiters {
		if l == nil {
			continue
		}
		if hasBucket(l) {
			m.waiting = append(m.waiting, l)
		} else {
			m.plain = append(m.plain, l)
		}
	}
	return &m
}

type maxOf[T comparable] struct{ plain, waiting []RateLimiter[T] }

func (m *maxOf[T]) When(item T) time.Duration { return m.whenAfter(item, 0) }
func (m *maxOf[T]) hasBucket() bool           { return len(m.waiting) > 0 }

// whenAfter asks the buckets last: only then is it known how long the item waits
// anyway.
func (m *maxOf[T]) whenAfter(item T, wait time.Duration) time.Duration {
	for _, l := range m.plain {
		wait = max(wait, l.When(item))
	}
	for _, l := range m.waiting {
		wait = max(wait, whenAfter(l, item, wait))
	}
	return wait
}

func (m *maxOf[T]) Forget(item T) {
	for _, l := range m.plain {
		l.Forget(item)
	}
	for _, l := range m.waiting {
		l.Forget(item)
	}
}

func (m *maxOf[T]) NumRequeues(item T) int {
	n := 0
	for _, l := range m.plain {
		n = max(n, l.NumRequeues(item))
	}
	for _, l := range m.waiting {
		n = max(n, l.NumRequeues(item))
	}
	return n
}

// WithMaxWait returns a limiter that demands what another one does, but never
// more than longest. A negative longest counts as 0; a nil limiter demands
// nothing.
func WithMaxWait[T comparable](limiter RateLimiter[T], longest time.Duration) RateLimiter[T] {
	if limiter == nil {
		limiter = MaxOf[T]()
	}
	return &maxWait[T]{limiter, max(0, longest)}
}

type maxWait[T comparable] struct {
	RateLimiter[T]
	longest time.Duration
}

func (m *maxWait[T]) When(item T) time.Duration { return m.whenAfter(item, 0) }
func (m *maxWait[T]) hasBucket() bool           { return hasBucket(m.RateLimiter) }

func (m *maxWait[T]) whenAfter(item T, wait time.Duration) time.Duration {
	return max(wait, min(m.longest, whenAfter(m.RateLimiter, item, wait)))
}
