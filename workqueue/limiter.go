package workqueue

import (
	"sync"
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
	l.failures.init(saturatingAdd(max(l.fast, l.slow), defaultIdleAfter))
	return l
}

type fastSlow[T comparable] struct {
	fast, slow   time.Duration
	fastAttempts int
	failures     failures[T]
}

// When counts a failure: the first ones wait for the fast delay.
func (l *fastSlow[T]) When(item T) time.Duration { return l.whenFailed(failedNow(item), 0) }

func (l *fastSlow[T]) whenFailed(f failed[T], wait time.Duration) time.Duration {
	if l.failures.add(f) < l.fastAttempts {
		return max(wait, l.fast)
	}
	return max(wait, l.slow)
}

func (l *fastSlow[T]) forgetHashed(item T, hash uint32) { l.failures.forgetHashed(item, hash) }
func (l *fastSlow[T]) hasBucket() bool                  { return false }

func (l *fastSlow[T]) Forget(item T)          { l.failures.forget(item) }
func (l *fastSlow[T]) NumRequeues(item T) int { return l.failures.count(item) }

// MaxOf returns a limiter that demands the longest delay of several. Limiters
// with a limit over all items ([Bucket]) are asked last, so that they know how
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

// maxOf keeps the order of asking: plain first, waiting last.
type maxOf[T comparable] struct{ plain, waiting []RateLimiter[T] }

func (m *maxOf[T]) When(item T) time.Duration { return m.whenFailed(failedNow(item), 0) }
func (m *maxOf[T]) hasBucket() bool           { return len(m.waiting) > 0 }

// whenFailed asks the buckets last: only then is it known how long the item waits
// anyway.
func (m *maxOf[T]) whenFailed(f failed[T], wait time.Duration) time.Duration {
	for _, l := range m.plain {
		wait = whenFailed(l, f, wait)
	}
	for _, l := range m.waiting {
		wait = whenFailed(l, f, wait)
	}
	return wait
}

func (m *maxOf[T]) forgetHashed(item T, hash uint32) {
	for _, l := range m.plain {
		forgetHashed(l, item, hash)
	}
	for _, l := range m.waiting {
		forgetHashed(l, item, hash)
	}
}

// Forget makes every limiter forget item.
func (m *maxOf[T]) Forget(item T) {
	for _, l := range m.plain {
		l.Forget(item)
	}
	for _, l := range m.waiting {
		l.Forget(item)
	}
}

// NumRequeues returns the highest count of all limiters.
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

// maxWait is the limiter of [WithMaxWait].
// The limit is on what the inner limiter demands, not on how long an item waits anyway
// for another limiter around this one.
type maxWait[T comparable] struct {
	RateLimiter[T]
	longest time.Duration
}

func (m *maxWait[T]) When(item T) time.Duration { return m.whenFailed(failedNow(item), 0) }
func (m *maxWait[T]) hasBucket() bool           { return hasBucket(m.RateLimiter) }

func (m *maxWait[T]) whenFailed(f failed[T], wait time.Duration) time.Duration {
	return max(wait, min(m.longest, whenFailed(m.RateLimiter, f, wait)))
}

func (m *maxWait[T]) forgetHashed(item T, hash uint32) { forgetHashed(m.RateLimiter, item, hash) }

// Bucket returns a limiter that spreads the retries of all items by a token
// bucket: limiter's burst at once, then one after the other at its rate. It
// counts no failures, so NumRequeues is 0. A nil limiter demands nothing; one
// that can never let anything through (a burst of 0) demands the longest delay
// there is.
//
// In a [MaxOf], an item that must wait longer for another limiter than for this
// one takes its token only when that wait ends, so that other items can use the
// tokens in the meantime. The Bucket may record such a token afterwards, as of the time
// at which it was due. So limiter must not be used for anything else, nor by another
// Bucket: tokens earned since then would count twice. Queues that are to share a rate
// share the Bucket.
func Bucket[T comparable](limiter *rate.Limiter) RateLimiter[T] {
	if limiter == nil {
		limiter = rate.NewLimiter(rate.Inf, 0)
	}
	return &bucket[T]{limiter: limiter}
}

// bucket is a token bucket over all items. mu guards later, and keeps the tokens that
// are paid for due items together with the reservation that follows them.
type bucket[T comparable] struct {
	limiter *rate.Limiter

	mu    sync.Mutex
	later timeHeap // when items that did not take a place are due
}

func (b *bucket[T]) When(item T) time.Duration {
	return b.whenFailed(failed[T]{item: item, at: time.Now()}, 0)
}

func (b *bucket[T]) hasBucket() bool { return true }

// whenFailed takes a token now, or books one for the time when the item is due. It
// takes the lock.
func (b *bucket[T]) whenFailed(f failed[T], wait time.Duration) time.Duration {
	now := f.at
	b.mu.Lock()
	defer b.mu.Unlock()
	// The tokens of items that have become due are paid before this item asks, so
	// that the bucket is as empty as if they had asked when they ran.
	for len(b.later) > 0 && !b.later[0].After(now) {
		b.limiter.ReserveN(b.later.pop(), 1)
	}
	r := b.limiter.ReserveN(now, 1)
	// Only a burst of 0 gets here: no wait would ever be long enough.
	if !r.OK() {
		return rate.InfDuration
	}
	d := r.DelayFrom(now)
	if d == 0 || d >= wait {
		// A token at hand is taken even if the item runs a little later: it
		// delays no other item, and were it not, a burst of items that all
		// wait a few milliseconds would pass uncounted.
		return max(d, wait)
	}
	// The item waits longer for another limiter: the place is free for others.
	r.CancelAt(now)
	b.later.push(now.Add(wait))
	return wait
}

func (b *bucket[T]) Forget(T)               {}
func (b *bucket[T]) forgetHashed(T, uint32) {}
func (b *bucket[T]) NumRequeues(T) int      { return 0 }

// timeHeap is a binary heap of times, the earliest first.
type timeHeap []time.Time

// push puts t in.
func (h *timeHeap) push(t time.Time) {
	s := append(*h, t)
	i := len(s) - 1
	for i > 0 && s[i].Before(s[(i-1)/2]) {
		s[i], s[(i-1)/2] = s[(i-1)/2], s[i]
		i = (i - 1) / 2
	}
	*h = s
}

// pop takes out the earliest time; there must be one.
func (h *timeHeap) pop() time.Time {
	s := *h
	first := s[0]
	n := len(s) - 1
	s[0] = s[n]
	s = s[:n]
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && s[c+1].Before(s[c]) {
			c++
		}
		if !s[c].Before(s[i]) {
			break
		}
		s[i], s[c] = s[c], s[i]
		i = c
	}
	*h = s
	return first
}
