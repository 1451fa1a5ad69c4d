package clientgo

import (
	upstream "k8s.io/client-go/util/workqueue"
)

// The constructors have the names of those in client-go's util/workqueue. None of their
// queues has a goroutine, except with a MetricsProvider or a Clock. The compiler checks
// that code which takes these interfaces takes our queue.
var (
	_ upstream.TypedInterface[string]             = (*WorkQueue[string])(nil)
	_ upstream.TypedDelayingInterface[string]     = (*WorkQueue[string])(nil)
	_ upstream.TypedRateLimitingInterface[string] = (*WorkQueue[string])(nil)
)

// NewTypedRateLimitingQueue returns an empty queue. A nil limiter means
// [workqueue.DefaultControllerRateLimiter], which is client-go's default.
func NewTypedRateLimitingQueue[T comparable](limiter upstream.TypedRateLimiter[T]) *WorkQueue[T] {
	return NewTypedRateLimitingQueueWithConfig(limiter, upstream.TypedRateLimitingQueueConfig[T]{})
}

// NewTypedRateLimitingQueueWithConfig returns an empty queue. It panics if the
// configuration has a DelayingQueue.
func NewTypedRateLimitingQueueWithConfig[T comparable](limiter upstream.TypedRateLimiter[T], config upstream.TypedRateLimitingQueueConfig[T]) *WorkQueue[T] {
	if config.DelayingQueue != nil {
		panic("clientgo: TypedRateLimitingQueueConfig.DelayingQueue is not supported: use FromQueue with the options of informerkit's workqueue")
	}
	return newWorkQueue(limiter, config.Name, config.MetricsProvider, config.Clock)
}

// NewTypedDelayingQueueWithConfig returns an empty queue. It panics if the
// configuration has a Queue.
func NewTypedDelayingQueueWithConfig[T comparable](config upstream.TypedDelayingQueueConfig[T]) *WorkQueue[T] {
	if config.Queue != nil {
		panic("clientgo: TypedDelayingQueueConfig.Queue is not supported: use FromQueue with the options of informerkit's workqueue")
	}
	return newWorkQueue[T](nil, config.Name, config.MetricsProvider, config.Clock)
}

// NewTypedWithConfig returns an empty queue. It panics if the configuration has a
// Queue.
func NewTypedWithConfig[T comparable](config upstream.TypedQueueConfig[T]) *WorkQueue[T] {
	if config.Queue != nil {
		panic("clientgo: TypedQueueConfig.Queue is not supported: workqueue.Options has priority classes and fair groups, see FromQueue")
	}
	return newWorkQueue[T](nil, config.Name, config.MetricsProvider, config.Clock)
}
