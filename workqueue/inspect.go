package workqueue

import "time"

// Inspection is what a queue holds at one moment, for a debugging page.
type Inspection[T comparable] struct {
	Name         string
	ShuttingDown bool
	Queued       []Item[T] // in order of arrival within each class
	Delayed      []Item[T] // in no particular order
	Running      []Item[T] // the one that was handed out first comes first
}

// Item is the state of one item in an [Inspection].
type Item[T comparable] struct {
	Item T
	// Class is the class of the pending request or, if none is pending, of the
	// one being processed.
	Class int
	// Group is the fair group, if the queue has groups.
	Group string
	// Retries is how often in a row the item was added with a rate limit
	// without having left the queue or having been forgotten.
	Retries int
	// QueuedSince is when the pending request was made. It is zero if none is
	// queued, and in a queue that does not keep times, see [Options].Times.
	QueuedSince time.Time
	// DelayedUntil is when the delay ends; zero if the item is not delayed.
	DelayedUntil time.Time
	// RunningSince is when the item was handed out. It is zero if the item is
	// not running, and in a queue that does not keep times.
	RunningSince time.Time
	// Again says that the item is running and will be queued when done.
	Again bool
}

// Inspect returns what the queue holds. An item that is both running and
// delayed is listed twice. The queue is locked while everything is copied, so
// this is for people who look, not for a loop; [Queue.Stats] is.
func (q *Queue[T]) Inspect() Inspection[T] {
	e := q.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	in := Inspection[T]{Name: e.opts.Name, ShuttingDown: e.shuttingDown}
	for i := range e.order.classes {
		for x := e.order.classes[i].head; x != nil; x = x.next {
			in.Queued = append(in.Queued, e.inspect(x))
		}
	}
	for _, d := range e.delays.items {
		in.Delayed = append(in.Delayed, e.inspect(d.entry))
	}
	for x := e.running.head; x != nil; x = x.next {
		in.Running = append(in.Running, e.inspect(x))
	}
	return in
}

func (q *engine[T]) inspect(e *entry[T]) Item[T] {
	at := func(t int64) time.Time { return q.start.Add(time.Duration(t)) }
	item := Item[T]{
		Item:    e.item,
		Class:   int(e.class),
		Retries: int(e.retries),
		Again:   e.again,
	}
	if e.member != nil {
		item.Group = e.member.name
	}
	if q.timed && (e.queued || e.again) {
		item.QueuedSince = at(e.queuedAt)
	}
	if e.delayed() {
		item.DelayedUntil = at(e.at)
	}
	if q.timed && e.running {
		item.RunningSince = at(e.startedAt)
	}
	return item
}
