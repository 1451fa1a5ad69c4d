package workqueue

import "time"

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
