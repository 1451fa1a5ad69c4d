package workqueue

import (
	"iter"
	"math"
	"slices"
	"time"
)

// Metrics records the measurements of one queue, with the meaning that the metrics of
// Kubernetes' workqueues have; the series to feed are given in brackets. Packages
// informer and reflector have a Metrics of the same form, with what they measure.
// What is a level rather than an event (workqueue_depth,
// workqueue_unfinished_work_seconds,
// workqueue_longest_running_processor_seconds) is read from [Queue.Stats] when
// needed, so that no goroutine has to keep it up to date.
//
// The methods are called without the queue's lock held, concurrently, by the
// goroutine that caused the event; they should return quickly.
type Metrics interface {
	// Added says that n items were asked for that were not asked for before
	// (workqueue_adds_total). A delayed item counts when its delay ends. It is called by whatever
	// adds or takes items next, before Started for any of them.
	Added(n int)
	// Retried says that an item was added with a rate limit
	// (workqueue_retries_total).
	Retried()
	// Started says that an item was handed out after waiting so long since it
	// was first asked for (workqueue_queue_duration_seconds).
	Started(waited time.Duration)
	// Finished says that an item was done after so long since it was handed
	// out (workqueue_work_duration_seconds).
	Finished(worked time.Duration)
}

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
	// Paused is the number of items that wait for their group to be resumed; see
	// [Queue.PauseGroup].
	Paused int
	// Running is the number of items handed out and not done.
	Running int
	// Failing is the number of items whose last processing by [ProcessWith] failed and
	// that have not succeeded since, retried and dropped ones. It is at most 256, see
	// [Inspection].Failures.
	Failing int

	// Added is how many requests there were; an add that changed nothing,
	// because the item was queued already, is not one.
	Added uint64
	// Retried is how many times an item was added with a rate limit.
	Retried uint64
	// Dropped is how many items [Process] dropped after a failure: with [Terminal],
	// or after MaxAttempts. Each was an [Outcome] with the action Dropped.
	Dropped uint64
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
func (q *plain[T]) Stats() Stats {
	e := q.engine
	now := e.now()
	e.lock()
	defer e.unlock()
	return e.statsLocked(now)
}

// PriorityClasses returns the state of each priority class, the most urgent first; there
// is at least one. It takes a time in proportion to their number.
func (q *plain[T]) PriorityClasses() []PriorityClassInspection {
	e := q.engine
	e.lock()
	defer e.unlock()
	return e.inspectClassesLocked()
}

// statsLocked returns the state in numbers; the durations end at now.
func (q *engine[T]) statsLocked(now int64) Stats {
	now = q.observeLocked(now)
	s := Stats{
		Queued:  q.order.n,
		Again:   q.count.again,
		Delayed: q.delays.n,
		Parked:  q.parks.n,
		Paused:  q.order.nPaused,
		Running: q.count.running,
		Failing: int(q.failing.n.Load()),
		Added:   q.count.added,
		Retried: q.count.retried,
		Dropped: q.count.dropped,

		ParkTimeouts:   q.count.parkTimeouts,
		ShutdownLosses: q.count.shutdownLosses,
	}
	// The sum of now-startedAt over all running items, without a walk over them. The
	// list is in order of the hand-out, so its head has been running for longest.
	if !q.running.empty() && q.timed {
		s.UnfinishedWork = time.Duration(int64(q.count.running)*now - q.startedSum)
		s.LongestRunning = time.Duration(now - q.times.at(q.running.head).startedAt)
	}
	return s
}

// Inspection is what a queue holds at one moment, for a debugging page.
type Inspection[T comparable] struct {
	Name         string
	ShuttingDown bool
	// Stats is of the same moment, so that it shows how much a limit has left out.
	Stats Stats
	// PriorityClasses has one entry for each priority class, at least one.
	PriorityClasses []PriorityClassInspection
	Queued          []Item[T] // in the order of hand-out, if no more become overdue and there are no groups
	Delayed         []Item[T] // the one whose delay ends first comes first
	Parked          []Item[T] // the one whose park ends first, at the latest, comes first
	Running         []Item[T] // the one that was handed out first comes first
	// PausedGroups has the groups that [Queue.PauseGroup] has paused, by name. The items
	// that wait in them are in none of the lists above.
	PausedGroups []PausedGroup
	// Failures are items whose last processing by [ProcessWith] failed, those with the
	// most attempts first, and Failing is how many there are. The last 256 are kept.
	Failures []Failure[T]
	Failing  int
	// Throughput is how many items were done in each of the last 30 periods of
	// [ThroughputPeriod], the oldest first. The last one is not over yet. It is nil
	// in a queue that does not keep times, see [Options].Times.
	Throughput []int
}

// PriorityClassInspection is the state of one priority class in an [Inspection].
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
	// parked.
	ParkedUntil time.Time
	// RunningSince is when the item was handed out. It is zero if the item is
	// not running, and in a queue that does not keep times.
	RunningSince time.Time
	// Again says that the item is running and will be queued when done.
	Again bool
}

// Inspect returns what the queue holds. An item that is both running and
// delayed or parked is listed twice. The queue is locked while everything is copied, so
// this is for tests and debugging. [Queue.Stats] is cheap enough for a loop, and
// [Queue.InspectUpTo] bounds the time for a queue that may be long.
func (q *plain[T]) Inspect() Inspection[T] { return q.InspectUpTo(math.MaxInt) }

// InspectUpTo is [Queue.Inspect] with at most limit items of each kind: those
// that come next, those whose delays end first, and those that have been running
// for longest. The queue is locked for a time in proportion to limit, and to
// the number of delays that end at about the same time as the last one returned. A limit below 0 counts as 0.
func (q *plain[T]) InspectUpTo(limit int) Inspection[T] {
	limit = max(0, limit)
	e := q.engine
	now := e.now()
	failures, failing := e.failing.worst(limit)
	hashes := make([]uint32, len(failures))
	for i := range failures {
		hashes[i] = hashOf(failures[i].Item)
	}
	// Only copying needs the lock; sorting is done after it.
	e.lock()
	in := Inspection[T]{
		Name:            e.opts.Name,
		ShuttingDown:    e.shuttingDown.Load(),
		Stats:           e.statsLocked(now),
		PriorityClasses: e.inspectClassesLocked(),
		PausedGroups:    e.order.inspectPauses(),
		Failures:        failures,
		Failing:         failing,
		Queued:          collectLocked(e, min(limit, e.order.n), e.order.each(e.latest)),
		Delayed:         collectLocked(e, min(limit, e.delays.n), e.earliestLocked(&e.delays, limit)),
		Parked:          collectLocked(e, min(limit, e.parks.n), e.earliestLocked(&e.parks, limit)),
		Running:         collectLocked(e, min(limit, e.count.running), e.running.each),
	}
	for i := range failures {
		if entry := e.items.find(failures[i].Item, hashes[i]); entry != nil && entry.delayed() {
			failures[i].NextAttempt = e.start.Add(time.Duration(e.delays.at(entry.handle)))
		}
	}
	if e.throughput != nil {
		in.Throughput = e.throughput.inspect(e.latest)
	}
	e.unlock()
	slices.SortFunc(in.Delayed, func(a, b Item[T]) int { return a.DelayedUntil.Compare(b.DelayedUntil) })
	slices.SortFunc(in.Parked, func(a, b Item[T]) int { return a.ParkedUntil.Compare(b.ParkedUntil) })
	return in
}

// ItemInspection is the state of one item, for a debugging page. It may be in several
// states at once, and in none.
type ItemInspection[T comparable] struct {
	// Queue is the name of the queue.
	Queue        string
	ShuttingDown bool
	// Queued and Running say whether it is, also in a queue that does not keep times.
	// Paused is whether it is queued when its group is resumed.
	Queued, Running, Paused bool
	// Item has the rest. Only Item.Item is set if the queue does not have the item.
	Item Item[T]
	// ClassQueued is how many items of its priority class are queued, itself included.
	ClassQueued int
	// Failure is its last failure in [ProcessWith], unless it has succeeded since; nil
	// if there is none, or if it is not among the last 256.
	Failure *Failure[T]
}

// Found reports whether the queue has the item, in any state.
func (i *ItemInspection[T]) Found() bool {
	return i.Queued || i.Running || i.Paused || !i.Item.DelayedUntil.IsZero() || !i.Item.ParkedUntil.IsZero()
}

// InspectItem returns the state of one item, in constant time, however much the queue
// holds.
func (q *plain[T]) InspectItem(item T) ItemInspection[T] {
	e := q.engine
	hash := hashOf(item)
	in := ItemInspection[T]{Queue: e.opts.Name, Item: Item[T]{Item: item}, Failure: e.failing.of(item)}
	e.lock()
	defer e.unlock()
	in.ShuttingDown = e.shuttingDown.Load()
	entry := e.items.find(item, hash)
	if entry == nil {
		return in
	}
	paused := e.order.isPaused(entry)
	in.Queued, in.Running, in.Paused = entry.queued && !paused, entry.running, paused
	in.Item = e.inspectLocked(entry)
	in.ClassQueued = e.order.classes[entry.class].n
	if in.Failure != nil && entry.delayed() {
		in.Failure.NextAttempt = in.Item.DelayedUntil
	}
	return in
}

// collectLocked describes the first n entries; nil if there are none.
func collectLocked[T comparable](q *engine[T], n int, entries iter.Seq[*entry[T]]) []Item[T] {
	if n == 0 {
		return nil
	}
	items := make([]Item[T], 0, n)
	for e := range entries {
		if items = append(items, q.inspectLocked(e)); len(items) == n {
			break
		}
	}
	return items
}

// inspectLocked describes one entry, which may be in several states.
func (q *engine[T]) inspectLocked(e *entry[T]) Item[T] {
	at := func(t int64) time.Time { return q.start.Add(time.Duration(t)) }
	item := Item[T]{
		Item:          e.item,
		PriorityClass: int(e.class),
		Retries:       int(q.retriesLocked(e)),
		Again:         e.again,
	}
	if q.order.grouped {
		item.Group = q.order.links.at(e.handle).name
	}
	if q.timed && e.requested() {
		item.QueuedSince = at(q.times.at(e.handle).queuedAt)
	}
	if e.delayed() {
		item.DelayedUntil = at(q.delays.at(e.handle))
	}
	if e.parked() {
		item.ParkedUntil = at(q.parks.at(e.handle))
	}
	if q.timed && e.running {
		item.RunningSince = at(q.times.at(e.handle).startedAt)
	}
	return item
}

// each yields the entries of a list, the first one first.
func (l *entryList[T]) each(yield func(*entry[T]) bool) {
	for next := l.head; next != 0; {
		e := l.entries.at(next)
		next = e.next
		if !yield(e) {
			return
		}
	}
}

// each yields the queued entries in the order in which they would be handed out
// from now on, if groups did not take turns and nothing became overdue meanwhile.
func (o *order[T]) each(now int64) iter.Seq[*entry[T]] {
	return func(yield func(*entry[T]) bool) {
		// Copies of the heads and of the rotation: looking must not use up a turn.
		rotation, rest := o.rotation, slices.Clone(o.classes)
		for range o.n {
			c := nextClass(&rotation, rest, now)
			e := c.first()
			if !yield(e) {
				return
			}
			c.head = e.next
		}
	}
}

// inspectClassesLocked describes the priority classes.
func (q *engine[T]) inspectClassesLocked() []PriorityClassInspection {
	all := make([]PriorityClassInspection, len(q.order.classes))
	for i := range q.order.classes {
		c := &q.order.classes[i]
		all[i] = PriorityClassInspection{MaxWait: time.Duration(c.maxWait), Queued: c.n, Groups: len(c.groups)}
		if !c.empty() && q.timed {
			all[i].QueuedSince = q.start.Add(time.Duration(q.times.at(c.head).queuedAt))
		}
	}
	return all
}

// earliestLocked yields the n entries of w whose delays or parks end first, in any order.
func (q *engine[T]) earliestLocked(w *wheel, n int) iter.Seq[*entry[T]] {
	return func(yield func(*entry[T]) bool) {
		for _, handle := range w.earliest(n) {
			if !yield(q.items.entries.at(handle)) {
				return
			}
		}
	}
}
