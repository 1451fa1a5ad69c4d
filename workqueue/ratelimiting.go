package workqueue

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// RateLimitingQueue is a [DelayingQueue] with a [RateLimiter], which computes how long
// an item that failed is delayed. [Process] runs workers on it.
//
// All methods may be called concurrently. Create one with [NewRateLimiting].
type RateLimitingQueue[T comparable] struct {
	DelayingQueue[T]
	limiter   RateLimiter[T]
	each      maxOf[T]    // the parts of limiter that look at one item
	processed atomic.Bool // whether ProcessWith is at work
}

// NewRateLimiting returns an empty rate-limiting queue. A nil limiter stands for
// an [Exponential] one with its default delays and a Jitter of 0.2. Unlike
// [DefaultControllerRateLimiter], it does not limit the retries of all items together:
// with such a limit, one item that always fails delays the retries of the others.
func NewRateLimiting[T comparable](limiter RateLimiter[T], opts Options[T]) *RateLimitingQueue[T] {
	if limiter == nil {
		limiter = Exponential[T](ExponentialOptions{Jitter: defaultJitter})
	}
	q := &RateLimitingQueue[T]{limiter: limiter}
	q.each, q.buckets = split(limiter)
	q.init(opts)
	return q
}

// AddRateLimited adds item after the delay that the limiter demands, by the
// rules of [DelayingQueue.AddAfter]. Call it before Done, for an item whose
// processing failed. After a shutdown it does nothing.
func (q *RateLimitingQueue[T]) AddRateLimited(item T) { q.retry(item) }

// retry is AddRateLimited; it returns false if the queue is shut down.
func (q *RateLimitingQueue[T]) retry(item T) bool {
	if q.ShuttingDown() {
		return false // without using up what the limiter has to give
	}
	// The limiter has its own lock, and may be user code: it is asked without the queue's.
	return q.addAfter(item, q.each.When(item), true)
}

// Forget makes the limiter treat item as one that never failed. Call it when
// processing succeeded or the item is dropped. It does not take the item out
// of the queue.
func (q *RateLimitingQueue[T]) Forget(item T) {
	q.limiter.Forget(item)
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.entries[item]; e != nil {
		q.forgetLocked(e)
	}
}

// NumRequeues returns how often item was retried since it was last forgotten,
// according to the limiter.
func (q *RateLimitingQueue[T]) NumRequeues(item T) int { return q.limiter.NumRequeues(item) }

// countRetryLocked counts a retry.
func (q *Queue[T]) countRetryLocked(e *entry[T]) {
	q.count.retried++
	switch e.retries {
	case 0:
		q.count.retrying++
	case math.MaxUint16:
		return
	}
	e.retries++
}

// forgetLocked forgets the retries of an entry. All are forgotten before their entry is.
func (q *Queue[T]) forgetLocked(e *entry[T]) {
	if e.retries > 0 {
		e.retries = 0
		q.count.retrying--
	}
}

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

// DefaultControllerRateLimiter is client-go's default: 5 ms doubling up to 1000 s for each
// item, and 10 retries per second with bursts of 100 over all of them, whichever demands
// the longer delay.
func DefaultControllerRateLimiter[T comparable]() RateLimiter[T] {
	return MaxOf(
		Exponential[T](ExponentialOptions{}),
		Bucket[T](rate.NewLimiter(10, 100)),
	)
}

// MaxOf returns a limiter that demands the longest delay of several. Nil limiters are left
// out; without any limiter, there is no delay.
func MaxOf[T comparable](limiters ...RateLimiter[T]) RateLimiter[T] {
	return maxOf[T](slices.DeleteFunc(slices.Clone(limiters), func(l RateLimiter[T]) bool { return l == nil }))
}

// maxOf is the limiter of [MaxOf].
type maxOf[T comparable] []RateLimiter[T]

// When returns the longest delay.
func (m maxOf[T]) When(item T) (longest time.Duration) {
	for _, l := range m {
		longest = max(longest, l.When(item))
	}
	return longest
}

// Forget makes every limiter forget item.
func (m maxOf[T]) Forget(item T) {
	for _, l := range m {
		l.Forget(item)
	}
}

// NumRequeues returns the highest count of all limiters.
func (m maxOf[T]) NumRequeues(item T) (n int) {
	for _, l := range m {
		n = max(n, l.NumRequeues(item))
	}
	return n
}

// WithMaxWait returns a limiter that demands what another one does, but never
// more than longest. A negative longest counts as 0; a nil limiter demands
// nothing.
func WithMaxWait[T comparable](limiter RateLimiter[T], longest time.Duration) RateLimiter[T] {
	longest = max(0, longest)
	switch l := limiter.(type) {
	case nil:
		return maxOf[T]{}
	case maxOf[T]: // of each part, so that a queue finds the buckets
		var capped maxOf[T]
		for _, part := range l {
			capped = append(capped, WithMaxWait(part, longest))
		}
		return capped
	case *bucket[T]:
		return &bucket[T]{tokens{l.limiter, min(l.longest, longest)}}
	}
	return &maxWait[T]{limiter, longest}
}

// maxWait is the limiter of [WithMaxWait].
type maxWait[T comparable] struct {
	RateLimiter[T]
	longest time.Duration
}

// When returns the delay of the inner limiter, or the longest.
func (m *maxWait[T]) When(item T) time.Duration { return min(m.longest, m.RateLimiter.When(item)) }

// Bucket returns a limiter that spreads the retries of all items by a token
// bucket: limiter's burst at once, then one after the other at its rate. It
// counts no failures, so NumRequeues is 0. A nil limiter demands nothing; one that can
// never let anything through (a burst of 0) demands the longest delay there is. Queues that
// are to share a rate share the limiter.
//
// A retry takes a token when AddRateLimited schedules it. A queue takes none for an item
// that is queued, or delayed by less, already: that retry collapses with the other request.
// All items wait for the same tokens, so one that fails often delays the others.
func Bucket[T comparable](limiter *rate.Limiter) RateLimiter[T] {
	if limiter == nil {
		limiter = rate.NewLimiter(rate.Inf, 0)
	}
	return &bucket[T]{tokens{limiter, never}}
}

// bucket is the limiter of [Bucket].
type bucket[T comparable] struct{ tokens }

func (b *bucket[T]) When(T) time.Duration { return b.take(never) }
func (b *bucket[T]) Forget(T)             {}
func (b *bucket[T]) NumRequeues(T) int    { return 0 }

// tokens are what a bucket earns.
type tokens struct {
	limiter *rate.Limiter
	longest time.Duration // of [WithMaxWait]
}

// take takes a token and returns how long to wait for it. It takes none if that is not
// shorter than comes.
func (t tokens) take(comes time.Duration) time.Duration {
	now := time.Now()
	r := t.limiter.ReserveN(now, 1)
	if !r.OK() { // a burst of 0: no wait would be long enough
		return min(t.longest, rate.InfDuration)
	}
	wait := min(t.longest, r.DelayFrom(now))
	if wait >= comes {
		r.CancelAt(now)
	}
	return wait
}

// split returns the buckets that a limiter is or has in a [MaxOf], and the rest of it.
func split[T comparable](limiter RateLimiter[T]) (each maxOf[T], buckets []tokens) {
	switch l := limiter.(type) {
	case *bucket[T]:
		return nil, []tokens{l.tokens}
	case maxOf[T]:
		for _, part := range l {
			e, b := split(part)
			each, buckets = append(each, e...), append(buckets, b...)
		}
		return each, buckets
	}
	return maxOf[T]{limiter}, nil
}
