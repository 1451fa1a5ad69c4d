package clientgo

import (
	"context"
	"sync"
	"time"

	upstream "k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/informerkit/informerkit/workqueue"
)

// WorkQueue is a queue of this library with the methods of client-go's queues. It
// implements workqueue.TypedInterface, TypedDelayingInterface and
// TypedRateLimitingInterface. All methods may be called concurrently.
type WorkQueue[T comparable] struct {
	queue  *workqueue.RateLimitingQueue[T]
	delays *clockDelays[T] // nil unless the configuration has a clock of its own
	done   func()          // called when the queue is shut down; may be called again
}

// FromQueue returns q as client-go's interface. A nil q panics.
func FromQueue[T comparable](q *workqueue.RateLimitingQueue[T]) *WorkQueue[T] {
	if q == nil {
		panic("clientgo: FromQueue needs a queue, from workqueue.NewRateLimiting")
	}
	return &WorkQueue[T]{queue: q, done: func() {}}
}

// newWorkQueue returns an empty queue. A nil or real clock means that our queue keeps
// the delays itself. All constructors end here. A queue that has neither metrics nor a
// clock of its own costs no goroutine.
func newWorkQueue[T comparable](limiter upstream.TypedRateLimiter[T], name string, provider upstream.MetricsProvider, c clock.WithTicker) *WorkQueue[T] {
	options := workqueue.Options[T]{Name: name}
	var gauges *gaugeLoop
	var metrics workqueue.Metrics
	if provider != nil && name != "" { // client-go has no metrics of unnamed queues either
		metrics, gauges = bridge(name, provider)
		options.Metrics = provided{metrics}
	}
	if limiter == nil {
		limiter = workqueue.DefaultControllerRateLimiter[T]()
	}
	q := FromQueue(workqueue.NewRateLimiting[T](limiter, options))
	if !isReal(c) {
		q.delays = newClockDelays(c, limiter, q.queue, metrics)
	}
	if gauges != nil {
		gauges.run(q.queue.Stats, c)
	}
	// ShutDown may be called any number of times, and by several goroutines; the
	// channels that this closes may be closed once.
	q.done = sync.OnceFunc(func() {
		if q.delays != nil {
			q.delays.stop()
		}
		if gauges != nil {
			gauges.stop()
		}
	})
	return q
}

// Unwrap returns the queue behind the interface, for example for workqueue.Process
// or inspect.Queue.
func (q *WorkQueue[T]) Unwrap() *workqueue.RateLimitingQueue[T] { return q.queue }

// Add adds item unless it is queued already.
func (q *WorkQueue[T]) Add(item T) { q.queue.Add(item) }

// Len returns how many items are queued.
func (q *WorkQueue[T]) Len() int { return q.queue.Len() }

// Get waits for an item. It returns shutdown if the queue is shut down and empty.
// client-go's Get has no context, so only a shutdown ends the wait.
func (q *WorkQueue[T]) Get() (item T, shutdown bool) {
	item, ok := q.queue.Get(context.Background())
	return item, !ok
}

// Done ends the work on an item that Get returned.
func (q *WorkQueue[T]) Done(item T) { q.queue.Done(item) }

// ShutDown ends the queue: nothing is accepted any more, and what is queued is still
// handed out.
func (q *WorkQueue[T]) ShutDown() {
	q.queue.ShutDown()
	q.done()
}

// ShutDownWithDrain is ShutDown that waits until all items are processed, or until
// ShutDown is called.
func (q *WorkQueue[T]) ShutDownWithDrain() {
	defer q.done()
	_ = q.queue.ShutDownWithDrain(context.Background()) // the error says that ShutDown ended the wait
}

// ShuttingDown reports whether the queue is shut down.
func (q *WorkQueue[T]) ShuttingDown() bool { return q.queue.ShuttingDown() }

// AddAfter adds item once d has passed. Of several delays the shortest counts.
func (q *WorkQueue[T]) AddAfter(item T, d time.Duration) {
	if q.delays != nil && d > 0 {
		q.delays.add(item, d)
		return
	}
	q.queue.AddAfter(item, d)
}

// AddRateLimited adds item after the delay that the limiter returns.
func (q *WorkQueue[T]) AddRateLimited(item T) {
	if q.delays != nil {
		q.delays.addRateLimited(item)
		return
	}
	q.queue.AddRateLimited(item)
}

// Forget sets the limiter's count of item's failures to 0.
func (q *WorkQueue[T]) Forget(item T) { q.queue.Forget(item) }

// NumRequeues returns how many failures of item the limiter counts.
func (q *WorkQueue[T]) NumRequeues(item T) int { return q.queue.NumRequeues(item) }
