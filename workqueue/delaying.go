package workqueue

import "time"

// DelayingQueue is a [Queue] to which items can be added for later.
//
// All methods may be called concurrently. Create one with [NewDelaying].
type DelayingQueue[T comparable] struct{ *Queue[T] }

// NewDelaying returns an empty delaying queue. Like a plain one it needs no
// closing: it has no goroutine, only a timer while something is delayed.
func NewDelaying[T comparable](opts Options[T]) *DelayingQueue[T] {
	return &DelayingQueue[T]{New(opts)}
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
func (q *DelayingQueue[T]) AddAfter(item T, d time.Duration) {
	q.engine.addAfter(item, d, false)
}
