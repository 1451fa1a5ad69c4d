package controllers

import (
	"cmp"
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	own "github.com/informerkit/informerkit/workqueue"
)

// maxWait are the bounds of the three priority classes of a [PriorityQueue]: above 0, 0 and
// below 0. An initial list or a resync, which has the priority -100, is handled after a
// minute even if changes never cease.
var maxWait = []time.Duration{0, 10 * time.Second, time.Minute}

// PriorityQueue is a queue of this library that implements
// priorityqueue.PriorityQueue, so that handlers of controller-runtime add what is in an
// initial list, or has not changed, with a low priority. Make one with
// [NewPriorityQueue] or [NewQueue]. All methods may be called concurrently.
//
// Priorities above 0 are one priority class, and so are those below: within a class, items are handed
// out in the order in which they were added. A class that has waited too long gets a
// share of the hand-outs, so nothing starves. After ShutDown, what is queued is still
// handed out.
type PriorityQueue[T comparable] struct {
	queue *own.RateLimitingQueue[T]

	// mu guards priority, that of the items which wait. It is not held while the queue is
	// called.
	mu       sync.Mutex
	priority map[T]int
}

var _ priorityqueue.PriorityQueue[int] = (*PriorityQueue[int])(nil)

// NewQueue is for controller.Options:
//
//	controller.Options{NewQueue: controllers.NewQueue[reconcile.Request]}
//
// The metrics of controller-runtime's queues, workqueue_depth and others, are those of
// its own queues. For a queue with metrics, or with groups that take turns, see
// [NewPriorityQueue].
func NewQueue[T comparable](controllerName string, limiter workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimitingInterface[T] {
	return NewPriorityQueue(limiter, own.Options[T]{Name: controllerName})
}

// NewPriorityQueue returns an empty queue. A nil limiter stands for
// controller-runtime's default: 5 ms doubling up to 1000 s for each item. MaxWait of the options has the bounds of
// the classes 0 (priorities above 0), 1 (priority 0) and 2 (below); the default is
// 0, 10s and 1m. PriorityClass of the options is not used: the priority says the class.
func NewPriorityQueue[T comparable](limiter workqueue.TypedRateLimiter[T], opts own.Options[T]) *PriorityQueue[T] {
	if limiter == nil {
		limiter = own.Exponential[T](own.ExponentialOptions{})
	}
	if len(opts.MaxWait) == 0 {
		opts.MaxWait = maxWait
	}
	q := &PriorityQueue[T]{priority: map[T]int{}}
	opts.PriorityClass = q.class
	opts.Observe = own.Observers(opts.Observe, q.raiseDue)
	q.queue = own.NewRateLimiting[T](limiter, opts)
	return q
}

// class is the priority class of an item: 0 for priorities above 0, 1 for 0, 2 for those below.
func (q *PriorityQueue[T]) class(item T) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return 1 - cmp.Compare(q.priority[item], 0)
}

// Unwrap returns the queue behind the interface, for example for inspect.Queue.
func (q *PriorityQueue[T]) Unwrap() *own.RateLimitingQueue[T] { return q.queue }

// AddWithOpts adds items with a priority, of which the highest counts while an item
// waits, and a delay, of which the shortest does.
func (q *PriorityQueue[T]) AddWithOpts(o priorityqueue.AddOpts, items ...T) {
	if q.queue.ShuttingDown() {
		return
	}
	for _, item := range items {
		raised := q.raise(item, ptr.Deref(o.Priority, 0))
		if !o.RateLimited && o.After <= 0 {
			q.queue.Add(item)
			continue
		}
		if o.After > 0 {
			q.queue.AddAfter(item, o.After)
		}
		if o.RateLimited {
			q.queue.AddRateLimited(item) // the earlier one of the two counts
		}
		// A delayed add does not raise the class of an item that is queued, or will be when it
		// is done. An Add does, and is no further request for it.
		if raised && q.isRequested(item) {
			q.queue.Add(item)
		}
	}
}

// raise notes a priority, unless the item waits with a higher one. It reports whether the
// item waits with a lower one.
func (q *PriorityQueue[T]) raise(item T, priority int) (raised bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	before, waits := q.priority[item]
	if !waits || priority > before {
		q.priority[item] = priority
	}
	return waits && priority > before
}

func (q *PriorityQueue[T]) isRequested(item T) bool {
	in := q.queue.Inspect(0, item)
	return len(in.Queued) > 0 || len(in.Running) > 0 && in.Running[0].Again
}

// raiseDue gives an item whose delay has ended the class of the highest priority with which
// it was added during the delay. Until then the item keeps the class of its first add.
func (q *PriorityQueue[T]) raiseDue(o own.Observation[T]) {
	if o.Step == own.StepDue && q.class(o.Item) < o.Class && q.isRequested(o.Item) {
		q.queue.Add(o.Item)
	}
}

// GetWithPriority is Get with the priority that the item was added with. If the item is
// added again at the very moment in which it is handed out, this is the higher of the
// two, and the item comes again with the priority 0. The same holds at the moment in which a
// later add raises its priority.
func (q *PriorityQueue[T]) GetWithPriority() (item T, priority int, shutdown bool) {
	item, ok := q.queue.Get(context.Background())
	if !ok {
		return item, 0, true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	priority = q.priority[item]
	delete(q.priority, item)
	return item, priority, false
}

// Get waits for an item. It returns shutdown if the queue is shut down and empty.
func (q *PriorityQueue[T]) Get() (item T, shutdown bool) {
	item, _, shutdown = q.GetWithPriority()
	return item, shutdown
}

// Add adds item with the priority 0.
func (q *PriorityQueue[T]) Add(item T) { q.AddWithOpts(priorityqueue.AddOpts{}, item) }

// AddAfter adds item once d has passed, with the priority 0.
func (q *PriorityQueue[T]) AddAfter(item T, d time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: d}, item)
}

// AddRateLimited adds item after the delay that the limiter returns, with the
// priority 0.
func (q *PriorityQueue[T]) AddRateLimited(item T) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, item)
}

// Len returns how many items are queued.
func (q *PriorityQueue[T]) Len() int { return q.queue.Len() }

// Done ends the work on an item that Get returned.
func (q *PriorityQueue[T]) Done(item T) { q.queue.Done(item) }

// Forget sets the limiter's count of item's failures to 0.
func (q *PriorityQueue[T]) Forget(item T) { q.queue.Forget(item) }

// NumRequeues returns how many failures of item the limiter counts.
func (q *PriorityQueue[T]) NumRequeues(item T) int { return q.queue.NumRequeues(item) }

// ShutDown ends the queue: nothing is accepted any more.
func (q *PriorityQueue[T]) ShutDown() { q.queue.ShutDown() }

// ShutDownWithDrain is ShutDown that waits until all items are processed, or until
// ShutDown is called.
func (q *PriorityQueue[T]) ShutDownWithDrain() {
	_ = q.queue.ShutDownWithDrain(context.Background()) // the error says that ShutDown ended the wait
}

// ShuttingDown reports whether the queue is shut down.
func (q *PriorityQueue[T]) ShuttingDown() bool { return q.queue.ShuttingDown() }
