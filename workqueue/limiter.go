package workqueue

import (
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
