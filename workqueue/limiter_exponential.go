package workqueue

import (
	"math"
	"math/rand/v2"
	"sync"
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
	l.failures.keep = saturatingAdd(l.max, orDefault(opts.IdleAfter, defaultIdleAfter))
	return l
}

type exponential[T comparable] struct {
	base, max time.Duration
	jitter    float64
	failures  failures[T]
}

func (l *exponential[T]) When(item T) time.Duration {
	return l.delay(l.failures.add(item))
}

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

// failures counts the failures of items, for the limiters that need to. An item
// that has not failed for a while is forgotten, so that a caller who never
// calls Forget does not make the map grow without bound: the counts form a list in
// the order of their last failure, and each new failure removes what has
// expired at its head. There is no goroutine and no scan.
//
// keep is the same for all items. So the order of the last failures is also the order
// of expiry, and the oldest one is the only candidate.
type failures[T comparable] struct {
	keep time.Duration // how long after its last failure an item is remembered

	mu     sync.Mutex
	counts map[T]*failure[T]
	peak   int // the most counts since the map was made
	oldest *failure[T]
	newest *failure[T]
}

type failure[T comparable] struct {
	item       T
	n          int
	at         time.Time // of the last failure
	next, prev *failure[T]
}

// expireAtOnce limits how many expired counts one call removes. Since it is
// more than the one that the call adds, the backlog always shrinks.
const expireAtOnce = 4

// peakKept is how many counts a map may have had that is kept when it is empty.
const peakKept = 128

// add records a failure of item and returns how many there were before.
func (f *failures[T]) add(item T) int {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	// Bounded work per call, with the lock held: no call pays for a burst long ago.
	for i := 0; i < expireAtOnce && f.oldest != nil && now.Sub(f.oldest.at) > f.keep; i++ {
		f.dropLocked(f.oldest)
	}
	c := f.counts[item]
	switch {
	case c == nil:
		if f.counts == nil {
			f.counts = make(map[T]*failure[T])
		}
		c = &failure[T]{item: item}
		f.counts[item] = c
		f.peak = max(f.peak, len(f.counts))
	case now.Sub(c.at) > f.keep:
		c.n = 0 // expired, though not removed yet
		f.unlinkLocked(c)
	default:
		f.unlinkLocked(c)
	}
	n := c.n
	if c.n < maxFailures {
		c.n++
	}
	c.at = now
	f.linkLocked(c)
	return n
}

const maxFailures = int(^uint(0) >> 1)

// count returns how many failures of item are remembered.
func (f *failures[T]) count(item T) int {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.counts[item]; c != nil && now.Sub(c.at) <= f.keep {
		return c.n
	}
	return 0
}

// forget removes the count of item, if there is one. It takes the lock.
func (f *failures[T]) forget(item T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.counts[item]; c != nil {
		f.dropLocked(c)
	}
}

// dropLocked removes a count. It is called with f.mu held.
func (f *failures[T]) dropLocked(c *failure[T]) {
	f.unlinkLocked(c)
	delete(f.counts, c.item)
	if len(f.counts) == 0 && f.peak > peakKept {
		f.counts, f.peak = nil, 0 // a map never shrinks
	}
}

// linkLocked puts a count at the end of the list, as the newest failure. It is called
// with f.mu held.
func (f *failures[T]) linkLocked(c *failure[T]) {
	c.prev, c.next = f.newest, nil
	if f.newest == nil {
		f.oldest = c
	} else {
		f.newest.next = c
	}
	f.newest = c
}

// unlinkLocked takes a count out of the list. It is called with f.mu held.
func (f *failures[T]) unlinkLocked(c *failure[T]) {
	if c.prev == nil {
		f.oldest = c.next
	} else {
		c.prev.next = c.next
	}
	if c.next == nil {
		f.newest = c.prev
	} else {
		c.next.prev = c.prev
	}
}
