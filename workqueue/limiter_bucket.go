package workqueue

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Bucket returns a limiter that spreads the retries of all items by a token
// bucket: limiter's burst at once, then one after the other at its rate. It
// counts no failures, so NumRequeues is 0. A nil limiter demands nothing; one
// that can never let anything through (a burst of 0) demands the longest delay
// there is.
//
// In a [MaxOf], an item that must wait longer for another limiter than for this
// one does not take a place in the line, which others could use in the
// meantime; it pays its token when it is due. Since that may be booked later,
// with the time at which it was due, limiter must not be used for anything else,
// nor by another Bucket: it would count the time since then twice. Queues that
// are to share a line share the Bucket.
func Bucket[T comparable](limiter *rate.Limiter) RateLimiter[T] {
	if limiter == nil {
		limiter = rate.NewLimiter(rate.Inf, 0)
	}
	return &bucket[T]{limiter: limiter}
}

type bucket[T comparable] struct {
	limiter *rate.Limiter

	mu    sync.Mutex
	later timeHeap // when items that did not take a place are due
}

func (b *bucket[T]) When(item T) time.Duration { return b.whenAfter(item, 0) }
func (b *bucket[T]) hasBucket() bool           { return true }

// whenAfter takes a token now, or books one for the time when the item is due. It
// takes the lock.
func (b *bucket[T]) whenAfter(_ T, wait time.Duration) time.Duration {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.later) > 0 && !b.later[0].After(now) {
		b.limiter.ReserveN(b.later.pop(), 1)
	}
	r := b.limiter.ReserveN(now, 1)
	if !r.OK() {
		return rate.InfDuration
	}
	d := r.DelayFrom(now)
	if d == 0 || d >= wait {
		// A token at hand is taken even if the item runs a little later: it
		// keeps nobody waiting, and were it not, a burst of items that all
		// wait a few milliseconds would pass uncounted.
		return max(d, wait)
	}
	r.CancelAt(now)
	b.later.push(now.Add(wait))
	return wait
}

func (b *bucket[T]) Forget(T)          {}
func (b *bucket[T]) NumRequeues(T) int { return 0 }

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
