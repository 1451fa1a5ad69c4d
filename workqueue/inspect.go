package workqueue

import (
	"iter"
	"math"
	"slices"
	"time"
)

// Inspection is what a queue holds at one moment, for a debugging page.
type Inspection[T comparable] struct {
	Name         string
	ShuttingDown bool
	// Stats is of the same moment, so that what a limit has left out can be told.
	Stats Stats
	// Classes has one entry for each class, at least one.
	Classes []ClassInspection
	Queued  []Item[T] // in the order in which they come if no more become overdue (groups take turns besides)
	Delayed []Item[T] // the one whose delay ends first comes first
	Running []Item[T] // the one that was handed out first comes first
}

// ClassInspection is the state of one class in an [Inspection].
type ClassInspection struct {
	// Budget is the bound from [Options].Budgets; 0 if there are no classes.
	Budget time.Duration
	// Queued is the number of items ready to be handed out, and Groups the number
	// of fair groups that they belong to, if the queue has groups.
	Queued, Groups int
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
// this is for people who look, not for a loop; [Queue.Stats] is. For a queue that
// may be long there is [Queue.InspectUpTo].
func (q *Queue[T]) Inspect() Inspection[T] { return q.InspectUpTo(math.MaxInt) }

// InspectUpTo is [Queue.Inspect] with at most limit items of each kind: those
// that come next, those whose delays end first, and those that have been running
// for longest. The queue is locked for a time in proportion to limit, however
// much it holds. A limit below 0 counts as 0.
func (q *Queue[T]) InspectUpTo(limit int) Inspection[T] {
	limit = max(0, limit)
	e := q.engine
	now := e.now()
	e.mu.Lock()
	in := Inspection[T]{
		Name:         e.opts.Name,
		ShuttingDown: e.shuttingDown,
		Stats:        e.statsLocked(now),
		Classes:      e.order.inspect(),
		Queued:       collect(e, min(limit, e.order.n), e.order.each(e.latest)),
		Delayed:      collect(e, min(limit, e.delays.len()), e.delays.earliest(limit)),
		Running:      collect(e, min(limit, e.count.running), e.running.each),
	}
	e.mu.Unlock()
	slices.SortFunc(in.Delayed, func(a, b Item[T]) int { return a.DelayedUntil.Compare(b.DelayedUntil) })
	return in
}

// collect describes the first n entries; nil if there are none.
func collect[T comparable](q *engine[T], n int, entries iter.Seq[*entry[T]]) []Item[T] {
	if n == 0 {
		return nil
	}
	items := make([]Item[T], 0, n)
	for e := range entries {
		if items = append(items, q.inspect(e)); len(items) == n {
			break
		}
	}
	return items
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

// each yields the entries of a list, the first one first.
func (l *entryList[T]) each(yield func(*entry[T]) bool) {
	for e := l.head; e != nil && yield(e); e = e.next {
	}
}

// each yields the queued entries in the order in which they would be handed out
// from now on, if groups did not take turns and nothing became overdue meanwhile.
func (o *order[T]) each(now int64) iter.Seq[*entry[T]] {
	return func(yield func(*entry[T]) bool) {
		rotation, rest := o.rotation, slices.Clone(o.classes)
		for range o.n {
			c := nextClass(&rotation, rest, now)
			if !yield(c.head) {
				return
			}
			c.head = c.head.next
		}
	}
}

// inspect describes the classes.
func (o *order[T]) inspect() []ClassInspection {
	all := make([]ClassInspection, len(o.classes))
	for i := range o.classes {
		c := &o.classes[i]
		all[i] = ClassInspection{Budget: time.Duration(c.maxWait), Queued: c.n, Groups: c.groups.len()}
	}
	return all
}
