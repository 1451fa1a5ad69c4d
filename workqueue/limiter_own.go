package workqueue

import "time"

// ownLimiter is implemented by the limiters of this package. A queue, or a limiter around another
// one, passes on what it knows of an item already: hashing the item and reading the clock once
// more would take a large part of the time of a retry.
type ownLimiter[T comparable] interface {
	// whenFailed is When for an item that waits at least so long anyway; it returns no
	// less. The demand of a bucket depends on that wait.
	whenFailed(f failed[T], wait time.Duration) time.Duration
	// forgetHashed is Forget with the hash of the item.
	forgetHashed(item T, hash uint32)
	// hasBucket reports whether a token bucket is part of the limiter.
	hasBucket() bool
}

// failed is one failure of an item.
type failed[T comparable] struct {
	item T
	hash uint32
	at   time.Time
}

// failedNow returns the failure of an item of which nothing is known yet.
func failedNow[T comparable](item T) failed[T] {
	return failed[T]{item: item, hash: hashOf(item), at: time.Now()}
}

// whenFailed asks any limiter for the delay of an item that waits for at least that long.
func whenFailed[T comparable](l RateLimiter[T], f failed[T], wait time.Duration) time.Duration {
	if own, ok := l.(ownLimiter[T]); ok {
		return own.whenFailed(f, wait)
	}
	return max(wait, l.When(f.item))
}

// forgetHashed makes any limiter forget an item.
func forgetHashed[T comparable](l RateLimiter[T], item T, hash uint32) {
	if own, ok := l.(ownLimiter[T]); ok {
		own.forgetHashed(item, hash)
		return
	}
	l.Forget(item)
}

// hasBucket reports whether a token bucket is part of the limiter, so that its demand
// depends on how long the item will wait anyway.
func hasBucket[T comparable](l RateLimiter[T]) bool {
	own, ok := l.(ownLimiter[T])
	return ok && own.hasBucket()
}
