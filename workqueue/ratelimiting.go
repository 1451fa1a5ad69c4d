package workqueue

// RateLimitingQueue is a [DelayingQueue] that finds out by itself how long to
// delay an item that failed. [Process] is the loop that belongs to it.
//
// All methods may be called concurrently. Create one with [NewRateLimiting].
type RateLimitingQueue[T comparable] struct {
	*DelayingQueue[T]
	limiter RateLimiter[T]
}

// NewRateLimiting returns an empty rate-limiting queue. A nil limiter stands for
// a new [DefaultControllerRateLimiter].
func NewRateLimiting[T comparable](limiter RateLimiter[T], opts Options[T]) *RateLimitingQueue[T] {
	if limiter == nil {
		limiter = DefaultControllerRateLimiter[T]()
	}
	return &RateLimitingQueue[T]{NewDelaying(opts), limiter}
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
	return q.engine.addAfter(item, q.limiter.When(item), true)
}

// Forget makes the limiter treat item as one that never failed. Call it when
// processing succeeded or the item is given up. It does not take the item out
// of the queue.
func (q *RateLimitingQueue[T]) Forget(item T) {
	q.limiter.Forget(item)
	q.engine.forget(item)
}

// NumRequeues returns how often item was retried since it was last forgotten,
// according to the limiter.
func (q *RateLimitingQueue[T]) NumRequeues(item T) int { return q.limiter.NumRequeues(item) }

// forget resets the count of retries that Inspect shows.
func (q *engine[T]) forget(item T) {
	hash := q.hash(item)
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.table.find(hash, &item); e != nil {
		e.retries = 0
	}
}
