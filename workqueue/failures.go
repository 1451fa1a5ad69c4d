package workqueue

import (
	"cmp"
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
	// Jitter changes each delay by a random part of up to this fraction of itself, in both
	// directions, so that items which failed together are not retried together. Max still
	// holds. 0 or less, or not a number, means none; more than 1 means 1. The sequence is the
	// same for each limiter, so that a test in fake time can be repeated.
	Jitter float64
}

const (
	defaultBaseDelay = 5 * time.Millisecond
	defaultMaxDelay  = 1000 * time.Second
	// idleAfter is how long after its longest delay an item without a call of Forget is forgotten.
	idleAfter = 10 * time.Minute
	// defaultJitter is the Jitter of a queue without a limiter.
	defaultJitter = 0.2
)

// Exponential returns a limiter that doubles the delay with each failure of the
// same item. An item is forgotten when it has not failed for Max and 10 min.
func Exponential[T comparable](opts ExponentialOptions) RateLimiter[T] {
	l := &exponential[T]{
		base: cmp.Or(max(0, opts.Base), defaultBaseDelay),
		max:  cmp.Or(max(0, opts.Max), defaultMaxDelay),
	}
	if opts.Jitter > 0 {
		l.jitter = min(1, opts.Jitter)
		l.random = rand.New(rand.NewPCG(0, 0))
	}
	l.rememberFor(l.max)
	return l
}

type exponential[T comparable] struct {
	failures[T]
	base, max time.Duration
	jitter    float64
	random    *rand.Rand // guarded by mu of failures; nil without jitter
}

// When returns the delay after one more failure.
func (l *exponential[T]) When(item T) time.Duration {
	n, d := l.add(item), l.max
	if l.base <= l.max>>n { // base << n <= max, asked without computing what may not fit
		d = l.base << n
	}
	if l.random == nil {
		return d
	}
	l.mu.Lock()
	factor := 1 - l.jitter + 2*l.jitter*l.random.Float64()
	l.mu.Unlock()
	// Bounded before it is jittered, so that the longest delays differ too.
	jittered := min(float64(d), float64(l.max)/(1+l.jitter)) * factor
	if jittered >= float64(l.max) { // as a Duration it might overflow
		return l.max
	}
	return time.Duration(jittered)
}

// FastSlow returns a limiter that delays the first fastAttempts failures of an
// item by fast, and all later ones by slow. Negative arguments count as 0. An
// item is forgotten when it has not failed for the longer delay and 10 min.
func FastSlow[T comparable](fast, slow time.Duration, fastAttempts int) RateLimiter[T] {
	l := &fastSlow[T]{fast: max(0, fast), slow: max(0, slow), fastAttempts: fastAttempts}
	l.rememberFor(max(l.fast, l.slow))
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
	keep  int64     // how long after its last failure an item is remembered
	start time.Time // times are nanoseconds since then

	mu     sync.Mutex
	counts map[T]failure // nil without any
	swept  int64         // when those that had expired were removed
}

// failure is what is known about an item that has failed.
type failure struct {
	n  int
	at int64 // when it failed last
}

// rememberFor makes failures remember an item for longer than the longest delay.
func (f *failures[T]) rememberFor(longest time.Duration) {
	f.keep, f.start = after(int64(longest), idleAfter), time.Now()
}

// now is the current time.
func (f *failures[T]) now() int64 { return int64(time.Since(f.start)) }

// add records a failure and returns how many of the item there were before.
func (f *failures[T]) add(item T) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if f.counts == nil || now-f.swept > f.keep {
		f.sweepLocked(now)
	}
	c := f.counts[item]
	if now-c.at > f.keep {
		c.n = 0
	}
	f.counts[item] = failure{c.n + 1, now}
	return c.n
}

// sweepLocked replaces the map by one without what has expired: a Go map never shrinks.
func (f *failures[T]) sweepLocked(now int64) {
	counts := make(map[T]failure)
	for item, c := range f.counts {
		if now-c.at <= f.keep {
			counts[item] = c
		}
	}
	f.counts, f.swept = counts, now
}

// NumRequeues returns how many failures of item are remembered.
func (f *failures[T]) NumRequeues(item T) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, ok := f.counts[item]
	if !ok || f.now()-c.at > f.keep {
		return 0
	}
	return c.n
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
