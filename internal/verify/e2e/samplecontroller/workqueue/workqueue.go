// Package workqueue takes the place of k8s.io/client-go/util/workqueue in
// sample-controller.
package workqueue

import (
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/informerkit/informerkit/informer/clientgo"
)

// These are what sample-controller names besides the constructor.
type (
	// TypedRateLimiter is client-go's.
	TypedRateLimiter[T comparable] = workqueue.TypedRateLimiter[T]
	// TypedRateLimitingInterface is client-go's.
	TypedRateLimitingInterface[T comparable] = workqueue.TypedRateLimitingInterface[T]
	// TypedBucketRateLimiter is client-go's.
	TypedBucketRateLimiter[T comparable] = workqueue.TypedBucketRateLimiter[T]
)

// NewTypedMaxOfRateLimiter is client-go's.
func NewTypedMaxOfRateLimiter[T comparable](limiters ...TypedRateLimiter[T]) TypedRateLimiter[T] {
	return workqueue.NewTypedMaxOfRateLimiter(limiters...)
}

// NewTypedItemExponentialFailureRateLimiter is client-go's.
func NewTypedItemExponentialFailureRateLimiter[T comparable](base, longest time.Duration) TypedRateLimiter[T] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[T](base, longest)
}

// NewTypedRateLimitingQueue returns a queue of this library.
func NewTypedRateLimitingQueue[T comparable](limiter TypedRateLimiter[T]) TypedRateLimitingInterface[T] {
	return clientgo.NewTypedRateLimitingQueue(limiter)
}
