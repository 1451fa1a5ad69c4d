package workqueue

import (
	"context"
	"time"

	"github.com/informerkit/informerkit/workqueue/history"
)

// Options configures a queue. The zero value is a FIFO queue without metrics.
//
// Every combination is valid. The functions are called without the queue's
// lock held, from whatever goroutine adds, concurrently.
type Options[T comparable] struct {
	// Name distinguishes queues in [Queue.Inspect] and in logs.
	Name string

	// MaxWait, if it has more than one element, divides the items into as many
	// priority classes 0, 1, …; class 0 is the most urgent. MaxWait[c] is how long the items
	// of class c may wait while others are handed out. An item that has waited for
	// so long is overdue. A negative bound counts as 0. The bound of class 0 has no
	// effect.
	//
	// The most urgent class that has items is served, except that every fourth
	// hand-out goes to a class with an overdue item, if there is one. Several such
	// classes take turns. So two things hold at any time, see promises 5 and 6 of
	// the package:
	//
	//  - A backlog of other classes delays an urgent item by one item, and a run of
	//    urgent items by a third, however long the backlog is and has been there.
	//  - A flood of urgent items delays the others until their bound. From then on
	//    they get a quarter of the hand-outs, so nothing starves.
	//
	// []time.Duration{0, time.Minute} reads: class 0 first, and an item of class 1
	// comes after a minute even so. With groups, the groups of a class take turns
	// in what the class gets.
	MaxWait []time.Duration

	// PriorityClass gives the priority class of an item that is added without one. Numbers
	// outside the classes count as the nearest. Nil means class 0.
	PriorityClass func(T) int

	// Group, if set, makes items of the same class take turns by group: one
	// item of each group that has any, then the next round. With the
	// namespace as the group, a namespace with a million changes delays
	// another one by a single item per turn. It must give the same answer for
	// the same item.
	Group func(T) string

	// Times makes the queue keep when items were added and handed out, for
	// [Queue.Inspect], the durations in [Queue.Stats] and the throughput. It costs one clock read
	// per Add and per Get. Classes and metrics need the times and imply it.
	Times bool

	// Metrics, if set, is called for what happens to the items.
	Metrics Metrics

	// History, if set, records what happens to each item: who added it and why, what it
	// waited for, how it failed. The page of package informer/inspect explains an item
	// with it. It implies Times, and costs less than 60 ns per step of an item. Items
	// that have no key, see package history, are not recorded.
	History *history.Recorder
}

// Queue hands out each of the items added to it to one caller at a time.
//
// Adding an item that is queued already changes nothing; adding one that is
// being processed queues it again once it is done. So however often a thing
// changes, it is in the queue at most once, and the worker that processes it sees the
// latest state and has exclusive access.
//
// All methods may be called concurrently. Create a Queue with [New].
type Queue[T comparable] struct{ plain[T] }

// plain has the methods that all queues have.
type plain[T comparable] struct{ engine *engine[T] }

// New returns an empty queue. It needs no closing: a queue that is not used any
// more is garbage like any other value.
func New[T comparable](opts Options[T]) *Queue[T] {
	return &Queue[T]{plain[T]{newEngine(opts)}}
}

// Add asks for item to be processed. It never blocks. After a shutdown it does
// nothing.
//
// If the item is delayed, it is queued now and the delay is forgotten. With
// priority classes, the item is of the class that [Options].PriorityClass gives, else of
// class 0. If it is queued in a less urgent class, it moves to the back of that one.
//
// It panics if T is an interface type and item's dynamic type is not
// comparable, as a map would.
func (q *plain[T]) Add(item T) {
	var r request[T]
	q.engine.prepare(&r, item)
	q.engine.add(&r)
}

// AddAll adds many items, in their order, at a smaller cost than one by one.
// Others may get in between. If it panics, as Add does for an item that is not
// comparable or when [Options].PriorityClass or [Options].Group panics, nothing was added.
func (q *plain[T]) AddAll(items []T) { q.engine.addAll(items) }

// Len returns the number of items ready to be handed out. It does not count
// those that are delayed, running, or running and added again; [Queue.Stats]
// does.
func (q *plain[T]) Len() int {
	q.engine.lock()
	defer q.engine.unlock()
	return q.engine.order.n
}

// Get takes the next item, waiting until there is one. The caller owns the item
// until it calls [Queue.Done] with it; no other Get returns it before.
//
// It returns false when ctx is done, even if items are queued, and when the
// queue was shut down and nothing is queued. After a shutdown, queued items
// are still handed out.
func (q *plain[T]) Get(ctx context.Context) (item T, ok bool) { return q.engine.get(ctx, noHolder) }

// Done says that the caller has finished processing item. If the item was added
// again in the meantime, it is queued again, also after a shutdown. Done of an
// item that is not being processed does nothing.
//
// Call it once per Get. The queue cannot distinguish callers: a second Done, while
// another worker holds the item, ends that worker's exclusive access to it.
func (q *plain[T]) Done(item T) { q.engine.done(item, false) }

// Barrier returns a channel that is closed once every item that is queued or
// running now has been processed to the end, once. Items added later, or delayed now,
// are not waited for, nor are items parked now, unless they were added as well.
//
// A controller that adds all objects it knows and then calls Barrier learns from
// it when its initial work is done. The channel stays open if the queue is
// abandoned with items in it, so wait for a context as well.
func (q *plain[T]) Barrier() <-chan struct{} {
	q.engine.lock()
	defer q.engine.unlock()
	return q.engine.barriers.seal()
}

// ShutDown makes the queue ignore all further adds, drops what is delayed or parked,
// and lets Get return false once nothing is queued. It does not wait; it ends the
// wait of any [Queue.ShutDownWithDrain].
func (q *plain[T]) ShutDown() { q.engine.shutDown() }

// ShutDownWithDrain is [Queue.ShutDown] that waits until every queued item has
// been handed out and every running one is done, including those that were
// added again before. Delayed and parked items are dropped and counted in [Stats].
// Workers have to go on calling Get and Done.
//
// It returns nil when the queue is empty, the context's cause when ctx is done
// before, and [ErrDrainEnded] when ShutDown is called before. In all cases the
// queue is shut down. Any number of callers may wait.
func (q *plain[T]) ShutDownWithDrain(ctx context.Context) error {
	return q.engine.shutDownWithDrain(ctx)
}

// ShuttingDown reports whether the queue has been shut down.
func (q *plain[T]) ShuttingDown() bool {
	return q.engine.shuttingDown.Load()
}

// PriorityClass is a view of a queue whose Add adds to one of its priority classes.
// Make one with [Queue.PriorityClass]; the zero value must not be used, its Add
// panics. All methods may be called concurrently.
type PriorityClass[T comparable] struct {
	engine *engine[T]
	number int
}

// PriorityClass returns a view of the queue whose Add adds to the given priority
// class; see [Options].MaxWait. A class that does not exist counts as the nearest
// that does.
//
// The view suits code that knows only how to add. With an informer, this makes the
// objects that exist already less urgent than changes:
//
//	informer.WhenElse(informer.InitialOrResync[*corev1.Pod](),
//		informer.EnqueueKey[*corev1.Pod](queue.PriorityClass(1)),
//		informer.EnqueueKey[*corev1.Pod](queue))
func (q *plain[T]) PriorityClass(class int) PriorityClass[T] {
	return PriorityClass[T]{q.engine, class}
}

// Add is [Queue.Add] with the priority class of the view.
func (c PriorityClass[T]) Add(item T) { c.engine.addClass(item, c.number) }

// DelayingQueue is a [Queue] to which items can be added for later.
//
// All methods may be called concurrently. Create one with [NewDelaying].
type DelayingQueue[T comparable] struct{ delaying[T] }

// delaying has the methods that queues with delays have.
type delaying[T comparable] struct{ plain[T] }

// NewDelaying returns an empty delaying queue. Like a plain one it needs no
// closing: it has no goroutine, only a timer while something is delayed.
func NewDelaying[T comparable](opts Options[T]) *DelayingQueue[T] {
	return &DelayingQueue[T]{delaying[T]{plain[T]{newEngine(opts)}}}
}

// AddAfter adds item once d has passed. It never blocks. After a shutdown it
// does nothing.
//
// An item has at most one request pending, the earliest: AddAfter does nothing
// if the item is queued, or delayed by less; it shortens a longer delay; and
// Add replaces any delay. An item may be running and delayed at once; if the
// delay ends first, the item is queued when it is done.
//
// An item that is running or delayed keeps its priority class, whatever the
// delay, so that a retry is as urgent as the first attempt. With a delay of 0 or
// less the item is queued at once, or as soon as it is done, behind the items of
// its class that are queued by then.
func (q *delaying[T]) AddAfter(item T, d time.Duration) {
	q.engine.addAfter(item, d, false)
}

// Park keeps item from being handed out until the condition is met or timeout has
// passed, and then hands it out. A timeout of 0 or less means [DefaultParkTimeout].
// Call it before Done, for an item whose processing has changed something that is
// not to be seen yet: a function run by [ProcessWith] returns [Result].Until
// instead. Park calls the condition and does not wait for it.
//
// A request for a parked item, by Add for instance, is kept and does not end the
// park: however many there are, the item is handed out once for all of them, when
// the park has ended. So when the reason for parking is a stale cache, no event
// that arrives meanwhile is handed to a worker. A queued item leaves the queue.
// A second Park replaces the first. A nil condition counts as met.
//
// A shutdown drops parked items, as it drops delayed ones, also those that were
// added while they were parked. After a shutdown Park does nothing, except that
// the item, if it is running, is not queued again.
func (q *delaying[T]) Park(item T, until Condition, timeout time.Duration) {
	if until == nil {
		// A delay of 0, and not Add: a running item keeps its priority class.
		q.engine.addAfter(item, 0, false)
		return
	}
	q.engine.park(item, until, timeout, true)
}

// RateLimitingQueue is a [DelayingQueue] with a [RateLimiter], which computes how long
// an item that failed is delayed. [Process] runs workers on it.
//
// All methods may be called concurrently. Create one with [NewRateLimiting].
type RateLimitingQueue[T comparable] struct {
	delaying[T]
	limiter RateLimiter[T]
	own     ownLimiter[T] // the limiter, or nil if it is not of this package
}

// NewRateLimiting returns an empty rate-limiting queue. A nil limiter stands for
// a new [DefaultControllerRateLimiter].
func NewRateLimiting[T comparable](limiter RateLimiter[T], opts Options[T]) *RateLimitingQueue[T] {
	if limiter == nil {
		limiter = DefaultControllerRateLimiter[T]()
	}
	own, _ := limiter.(ownLimiter[T])
	return &RateLimitingQueue[T]{delaying[T]{plain[T]{newEngine(opts)}}, limiter, own}
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
	// The limiter has its own lock: it is asked without the queue's.
	if q.own == nil {
		// It is user code, which may take long: the time is read afterwards.
		return q.engine.addAfter(item, q.limiter.When(item), true)
	}
	var r request[T]
	q.engine.prepare(&r, item)
	now := q.engine.now()
	at := q.engine.start.Add(time.Duration(now))
	d := q.own.whenFailed(failed[T]{item: item, hash: r.hash, at: at}, 0)
	return q.engine.delay(&r, now, d, true)
}

// Forget makes the limiter treat item as one that never failed. Call it when
// processing succeeded or the item is dropped. It does not take the item out
// of the queue.
func (q *RateLimitingQueue[T]) Forget(item T) {
	switch {
	case q.engine.noRetries():
		q.limiter.Forget(item)
	case q.own == nil:
		q.limiter.Forget(item)
		q.engine.forget(item, hashOf(item))
	default:
		hash := hashOf(item)
		q.own.forgetHashed(item, hash)
		q.engine.forget(item, hash)
	}
}

// NumRequeues returns how often item was retried since it was last forgotten,
// according to the limiter.
func (q *RateLimitingQueue[T]) NumRequeues(item T) int { return q.limiter.NumRequeues(item) }
