package workqueue

import (
	"container/heap"
	"math"
	"sync"
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
	processed atomic.Bool // whether ProcessWith is at work
}

// NewRateLimiting returns an empty rate-limiting queue. A nil limiter stands for
// a new [DefaultControllerRateLimiter].
func NewRateLimiting[T comparable](limiter RateLimiter[T], opts Options[T]) *RateLimitingQueue[T] {
	if limiter == nil {
		limiter = DefaultControllerRateLimiter[T]()
	}
	q := &RateLimitingQueue[T]{limiter: limiter}
	q.init(opts)
	return q
}

// AddRateLimited adds item after the delay that the limiter demands, by the
// rules of [DelayingQueue.AddAfter]. Call it before Done, for an item whose
// processing failed. After a shutdown it does nothing.
func (q *RateLimitingQueue[T]) AddRateLimited(item T) { q.retry(item) }

// retry is AddRateLimited; it returns false if the queue is shut down.
func (q *RateLimitingQueue[T]) retry(item T) bool {
	comes, ok := q.comes(item)
	if !ok {
		return false // without using up what the limiter has to give
	}
	// The limiter has its own lock, and may be user code: it is asked without the queue's.
	return q.addAfter(item, whenWaiting(q.limiter, item, 0, comes), true)
}

// comes returns how soon item is handed out, or queued, because of a request that is there:
// a retry that does not come sooner collapses with it. Without a request that is never. It
// returns false if the queue is shut down.
func (q *RateLimitingQueue[T]) comes(item T) (in time.Duration, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.entries[item]
	at := int64(never)
	switch {
	case e == nil:
	case e.is(requested):
		at = 0
	case e.is(parked):
		at = q.later.parks[e].due
	case e.delayed():
		at = q.later.at(e)
	}
	if at == 0 || at == never { // without reading the clock
		return time.Duration(at), !q.shutDown
	}
	return time.Duration(max(0, at-q.clock())), !q.shutDown
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

// DefaultControllerRateLimiter is the limiter that most controllers want: 5 ms
// doubling up to 1000 s for each item, and 10 retries per second with bursts of
// 100 over all of them, whichever demands the longer delay.
func DefaultControllerRateLimiter[T comparable]() RateLimiter[T] {
	return MaxOf(
		Exponential[T](ExponentialOptions{}),
		Bucket[T](rate.NewLimiter(10, 100)),
	)
}

// waitAware is implemented by limiters that have a [Bucket] in them: their demand depends on
// how long the item waits anyway, and no token is used for a request that collapses.
type waitAware[T comparable] interface {
	// whenWaiting is When for an item that waits at least so long anyway; it returns no less.
	// Because of another request, the item comes after comes at the latest: if this one does
	// not come sooner, it is not handed out by itself. Without another one, comes is never.
	whenWaiting(item T, wait, comes time.Duration) time.Duration
	hasBucket() bool
}

// whenWaiting asks any limiter for the delay of an item; see [waitAware].
func whenWaiting[T comparable](l RateLimiter[T], item T, wait, comes time.Duration) time.Duration {
	if aware, ok := l.(waitAware[T]); ok {
		return aware.whenWaiting(item, wait, comes)
	}
	return max(wait, l.When(item))
}

func hasBucket[T comparable](l RateLimiter[T]) bool {
	aware, ok := l.(waitAware[T])
	return ok && aware.hasBucket()
}

// MaxOf returns a limiter that demands the longest delay of several. Limiters
// with a limit over all items ([Bucket]) are asked last, so that they know how
// long the item waits anyway. Nil limiters are left out; without any limiter,
// there is no delay.
func MaxOf[T comparable](limiters ...RateLimiter[T]) RateLimiter[T] {
	var plain, buckets maxOf[T]
	for _, l := range limiters {
		switch {
		case l == nil:
		case hasBucket(l):
			buckets = append(buckets, l)
		default:
			plain = append(plain, l)
		}
	}
	return append(plain, buckets...)
}

// maxOf has the limiters in the order in which they are asked.
type maxOf[T comparable] []RateLimiter[T]

func (m maxOf[T]) When(item T) time.Duration { return m.whenWaiting(item, 0, never) }
func (m maxOf[T]) hasBucket() bool           { return len(m) > 0 && hasBucket(m[len(m)-1]) }

func (m maxOf[T]) whenWaiting(item T, wait, comes time.Duration) time.Duration {
	for _, l := range m {
		wait = whenWaiting(l, item, wait, comes)
	}
	return wait
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

func (m *maxWait[T]) When(item T) time.Duration { return m.whenWaiting(item, 0, never) }
func (m *maxWait[T]) hasBucket() bool           { return hasBucket(m.RateLimiter) }

func (m *maxWait[T]) whenWaiting(item T, wait, comes time.Duration) time.Duration {
	if m.longest < comes {
		comes = never // this request comes sooner than the other one, whatever the inner limiter demands
	}
	return max(wait, min(m.longest, whenWaiting(m.RateLimiter, item, wait, comes)))
}

// Bucket returns a limiter that spreads the retries of all items by a token
// bucket: limiter's burst at once, then one after the other at its rate. It
// counts no failures, so NumRequeues is 0. A queue uses no token for an item that comes
// sooner anyway: AddRateLimited of what is queued or delayed collapses, however often it is called. A nil limiter demands nothing; one
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
	later times // when items that did not take a place are due
}

func (b *bucket[T]) When(item T) time.Duration { return b.whenWaiting(item, 0, never) }
func (b *bucket[T]) hasBucket() bool           { return true }

// whenWaiting takes a token now, or books one for the time when the item is due, or does
// neither if the request collapses with one that comes sooner.
func (b *bucket[T]) whenWaiting(_ T, wait, comes time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	// The tokens of items that have become due are paid before this item asks, so
	// that the bucket is as empty as if they had asked when they ran.
	for len(b.later) > 0 && !b.later[0].After(now) {
		b.limiter.ReserveN(heap.Pop(&b.later).(time.Time), 1)
	}
	if wait >= comes {
		return wait
	}
	r := b.limiter.ReserveN(now, 1)
	// Only a burst of 0 gets here: no wait would ever be long enough.
	if !r.OK() {
		return rate.InfDuration
	}
	d := r.DelayFrom(now)
	if d >= comes {
		r.CancelAt(now)
		return d
	}
	if d == 0 || d >= wait {
		// A token at hand is taken even if the item runs a little later: it
		// delays no other item, and were it not, a burst of items that all
		// wait a few milliseconds would pass uncounted.
		return max(d, wait)
	}
	// The item waits longer for another limiter: the place is free for others.
	r.CancelAt(now)
	heap.Push(&b.later, now.Add(wait))
	return wait
}

func (b *bucket[T]) Forget(T)          {}
func (b *bucket[T]) NumRequeues(T) int { return 0 }

// times is a [heap.Interface] of times, the earliest first.
type times []time.Time

func (h times) Len() int           { return len(h) }
func (h times) Less(i, j int) bool { return h[i].Before(h[j]) }
func (h times) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *times) Push(t any)        { *h = append(*h, t.(time.Time)) }

func (h *times) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	*h = (*h)[:last]
	return t
}
