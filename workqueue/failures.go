package workqueue

import (
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
}

const (
	defaultBaseDelay = 5 * time.Millisecond
	defaultMaxDelay  = 1000 * time.Second
	// idleAfter is how long after its longest delay an item without a call of Forget is forgotten.
	idleAfter = 10 * time.Minute
)

// Exponential returns a limiter that doubles the delay with each failure of the
// same item. An item is forgotten when it has not failed for Max and 10 min.
func Exponential[T comparable](opts ExponentialOptions) RateLimiter[T] {
	l := &exponential[T]{
		base:   orDefault(opts.Base, defaultBaseDelay),
		max:    orDefault(opts.Max, defaultMaxDelay),
		jitter: opts.Jitter,
	}
	l.keep = time.Duration(after(int64(l.max), idleAfter))
	return l
}

type exponential[T comparable] struct {
	failures[T]
	base, max time.Duration
	jitter    float64
}

func (l *exponential[T]) When(item T) time.Duration { return l.delay(l.add(item)) }

// delay returns the delay after n earlier failures.
func (l *exponential[T]) delay(n int) time.Duration {
	// base << n > max, asked without computing what may not fit.
	if l.base > l.max>>n {
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

// FastSlow returns a limiter that delays the first fastAttempts failures of an
// item by fast, and all later ones by slow. Negative arguments count as 0. An
// item is forgotten when it has not failed for the longer delay and 10 min.
func FastSlow[T comparable](fast, slow time.Duration, fastAttempts int) RateLimiter[T] {
	l := &fastSlow[T]{fast: max(0, fast), slow: max(0, slow), fastAttempts: fastAttempts}
	l.keep = time.Duration(after(int64(max(l.fast, l.slow)), idleAfter))
	return l
}

type fastSlow[T comparable] struct {
	failures[T]
	fast, slow   time.Duration
	fastAttempts int
}

func (l *fastSlow[T]) When(item T) time.Duration {
	if l.add(item) < l.fastAttempts {
		return l.fast
	}
	return l.slow
}

// failures counts the failures of items, for the limiters that need to. An item that has
// not failed for a while is forgotten, so that a caller who never calls Forget does not make
// them grow without bound: what has expired takes memory for as long again at most.
type failures[T comparable] struct {
	keep time.Duration // how long after its last failure an item is remembered

	mu     sync.Mutex
	counts map[T]failure // nil without any
	swept  time.Time     // when those that had expired were removed
}

// failure is what is known about an item that has failed.
type failure struct {
	n  int
	at time.Time // of the last one
}

// add records a failure and returns how many of the item there were before.
func (f *failures[T]) add(item T) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if f.counts == nil || now.Sub(f.swept) > f.keep {
		f.sweepLocked(now)
	}
	n := f.countLocked(item, now)
	f.counts[item] = failure{n + 1, now}
	return n
}

// sweepLocked replaces the map by one without what has expired: a Go map never shrinks.
func (f *failures[T]) sweepLocked(now time.Time) {
	counts := make(map[T]failure)
	for item, c := range f.counts {
		if now.Sub(c.at) <= f.keep {
			counts[item] = c
		}
	}
	f.counts, f.swept = counts, now
}

// countLocked returns how many failures of item are remembered.
func (f *failures[T]) countLocked(item T, now time.Time) int {
	c := f.counts[item]
	if now.Sub(c.at) > f.keep {
		return 0
	}
	return c.n
}

// NumRequeues returns how many failures of item are remembered.
func (f *failures[T]) NumRequeues(item T) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.countLocked(item, time.Now())
}

// Forget forgets the failures of item.
func (f *failures[T]) Forget(item T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.counts, item)
	if len(f.counts) == 0 {
		f.counts = nil
	}
}

// orDefault returns d, or def if d is not positive.
func orDefault(d, def time.Duration) time.Duration {
	if d <= 0 {
		return def
	}
	return d
}
