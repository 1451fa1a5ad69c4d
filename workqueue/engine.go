package workqueue

import (
	"context"
	"hash/maphash"
	"math"
	"sync"
	"time"
)

// engine is what all three queues are made of: the states of entry.go, moved
// about under one lock. The exported types only name its operations.
//
// No user code (group and class functions, metrics, limiters) runs while the
// lock is held, so nothing a user does can deadlock the queue, and the hash of
// an item and the time are computed before the lock is taken.
//
// A method whose name ends in Locked is called with the lock held, and returns
// with it. All others take the lock themselves, or do not need it. The parts below
// mu (table, free, order, waiters, marks, delays) have no lock of their own: their
// methods are called with mu held.
//
// The methods are in three files: adding, taking and finishing items here, what
// comes later in delays.go, the end in shutdown.go.
type engine[T comparable] struct {
	opts  Options[T]
	seed  maphash.Seed
	start time.Time // times inside the engine are nanoseconds since then
	timed bool      // whether to keep the times of requests and hand-overs

	mu      sync.Mutex
	table   table[T]
	free    freeList[T]
	order   order[T]
	running entryList[T] // the one handed out first comes first
	waiters waiters
	marks   marks

	delays deadlines[T]
	timer  *time.Timer // nil until something is delayed
	armed  int64       // when the timer fires, maxTime if it does not

	shuttingDown bool
	drain        *drain // what those who wait for the drain wait for, or nil
	processors   processors

	latest     int64 // the latest time seen under the lock
	startedSum int64 // sum of startedAt of the running entries
	count      counters
}

// counters are the numbers behind [Stats].
type counters struct {
	running, again          int
	added, retried          uint64
	dropped, shutdownLosses uint64
}

const maxTime = math.MaxInt64

// newEngine returns the engine of an empty queue. It allocates little more than
// itself: the table and the timer are made when they are needed.
func newEngine[T comparable](opts Options[T]) *engine[T] {
	e := &engine[T]{
		opts:  opts,
		seed:  maphash.MakeSeed(),
		start: time.Now(),
		timed: opts.Times || opts.Metrics != nil || len(opts.Budgets) > 1,
		order: newOrder[T](opts.Budgets, opts.Group != nil),
		armed: maxTime,
	}
	e.marks.init()
	return e
}

func (q *engine[T]) hash(item T) uint32 { return uint32(maphash.Comparable(q.seed, item)) }

// now is the current time; it is read without the lock.
func (q *engine[T]) now() int64 { return int64(time.Since(q.start)) }

// timeIfKept is now in a queue that keeps times, else 0. Reading the clock costs
// almost as much as all the rest of an operation.
func (q *engine[T]) timeIfKept() int64 {
	if q.timed {
		return q.now()
	}
	return 0
}

// observeLocked makes the times that were read before the lock was taken monotonic
// in the order in which the lock was taken.
func (q *engine[T]) observeLocked(now int64) int64 {
	q.latest = max(q.latest, now)
	return q.latest
}

// request is an item together with what has to be known about it before the
// lock is taken.
type request[T comparable] struct {
	item  T
	hash  uint32
	group string
	class int
}

// prepare fills in r, which is zero, for item. It calls user code.
func (q *engine[T]) prepare(r *request[T], item T) {
	r.item, r.hash = item, q.hash(item)
	if q.opts.Group != nil {
		r.group = q.opts.Group(item)
	}
	if q.opts.Class != nil {
		r.class = q.opts.Class(item)
	}
}

// add is Add for a prepared request. It takes the lock.
func (q *engine[T]) add(r *request[T]) {
	now := q.timeIfKept()
	q.mu.Lock()
	added := q.addLocked(r, now)
	w := q.waiters.next(q.order.n)
	q.mu.Unlock()
	w.wake()
	if added && q.opts.Metrics != nil {
		q.opts.Metrics.Added(1)
	}
}

// addClass is Add for a class that the caller names. It takes the lock.
func (q *engine[T]) addClass(item T, class int) {
	var r request[T]
	q.prepare(&r, item)
	r.class = class
	q.add(&r)
}

// addAllChunk is how many items AddAll adds before others get a chance to take
// the lock.
const addAllChunk = 64

// addAll calls all user code before it adds the first item: a panic leaves the
// queue unchanged.
func (q *engine[T]) addAll(items []T) {
	var few [addAllChunk]request[T]
	requests := few[:]
	if len(items) > len(few) {
		requests = make([]request[T], len(items))
	}
	requests = requests[:len(items)]
	for i, item := range items {
		q.prepare(&requests[i], item)
	}
	for len(requests) > 0 {
		n := min(len(requests), addAllChunk)
		q.addChunk(requests[:n])
		requests = requests[n:]
	}
}

// addChunk adds prepared requests while it holds the lock once, and reads the clock
// once for all of them.
func (q *engine[T]) addChunk(requests []request[T]) {
	now := q.timeIfKept()
	added := 0
	q.mu.Lock()
	for i := range requests {
		if q.addLocked(&requests[i], now) {
			added++
		}
	}
	w := q.waiters.next(q.order.n)
	q.mu.Unlock()
	w.wake()
	if added > 0 && q.opts.Metrics != nil {
		q.opts.Metrics.Added(added)
	}
}

// addLocked asks for r's item to be handed out as soon as possible, and
// reports whether that made a request that was not there before.
func (q *engine[T]) addLocked(r *request[T], now int64) bool {
	if q.shuttingDown {
		return false
	}
	now = q.observeLocked(now)
	e := q.table.findOrInsert(r.hash, &r.item, &q.free)
	class := q.order.clamp(r.class)
	switch {
	case e.queued:
		q.order.raise(e, class, now)
		return false
	case e.again:
		e.class = min(e.class, class)
		return false
	case e.delayed():
		// The request that was to come later comes now, and only now.
		q.delays.remove(e)
		e.class = min(e.class, class)
	default:
		e.class = class
	}
	q.setGroupLocked(e, r)
	q.askLocked(e, now)
	return true
}

// setGroupLocked notes the group of a request that e is going to be.
func (q *engine[T]) setGroupLocked(e *entry[T], r *request[T]) {
	if !q.order.grouped {
		return
	}
	if e.member == nil {
		e.member = new(member[T])
	}
	e.member.name = r.group
}

// askLocked makes a request out of an entry that has none: it is queued, or queued
// again once it is done.
func (q *engine[T]) askLocked(e *entry[T], now int64) {
	q.count.added++
	e.queuedAt = now
	e.mark = q.marks.enter()
	if e.running {
		e.again = true
		q.count.again++
		return
	}
	q.order.push(e, now)
}

// takeLocked hands out the next queued entry; there must be one.
func (q *engine[T]) takeLocked(now int64, holder uint16) *entry[T] {
	now = q.observeLocked(now)
	e := q.order.pop(now)
	e.running, e.holder = true, holder
	e.startedAt = now
	e.runMark, e.mark = e.mark, nil
	q.running.pushBack(e)
	q.startedSum += e.startedAt
	q.count.running++
	return e
}

// nobody holds the items that were taken by Get.
const nobody = 0

// get hands out the next item to holder, waiting for one if need be. It returns
// false when ctx is done, or the queue is shut down and has nothing queued.
func (q *engine[T]) get(ctx context.Context, holder uint16) (item T, ok bool) {
	if ctx.Err() != nil {
		return item, false
	}
	now := q.timeIfKept()
	q.mu.Lock()
	if q.order.n == 0 {
		if q.shuttingDown || !q.waitLocked(ctx) {
			q.mu.Unlock()
			return item, false
		}
		now = q.timeIfKept()
	}
	e := q.takeLocked(now, holder)
	item = e.item // e may be recycled as soon as the lock is released
	queuedAt := e.queuedAt
	w := q.waiters.next(q.order.n)
	q.mu.Unlock()
	w.wake()
	if q.opts.Metrics != nil {
		q.opts.Metrics.Started(time.Duration(max(0, now-queuedAt)))
	}
	return item, true
}

// waitLocked is called, and returns, with the lock held. It returns true when an
// entry is queued, false when ctx is done or the queue empty and shut down.
func (q *engine[T]) waitLocked(ctx context.Context) bool {
	w := q.waiters.get()
	for q.order.n == 0 && !q.shuttingDown {
		q.waiters.push(w)
		q.mu.Unlock()
		select {
		case <-w.signal:
			q.mu.Lock()
			q.waiters.arrived(w)
		case <-ctx.Done():
			q.mu.Lock()
			if !w.signalled {
				q.waiters.remove(w)
				q.waiters.put(w)
				return false
			}
			// The invitation is on its way and goes to another one. The
			// waiter is not reused, its signal may come any time.
			q.waiters.arrived(w)
			next := q.waiters.next(q.order.n)
			q.mu.Unlock()
			next.wake()
			q.mu.Lock()
			return false
		}
	}
	q.waiters.put(w)
	return q.order.n > 0
}

// done ends the processing of item, if it was being processed. With forget,
// its count of retries starts anew.
func (q *engine[T]) done(item T, forget bool) {
	hash := q.hash(item)
	now := q.timeIfKept()
	q.mu.Lock()
	slot := q.table.slot(hash, &item)
	if slot == nil || !(*slot).running {
		q.mu.Unlock()
		return
	}
	e := *slot
	if forget {
		e.retries = 0
	}
	startedAt := e.startedAt
	reached := q.doneLocked(e, slot, now)
	w := q.waiters.next(q.order.n)
	drained := q.drainedLocked()
	q.mu.Unlock()
	w.wake()
	reached.close()
	drained.end()
	if q.opts.Metrics != nil {
		q.opts.Metrics.Finished(time.Duration(max(0, now-startedAt)))
	}
}

// doneLocked returns the marks that this reached.
func (q *engine[T]) doneLocked(e *entry[T], slot **entry[T], now int64) *mark {
	q.running.remove(e)
	e.running = false
	q.startedSum -= e.startedAt
	q.count.running--
	reached := q.marks.leave(e.runMark)
	e.runMark = nil
	switch {
	case e.again:
		e.again = false
		q.count.again--
		q.order.push(e, q.observeLocked(now))
	case !e.delayed():
		q.table.clear(slot)
		q.free.put(e, q.table.n)
	}
	return reached
}

// discardLocked forgets an entry that is in none of the states.
func (q *engine[T]) discardLocked(e *entry[T]) {
	q.table.remove(e)
	q.free.put(e, q.table.n)
}

// forget resets the count of retries that Inspect shows.
func (q *engine[T]) forget(item T) {
	hash := q.hash(item)
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.table.find(hash, &item); e != nil {
		e.retries = 0
	}
}

// retriesOf returns how often in a row item was retried.
func (q *engine[T]) retriesOf(item T) int {
	hash := q.hash(item)
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.table.find(hash, &item); e != nil {
		return int(e.retries)
	}
	return 0
}
