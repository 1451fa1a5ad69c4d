package workqueue

import "context"

// Queue hands out each of the items added to it to one caller at a time.
//
// Adding an item that is queued already changes nothing; adding one that is
// being processed queues it again once it is done. So however often a thing
// changes, it is in the queue at most once, and whoever processes it sees its
// latest state and no rival.
//
// All methods may be called concurrently. Create a Queue with [New].
type Queue[T comparable] struct{ engine *engine[T] }

// New returns an empty queue. It needs no closing: a queue that is not used any
// more is garbage like any other value.
func New[T comparable](opts Options[T]) *Queue[T] {
	return &Queue[T]{engine: newEngine(opts)}
}

// Add asks for item to be processed. It never blocks. After a shutdown it does
// nothing.
//
// If the item is delayed, it is queued now and the delay is forgotten. With
// priority classes, the item is of the class that [Options].Class gives, else of
// class 0. If it is queued in a less urgent class, it moves to the back of that one.
//
// It panics if T is an interface type and item's dynamic type is not
// comparable, as a map would.
func (q *Queue[T]) Add(item T) {
	var r request[T]
	q.engine.prepare(&r, item)
	q.engine.add(&r)
}

// AddClass is Add for an item of the given priority class; see [Options].Budgets. A class
// that does not exist counts as the nearest that does.
func (q *Queue[T]) AddClass(item T, class int) { q.engine.addClass(item, class) }

// AddAll adds many items, in their order, at a smaller cost than one by one.
// Others may get in between. If it panics, as Add does for an item that is not
// comparable or when [Options].Class or [Options].Group panics, nothing was added.
func (q *Queue[T]) AddAll(items []T) { q.engine.addAll(items) }

// Len returns the number of items ready to be handed out. It does not count
// those that are delayed, running, or running and added again; [Queue.Stats]
// does.
func (q *Queue[T]) Len() int {
	q.engine.mu.Lock()
	defer q.engine.mu.Unlock()
	return q.engine.order.n
}

// Get takes the next item, waiting until there is one. The caller owns the item
// until it calls [Queue.Done] with it; nobody else is given the same item before.
//
// It returns false when ctx is done, even if items are queued, and when the
// queue was shut down and nothing is queued. After a shutdown, queued items
// are still handed out.
func (q *Queue[T]) Get(ctx context.Context) (item T, ok bool) { return q.engine.get(ctx, nobody) }

// Done says that the caller has finished processing item. If the item was added
// again in the meantime, it is queued again, also after a shutdown. Done of an
// item that is not being processed does nothing.
//
// Call it once per Get. The queue cannot tell callers apart: a second Done, while
// another worker holds the item, ends that worker's exclusive access to it.
func (q *Queue[T]) Done(item T) { q.engine.done(item, false) }

// Mark returns a channel that is closed once every item that is queued or
// running now has been processed to the end, once. Items added later, or
// delayed now, are not waited for.
//
// A controller that adds all objects it knows and then calls Mark learns from
// it when its initial work is done. The channel stays open if the queue is
// abandoned with items in it, so wait for a context as well.
func (q *Queue[T]) Mark() <-chan struct{} {
	q.engine.mu.Lock()
	defer q.engine.mu.Unlock()
	return q.engine.marks.seal()
}

// ShutDown makes the queue ignore all further adds, drops what is delayed, and
// lets Get return false once nothing is queued. It does not wait; it ends the
// wait of any [Queue.ShutDownWithDrain].
func (q *Queue[T]) ShutDown() { q.engine.shutDown() }

// ShutDownWithDrain is [Queue.ShutDown] that waits until every queued item has
// been handed out and every running one is done, including those that were
// added again before. Delayed items are dropped and counted in [Stats]. Somebody
// has to go on calling Get and Done.
//
// It returns nil when the queue is empty, the context's cause when ctx is done
// before, and [ErrDrainEnded] when ShutDown is called before. In all cases the
// queue is shut down. Any number of callers may wait.
func (q *Queue[T]) ShutDownWithDrain(ctx context.Context) error {
	return q.engine.shutDownWithDrain(ctx)
}

// ShuttingDown reports whether the queue has been shut down.
func (q *Queue[T]) ShuttingDown() bool {
	q.engine.mu.Lock()
	defer q.engine.mu.Unlock()
	return q.engine.shuttingDown
}
