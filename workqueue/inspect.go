package workqueue

import (
	"cmp"
	"iter"
	"slices"
	"time"
)

// Stats is the state of a queue in numbers.
type Stats struct {
	// Queued is the number of items ready to be handed out.
	Queued int
	// Again is the number of running items that were added once more. An item is never
	// processed twice at once, so it is queued when its worker is done: these items are
	// in Running, and not yet in Queued. What is waiting for a worker altogether, which
	// is workqueue_depth, is Queued+Again.
	Again int
	// Delayed is the number of items waiting for their delay to end.
	Delayed int
	// Parked is the number of items that are held back until a condition is met; see
	// [DelayingQueue.Park]. One that is running as well is counted in both.
	Parked int
	// Running is the number of items handed out and not done.
	Running int
	// Failing is the number of items that were added with a rate limit and have not been
	// forgotten since: those that failed last time and are tried again.
	Failing int

	// Added is how many requests there were; an add that changed nothing,
	// because the item was queued already, is not one.
	Added uint64
	// Retried is how many times an item was added with a rate limit.
	Retried uint64
	// Dropped is how many items [Process] dropped after a failure: with [Terminal],
	// or after MaxAttempts. Each was an [Outcome] with the action Dropped.
	Dropped uint64
	// Panics is how many calls of the function of [Process] ended with a panic that was recovered.
	Panics uint64
	// ParkTimeouts is how many parks ended because their time had passed, without
	// the condition being met.
	ParkTimeouts uint64
	// ShutdownLosses is how many items were asked for and never handed out, because the
	// queue was shut down before: those that were delayed or parked, retries that came
	// after it, and what a stopping [Process] took out of the queue. A controller need
	// not care, as it adds every object again when it starts; a queue of work that exists
	// nowhere else has lost that work. It is 0 before a shutdown.
	ShutdownLosses uint64

	// The durations are 0 in a queue that does not keep times, see
	// [Options].Times.

	// UnfinishedWork is the sum of the times that the running items have been
	// running for (workqueue_unfinished_work_seconds).
	UnfinishedWork time.Duration
	// LongestRunning is how long the item that was handed out first of all
	// running ones has been running (workqueue_longest_running_processor_seconds).
	LongestRunning time.Duration
}

// Stats returns the state of the queue in numbers, in constant time.
func (q *Queue[T]) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.statsLocked()
}

func (q *Queue[T]) statsLocked() Stats {
	s := Stats{
		Queued:  q.order.n,
		Again:   q.count.again,
		Delayed: len(q.later.deadlines) - len(q.later.parks),
		Parked:  len(q.later.parks),
		Running: q.count.running,
		Failing: q.count.retrying,
		Added:   q.count.added,
		Retried: q.count.retried,
		Dropped: q.count.dropped,
		Panics:  q.count.panics,

		ParkTimeouts:   q.count.parkTimeouts,
		ShutdownLosses: q.count.shutdownLosses,
	}
	// The sum of now-since over all running items, without a walk over them. The
	// list is in order of the hand-out, so its first has been running for longest.
	if first := q.running.first; first != nil && q.timed {
		now := q.clock()
		s.UnfinishedWork = time.Duration(int64(q.count.running)*now - q.startedSum)
		s.LongestRunning = time.Duration(now - first.since)
	}
	return s
}

// Inspection is what a queue holds at one moment, for a debugging page.
type Inspection[T comparable] struct {
	Name         string
	ShuttingDown bool
	// Timed is whether the queue keeps times, see [Options].Times. Otherwise all but those
	// of delays and parks are 0.
	Timed bool
	// Stats is of the same moment, so that it shows how much a limit has left out.
	Stats Stats
	// PriorityClasses has one entry for each priority class, at least one.
	PriorityClasses []PriorityClassInspection
	Queued          []Item[T] // in the order of hand-out, if no more become overdue and there are no groups
	Delayed         []Item[T] // the one whose delay ends first comes first
	Parked          []Item[T] // the one whose park ends first, at the latest, comes first
	Running         []Item[T] // the one that was handed out first comes first
}

// PriorityClassInspection is the state of one priority class.
type PriorityClassInspection struct {
	// MaxWait is that of [Options].MaxWait; 0 if there are no priority classes.
	MaxWait time.Duration
	// Queued is the number of items ready to be handed out, and Groups the number
	// of fair groups that they belong to, if the queue has groups.
	Queued, Groups int
	// QueuedSince is when the item was added that has been in the class for longest. It
	// is zero if none is queued, and in a queue that does not keep times.
	QueuedSince time.Time
}

// Item is the state of one item in an [Inspection].
type Item[T comparable] struct {
	Item T
	// PriorityClass is that of the pending request or, if none is pending, of the
	// one being processed.
	PriorityClass int
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
	// ParkedUntil is when the park ends at the latest; zero if the item is not
	// parked, or the park has no such end. Until is the condition that ends it before; nil if the item is not parked.
	ParkedUntil time.Time
	Until       Condition
	// RunningSince is when the item was handed out. It is zero if the item is
	// not running, and in a queue that does not keep times.
	RunningSince time.Time
	// Again says that the item is running and will be queued when done.
	Again bool
}

// Inspect returns what the queue holds, with at most limit items of each kind: those
// that come next, those whose delays or parks end first, and those that have been running
// for longest. An item that is both running and delayed or parked is listed twice. The
// queue is locked while they are copied and its delays are sorted, so this is for tests and
// debugging; [Queue.Stats] is cheap enough for a loop.
//
// If only has items, those that the queue holds are listed, whatever the limit, and no
// others: where one item is takes no longer to find in a queue that is long.
func (q *Queue[T]) Inspect(limit int, only ...T) Inspection[T] {
	q.mu.Lock()
	defer q.mu.Unlock()
	in := Inspection[T]{
		Name: q.opts.Name, ShuttingDown: q.shutDown, Timed: q.timed,
		Stats: q.statsLocked(), PriorityClasses: q.classesLocked(),
	}
	if len(only) == 0 {
		in.Queued = q.itemsLocked(limit, q.order.each(q.now()))
		in.Delayed = q.itemsLocked(limit, q.later.each(false))
		in.Parked = q.itemsLocked(limit, q.later.each(true))
		in.Running = q.itemsLocked(limit, q.running.each)
	}
	for _, item := range only {
		if e := q.entries[item]; e != nil {
			in.list(q.itemLocked(e), e)
		}
	}
	return in
}

// list puts an item into the lists of its states.
func (in *Inspection[T]) list(item Item[T], e *entry[T]) {
	if e.is(queued) {
		in.Queued = append(in.Queued, item)
	}
	if e.delayed() {
		in.Delayed = append(in.Delayed, item)
	}
	if e.is(parked) {
		in.Parked = append(in.Parked, item)
	}
	if e.is(running) {
		in.Running = append(in.Running, item)
	}
}

// itemsLocked describes the first entries, at most limit; nil if there are none.
func (q *Queue[T]) itemsLocked(limit int, entries iter.Seq[*entry[T]]) (items []Item[T]) {
	if limit <= 0 {
		return nil
	}
	for e := range entries {
		if items = append(items, q.itemLocked(e)); len(items) == limit {
			break
		}
	}
	return items
}

// itemLocked describes one entry, which may be in several states.
func (q *Queue[T]) itemLocked(e *entry[T]) Item[T] {
	item := Item[T]{
		Item:          e.item,
		PriorityClass: int(e.class),
		Retries:       int(e.retries),
		Again:         e.again(),
	}
	if e.member != nil {
		item.Group = e.member.name
	}
	if q.timed && e.is(requested) {
		item.QueuedSince = q.timeAt(e.requestedAt)
	}
	if q.timed && e.is(running) {
		item.RunningSince = q.timeAt(e.since)
	}
	switch {
	case e.delayed():
		item.DelayedUntil = q.timeAt(q.later.at(e))
	case e.is(parked):
		item.Until = q.later.parks[e].until
		if at := q.later.at(e); at < never {
			item.ParkedUntil = q.timeAt(at)
		}
	}
	return item
}

// each yields the queued entries in the order in which they would be handed out
// from now on, if groups did not take turns and nothing became overdue meanwhile.
func (o *order[T]) each(now int64) iter.Seq[*entry[T]] {
	return func(yield func(*entry[T]) bool) {
		// Copies of the lists' ends and of the rotation: looking must not use up a turn.
		rotation, rest := o.rotation, slices.Clone(o.classes)
		for range o.n {
			c := nextClass(&rotation, rest, now)
			e := c.first
			if !yield(e) {
				return
			}
			c.first = e.next
		}
	}
}

// each yields what is parked, or else what is delayed; the one whose time ends first comes first.
func (l *later[T]) each(parks bool) iter.Seq[*entry[T]] {
	return func(yield func(*entry[T]) bool) {
		all := slices.DeleteFunc(slices.Clone(l.deadlines), func(d deadline[T]) bool { return d.entry.is(parked) != parks })
		slices.SortFunc(all, func(a, b deadline[T]) int { return cmp.Compare(a.at, b.at) })
		for _, d := range all {
			if !yield(d.entry) {
				return
			}
		}
	}
}

// PriorityClasses returns the state of each priority class, the most urgent first; there
// is at least one. It takes a time in proportion to their number.
func (q *Queue[T]) PriorityClasses() []PriorityClassInspection {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.classesLocked()
}

func (q *Queue[T]) classesLocked() []PriorityClassInspection {
	all := make([]PriorityClassInspection, len(q.order.classes))
	for i := range q.order.classes {
		c := &q.order.classes[i]
		all[i] = PriorityClassInspection{MaxWait: time.Duration(c.maxWait), Queued: c.n, Groups: c.turns.n}
		if !c.empty() && q.timed {
			all[i].QueuedSince = q.timeAt(c.first.requestedAt)
		}
	}
	return all
}
