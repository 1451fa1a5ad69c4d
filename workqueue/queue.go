package workqueue

import (
	"context"
	"sync"
	"time"
)

// Options configures a queue. The zero value is a FIFO queue that is not observed.
//
// Every combination is valid. The functions are called without the queue's
// lock held, from whatever goroutine adds, concurrently.
type Options[T comparable] struct {
	// Name distinguishes queues in [Queue.Inspect] and in logs.
	Name string

	// MaxWait, if it has more than one element, divides the items into as many
	// priority classes 0, 1, …, at most 256; class 0 is the most urgent. MaxWait[c] is
	// how long the items of class c may wait while others are handed out. An item that
	// has waited for so long is overdue. A negative bound counts as 0. The bound of
	// class 0 has no effect.
	//
	// The most urgent class that has items is served, except that every fourth
	// hand-out goes to a class with an overdue item, if there is one. Several such
	// classes take turns: promises 5 and 6 of the package.
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
	// [Queue.Inspect] and the durations in [Queue.Stats]. It costs one clock read
	// per Add, Get and Done. Priority classes, Metrics and Observe need the times and imply it.
	Times bool

	// Metrics, if set, gets measurements.
	Metrics MetricsProvider

	// Observe, if set, is called for each step of each item. Package history makes one that
	// keeps what has happened, and [Observers] one of several.
	Observe Observer[T]
}

// Queue hands out each of the items added to it to one caller at a time.
//
// Adding an item that is queued already changes nothing; adding one that is
// being processed queues it again once it is done. So however often a thing
// changes, it is in the queue at most once, and the worker that processes it sees the
// latest state and has exclusive access.
//
// All methods may be called concurrently. Create a Queue with [New]; it must not be copied.
//
// Inside, a map has one entry for each item, a list the queued entries of each priority
// class, another list the running ones, and a heap those that come later. One mutex
// guards all of it. No user code runs while it is held, so nothing that a user does can
// deadlock the queue. A method whose name ends in Locked is called with the mutex held.
type Queue[T comparable] struct {
	opts  Options[T]
	start time.Time // times in the queue are nanoseconds since then
	timed bool      // whether times are kept

	mu       sync.Mutex
	entries  map[T]*entry[T] // those in at least one state
	peak     int             // the most entries since the map was made
	order    order[T]        // the queued entries
	running  entryList[T]    // the one handed out first comes first
	wake     chan struct{}   // has a token while something is queued; see waitLocked
	later    later[T]        // what is delayed or parked; nothing in a plain queue
	shutDown bool
	drain    *drain // shared by the callers of ShutDownWithDrain, nil without one

	free  *entry[T] // entries to use again, linked by next
	nFree int

	startedSum int64 // sum of the times at which the running items were handed out
	count      counters

	// What unlock does without the mutex, as it is user code.
	seen    Observation[T] // a step to be observed, if it has one
	cancels []func()       // of the conditions of parks that have ended
}

// counters are the numbers behind [Stats].
type counters struct {
	running, again                  int // entries in these states
	retrying                        int // entries with retries
	added, retried                  uint64
	dropped, panics, shutdownLosses uint64
	parkTimeouts                    uint64
}

// entry is everything the queue knows about one item. It exists while the item is in at
// least one of the states queued, running, delayed and parked:
//
//	          Add                    Get                  Done
//	(none) ─────────▶ queued ───────────────▶ running ──────────▶ (none)
//	   │                 ▲                     │    │
//	   │ AddAfter        │ time is up          │    └─ Add: running and requested (again);
//	   └────▶ delayed ───┘                     │       Done queues it
//	             ▲                             │
//	             └──────── AddAfter (both at once until Done)
//
// Queued and running exclude each other: that is the promise that one worker at a time
// holds an item. Delayed and parked exclude each other and queued.
//
// The order of the fields keeps the entry of a namespace and a name at 80 bytes.
type entry[T comparable] struct {
	item T

	next, prev *entry[T] // in the list of its class or of what is running
	member     *member   // of its group, in queues with groups

	requestedAt int64 // when the pending request was made, else the last one
	since       int64 // when it was queued or handed out, whichever it is now

	place   int32  // in the heap of deadlines, from 1; 0 if it is neither delayed nor parked
	retries uint16 // rate-limited adds since the last Forget or success
	class   uint8  // of the pending request, else of the last one
	states  states
}

// states is a set of states of an entry. Delayed is not among them: see entry.delayed.
type states uint8

const (
	queued    states = 1 << iota // waiting to be handed out
	running                      // handed out and not done
	requested                    // a request is pending: the entry is queued, running and added again, or added while parked
	parked                       // held back until a condition is met
)

func (e *entry[T]) is(s states) bool { return e.states&s != 0 }

// again reports whether the entry is to be queued when it is done.
func (e *entry[T]) again() bool { return e.states&(running|requested) == running|requested }

// delayed reports whether the item is requested for later.
func (e *entry[T]) delayed() bool { return e.place != 0 && !e.is(parked) }

// New returns an empty queue. It needs no closing: a queue that is not used any
// more is garbage like any other value.
func New[T comparable](opts Options[T]) *Queue[T] {
	q := new(Queue[T])
	q.init(opts)
	return q
}

func (q *Queue[T]) init(opts Options[T]) {
	q.start = time.Now()
	q.opts = opts
	q.entries = map[T]*entry[T]{}
	q.timed = opts.Times || opts.Metrics != nil || opts.Observe != nil || len(opts.MaxWait) > 1
	q.order = newOrder[T](opts.MaxWait, opts.Group != nil)
	if opts.Group == nil {
		q.opts.Group = func(T) string { return "" }
	}
	if opts.PriorityClass == nil {
		q.opts.PriorityClass = func(T) int { return 0 }
	}
	q.later.armed = never
	q.wake = make(chan struct{}, 1)
	if opts.Metrics != nil { // last, as a scrape may ask for Stats from here on
		q.opts.Observe = Observers(measure[T](opts.Metrics.Workqueue(opts.Name, q)), opts.Observe)
	}
}

// now is the current time in a queue that keeps times, else 0: reading the clock costs as
// much as half of an operation. It is called with the mutex held, so that times in the
// queue never run backwards.
func (q *Queue[T]) now() int64 {
	if !q.timed {
		return 0
	}
	return q.clock()
}

// clock is the current time.
func (q *Queue[T]) clock() int64 { return int64(time.Since(q.start)) }

// unlock ends each operation: it releases the mutex. It is deferred where an item is looked
// up: if T is an interface and the item's dynamic type cannot be compared, the map panics, and
// nothing has changed by then. Then it wakes a worker if something is
// queued, or if the queue is shut down, and runs the user code that the operation has led to.
func (q *Queue[T]) unlock() {
	if q.drain != nil && q.order.n == 0 && q.count.running == 0 {
		q.endDrainLocked(nil)
	}
	wake := q.order.n > 0 || q.shutDown
	var calls func() // of user code; mostly there is none
	if q.seen.Step != 0 || q.cancels != nil {
		calls = q.callsLocked()
	}
	q.mu.Unlock()
	if wake {
		select {
		case q.wake <- struct{}{}:
		default: // a token is there
		}
	}
	if calls != nil {
		calls()
	}
}

// callsLocked returns what calls the user code that is due.
func (q *Queue[T]) callsLocked() func() {
	seen, cancels := q.seen, q.cancels
	q.seen, q.cancels = Observation[T]{}, nil
	return func() {
		if seen.Step != 0 {
			q.opts.Observe(seen)
		}
		for _, cancel := range cancels {
			cancel()
		}
	}
}

// waitLocked releases the mutex while it waits. It returns true when an entry is queued,
// false when ctx is done, or when nothing is queued and the queue is shut down.
//
// All workers wait for the one token that the channel has room for. It does not hand them an
// item: the goroutine that takes the mutex next may take the item, and then the worker waits
// again. A worker that was woken puts the token back by its unlock if items are left. So a
// burst of adds wakes one worker after the other, and not all of them at once, for what the
// first ones will have done by then.
func (q *Queue[T]) waitLocked(ctx context.Context) bool {
	for q.order.n == 0 && !q.shutDown {
		q.mu.Unlock()
		select {
		case <-q.wake:
			q.mu.Lock()
		case <-ctx.Done():
			q.mu.Lock()
			return false
		}
	}
	return q.order.n > 0
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
func (q *Queue[T]) Add(item T) { q.add(item, q.opts.PriorityClass(item), nil) }

// AddBecause is [Queue.Add] with the reason, for [Options].Observe. The handlers of
// package informer that enqueue call it.
func (q *Queue[T]) AddBecause(item T, why any) { q.add(item, q.opts.PriorityClass(item), why) }

func (q *Queue[T]) add(item T, class int, why any) {
	group := q.opts.Group(item) // without the mutex, as it is user code
	q.mu.Lock()
	defer q.unlock()
	now := q.now()
	if q.shutDown {
		if q.opts.Observe != nil {
			q.seen = Observation[T]{Step: StepReject, Item: item, Time: q.timeAt(now), Why: why}
		}
		return
	}
	e, made := q.addLocked(item, q.order.clamp(class), group, now)
	if q.opts.Observe != nil {
		seen := q.seeLocked(StepAdd, e, now)
		seen.Requested, seen.Why = made, why
	}
}

// addLocked asks for item as soon as possible, and reports whether that made a request
// that was not there before.
func (q *Queue[T]) addLocked(item T, class uint8, group string, now int64) (e *entry[T], made bool) {
	e = q.entryLocked(item, class)
	switch {
	case e.is(queued):
		q.order.raise(e, class, now)
		return e, false
	case e.is(requested): // again, or added while parked
		e.class = min(e.class, class)
		return e, false
	case e.is(parked): // and not requested until now: the request waits for the end of the park
		e.class = min(e.class, class)
	case e.delayed(): // the request that was to come later comes now, and only now
		q.later.remove(e)
		e.class = min(e.class, class)
	default: // new, or running: the class of an earlier request says nothing about this one
		e.class = class
	}
	q.order.setGroup(e, group)
	q.requestLocked(e, now)
	return e, true
}

// requestLocked gives an entry a request: it is queued, or will be once it is done or its
// park has ended.
func (q *Queue[T]) requestLocked(e *entry[T], now int64) {
	q.count.added++
	q.seen.Requested = true // of a delay or a park that has ended, which are seen before
	e.requestedAt = now
	e.states |= requested
	switch {
	case e.is(running):
		q.count.again++
	case !e.is(parked):
		q.order.push(e, now)
	}
}

// Get takes the next item, waiting until there is one. The caller owns the item
// until it calls [Queue.Done] with it; no other Get returns it before.
//
// It returns false when ctx is done, even if items are queued, and when the
// queue was shut down and nothing is queued. After a shutdown, queued items
// are still handed out.
func (q *Queue[T]) Get(ctx context.Context) (item T, ok bool) {
	item, _, ok = q.take(ctx)
	return item, ok
}

// take is Get; it also returns how often in a row the item was retried.
func (q *Queue[T]) take(ctx context.Context) (item T, retries int, ok bool) {
	// A worker that is to stop takes nothing more, though the queue may have items.
	if ctx.Err() != nil {
		return item, 0, false
	}
	q.mu.Lock()
	if q.order.n == 0 && !q.waitLocked(ctx) {
		q.unlock()
		return item, 0, false
	}
	now := q.now()
	e := q.takeLocked(now)
	item, retries = e.item, int(e.retries) // e may be used again as soon as the mutex is released
	if q.opts.Observe != nil {
		q.seeLocked(StepTake, e, now).Duration = time.Duration(now - e.requestedAt)
	}
	q.unlock()
	return item, retries, true
}

// takeLocked hands out the next queued entry; there must be one.
func (q *Queue[T]) takeLocked(now int64) *entry[T] {
	e := q.order.pop(now)
	// The request ends here, so that an Add from now on makes another one: the
	// worker may have read the state that the Add is about already.
	e.states = e.states&^requested | running
	e.since = now
	q.startedSum += now
	q.running.pushBack(e)
	q.count.running++
	return e
}

// Done says that the caller has finished processing item. If the item was added
// again in the meantime, it is queued again, also after a shutdown. Done of an
// item that is not being processed does nothing.
//
// Call it once per Get. The queue cannot distinguish callers: a second Done, while
// another worker holds the item, ends that worker's exclusive access to it.
func (q *Queue[T]) Done(item T) { q.done(item, false, false) }

// done ends the processing of item. Processed is whether ProcessWith did it, and forget
// whether the count of retries starts from zero.
func (q *Queue[T]) done(item T, processed, forget bool) {
	q.mu.Lock()
	defer q.unlock()
	e := q.entries[item]
	if e == nil || !e.is(running) {
		return
	}
	if forget {
		q.forgetLocked(e)
	}
	now := q.now()
	if q.opts.Observe != nil { // before e may be used again
		seen := q.seeLocked(StepDone, e, now)
		seen.Duration, seen.Processed, seen.Running = time.Duration(now-e.since), processed, false
	}
	q.doneLocked(e, now)
}

func (q *Queue[T]) doneLocked(e *entry[T], now int64) {
	q.running.remove(e)
	e.states &^= running
	q.startedSum -= e.since
	q.count.running--
	switch {
	case e.is(requested):
		q.count.again--
		if !e.is(parked) { // else the request waits for the end of the park
			q.order.push(e, now)
		}
	case e.place == 0: // neither delayed nor parked
		q.discardLocked(e)
	}
}

// Len returns the number of items ready to be handed out. It does not count
// those that are delayed, running, or running and added again; [Queue.Stats]
// does.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.order.n
}

// PriorityClass is a view of a queue whose Add adds to one of its priority classes.
// Make one with [Queue.PriorityClass]; the zero value must not be used, its Add
// panics. All methods may be called concurrently.
type PriorityClass[T comparable] struct {
	queue *Queue[T]
	class int
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
func (q *Queue[T]) PriorityClass(class int) PriorityClass[T] { return PriorityClass[T]{q, class} }

// Add is [Queue.Add] with the priority class of the view.
func (c PriorityClass[T]) Add(item T) { c.queue.add(item, c.class, nil) }

// AddBecause is [PriorityClass.Add] with the reason; see [Queue.AddBecause].
func (c PriorityClass[T]) AddBecause(item T, why any) { c.queue.add(item, c.class, why) }

// keptEntries is for how many entries the memory is kept after a burst.
const keptEntries = 1024

// entryLocked returns the entry of an item, or a new one of that class. The caller must bring
// it into a state before it releases the mutex: an entry without a state is never removed.
func (q *Queue[T]) entryLocked(item T, class uint8) *entry[T] {
	if e := q.entries[item]; e != nil {
		return e
	}
	e := q.free
	if e == nil {
		e = new(entry[T])
	} else {
		q.free, e.next = e.next, nil
		q.nFree--
	}
	e.item, e.class = item, class
	q.entries[item] = e
	q.peak = max(q.peak, len(q.entries))
	return e
}

// discardLocked forgets an entry that is in none of the states.
func (q *Queue[T]) discardLocked(e *entry[T]) {
	q.forgetLocked(e)
	delete(q.entries, e.item)
	if q.nFree < keptEntries {
		if e.member != nil {
			e.member.name = ""
		}
		*e = entry[T]{next: q.free, member: e.member}
		q.free = e
		q.nFree++
	}
	// A Go map never shrinks. Copying what is left of it is paid for by the removal of
	// at least seven times as many entries.
	if q.peak >= 8*keptEntries && len(q.entries) <= keptEntries {
		entries := make(map[T]*entry[T], len(q.entries))
		for item, e := range q.entries {
			entries[item] = e
		}
		q.entries, q.peak = entries, len(entries)
	}
}

// entryList is a doubly linked list of entries through next and prev. An entry is in one of
// them at most.
type entryList[T comparable] struct{ first, last *entry[T] }

// pushBack appends e, which must not be in a list.
func (l *entryList[T]) pushBack(e *entry[T]) {
	e.prev = l.last
	if l.last == nil {
		l.first = e
	} else {
		l.last.next = e
	}
	l.last = e
}

// remove takes e, which must be in this list, out of it.
func (l *entryList[T]) remove(e *entry[T]) {
	if e.prev == nil {
		l.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.next, e.prev = nil, nil
}

// each yields the entries, the first one first.
func (l *entryList[T]) each(yield func(*entry[T]) bool) {
	for e := l.first; e != nil; e = e.next {
		if !yield(e) {
			return
		}
	}
}
