package workqueue

import "time"

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
