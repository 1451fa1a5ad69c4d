package workqueue

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/informerkit/informerkit/workqueue/history"
)

// engine is what all three queues are made of: the states of entry.go, moved
// about under one lock, which its methods lock and unlock (inbox.go) take and release. The
// exported types only name its operations.
//
// No user code (group and class functions, metrics, limiters) runs while the
// lock is held, so nothing a user does can deadlock the queue, and the time is read
// before the lock is taken.
//
// A method whose name ends in Locked is called with the lock held, and returns
// with it. All others take the lock themselves, or do not need it. The parts below
// mu (items, times, order, waiters, barriers, delays, parks) have no lock of their own: their
// methods are called with mu held.
//
// The methods are in five files: adding, taking and finishing items here, what
// comes later in delays.go, park.go and pause.go, the end in shutdown.go.
//
// What holds whenever mu is free:
//
//   - items has exactly the entries that are in a state.
//   - count.running is the length of the list running, and count.again the number
//     of its entries with again set. So Stats and a drain need not walk a list.
//   - delays has exactly the entries that are delayed, parks and parked those that are parked.
//   - The timer fires no later than the earliest deadline, or release is at work.
//   - waiters says what holds between queued entries and goroutines that wait.
type engine[T comparable] struct {
	opts  Options[T]
	start time.Time // times inside the engine are nanoseconds since then
	timed bool      // whether to keep the times of requests and hand-overs

	mu       mutex
	inbox    atomic.Pointer[inbox[T]] // nil until an Add finds the lock taken
	items    entryMap[T]
	times    side[times] // of the entries; empty if not timed
	order    order[T]
	running  entryList[T] // the one handed out first comes first
	waiters  waiters
	barriers barriers

	deadlines side[deadline] // of the entries; empty until something is delayed or parked
	delays    wheel
	parks     wheel
	parked    map[*entry[T]]*park[T] // nil if nothing is parked
	timer     *time.Timer            // nil until something is delayed or parked
	armed     int64                  // when the timer fires, maxTime if it does not

	severalRunning atomic.Bool // whether several items were running at the last Done

	shuttingDown atomic.Bool // set under mu
	drain        *drain      // shared by the callers of ShutDownWithDrain, nil without one
	processors   processors

	throughput *throughput // nil in a queue that does not keep times
	failing    failing[T]  // has a lock of its own

	unreported atomic.Int64  // requests that the metrics have not seen; see reportAdded
	recording  *recording[T] // nil in a queue that is not recorded

	retries  side[uint32] // rate-limited adds of the entries since the last Forget or success
	retrying atomic.Int32 // how many entries have retries, changed under mu

	latest     int64 // the latest time seen under the lock
	startedSum int64 // sum of startedAt of the running entries
	count      counters
}

// counters are the numbers behind [Stats].
type counters struct {
	running, again          int
	added, retried          uint64
	dropped, shutdownLosses uint64
	parkTimeouts            uint64
}

const maxTime = math.MaxInt64

// newEngine returns the engine of an empty queue. It allocates little more than
// itself: the map of items and the timer are made when they are needed.
func newEngine[T comparable](opts Options[T]) *engine[T] {
	e := &engine[T]{
		opts:  opts,
		start: time.Now(),
		timed: opts.Times || opts.Metrics != nil || len(opts.MaxWait) > 1 || opts.History != nil,
		armed: maxTime,
	}
	e.order = newOrder(&e.items.entries, opts.MaxWait, opts.Group != nil)
	e.running.entries = &e.items.entries
	e.delays.deadlines, e.parks.deadlines = &e.deadlines, &e.deadlines
	e.barriers.init()
	e.recording = newRecording(&e.opts, e.start)
	if e.timed {
		e.throughput = new(throughput)
	}
	return e
}

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
// Two goroutines may take the lock in the other order than they read the clock. Lists
// in order of arrival would then not be in order of time, which order.push relies on.
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

// prepare fills in r, which is zero, for item. It calls user code. It panics if item
// cannot be compared: to panic with the lock held would leave the queue locked for ever.
func (q *engine[T]) prepare(r *request[T], item T) {
	r.item, r.hash = item, hashOf(item)
	if q.opts.Group != nil {
		r.group = q.opts.Group(item)
	}
	if q.opts.PriorityClass != nil {
		r.class = q.opts.PriorityClass(item)
	}
}

// add is Add for a prepared request. It takes the lock, or leaves the
// request to its holder.
func (q *engine[T]) add(r *request[T]) { q.addBecause(r, nil) }

// addBecause is add with the reason for the history, which may be nil.
func (q *engine[T]) addBecause(r *request[T], why *history.Cause) {
	now := q.timeIfKept()
	if !q.lockOrPut(r, now) {
		q.emptyInbox()
		q.reportAdded()
		return
	}
	added := q.addLocked(r, now)
	if q.recording != nil {
		q.noteAddLocked(r, added, why)
	}
	q.unlock()
	q.reportAdded()
}

// addClass is Add for a priority class that the caller names. It takes the lock.
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
	q.lock()
	for i := range requests {
		added := q.addLocked(&requests[i], now)
		if q.recording != nil {
			q.noteAddLocked(&requests[i], added, nil)
		}
	}
	q.unlock()
	q.reportAdded()
}

// addLocked asks for r's item to be handed out as soon as possible, and
// reports whether that made a request that was not there before.
func (q *engine[T]) addLocked(r *request[T], now int64) bool {
	if q.shuttingDown.Load() {
		return false
	}
	now = q.observeLocked(now)
	// findOrInsert may make an entry; each case below leaves it in a state.
	e := q.items.findOrInsert(r.item, r.hash)
	class := q.order.clamp(r.class)
	switch {
	case e.queued:
		q.order.raise(e, class, now)
		return false
	case e.requested(): // again, parked, or of a paused group
		e.class = min(e.class, class)
		return false
	case e.parked():
		// Parked, and not asked for until now. askLocked counts the request, which
		// then waits for the end of the park.
		e.class = min(e.class, class)
	case e.delayed():
		// The request that was to come later comes now, and only now.
		q.endDelayLocked(e)
		e.class = min(e.class, class)
	default:
		// Running, or new: the class of an earlier request says nothing about this one.
		e.class = class
	}
	q.setGroupLocked(e, r)
	q.askLocked(e, now)
	return true
}

// reportAdded reports to the metrics the requests that were made since it was last called. It
// calls user code. Every operation that calls the metrics anyway calls it; others, such as
// Len, do not: their caller may hold a lock that its metrics take. So a request that such an
// operation has found in the inbox is reported by the Get that hands it out, if not before.
func (q *engine[T]) reportAdded() {
	if q.opts.Metrics == nil {
		return
	}
	if n := q.unreported.Swap(0); n > 0 {
		q.opts.Metrics.Added(int(n))
	}
}

// setGroupLocked notes the group of a request that e is going to be.
func (q *engine[T]) setGroupLocked(e *entry[T], r *request[T]) {
	if !q.order.grouped {
		return
	}
	q.order.links.at(e.handle).name = r.group
}

// askLocked gives an entry without a request one: it is queued, or will be
// once it is done or its park has ended.
func (q *engine[T]) askLocked(e *entry[T], now int64) {
	q.count.added++
	if q.opts.Metrics != nil {
		q.unreported.Add(1)
	}
	if q.timed {
		q.times.at(e.handle).queuedAt = now
	}
	e.barrier = q.barriers.enter()
	if e.running {
		e.again = true
		q.count.again++
		return
	}
	if e.parked() {
		return
	}
	q.order.push(e, now)
}

// takeLocked hands out the next queued entry; there must be one.
func (q *engine[T]) takeLocked(now int64, holder uint16) *entry[T] {
	now = q.observeLocked(now)
	e := q.order.pop(now)
	e.running, e.holder = true, holder
	if q.timed {
		q.times.at(e.handle).startedAt = now
		q.startedSum += now
	}
	// The request ends here, so that an Add from now on makes another one: the
	// worker may have read the state that the Add is about already.
	e.runBarrier, e.barrier = e.barrier, 0
	q.running.pushBack(e)
	q.count.running++
	return e
}

// noHolder stands for the caller of Get: no ProcessWith holds the item.
const noHolder = 0

// get hands out the next item to holder, waiting for one if need be. It returns
// false when ctx is done, or the queue is shut down and has nothing queued.
func (q *engine[T]) get(ctx context.Context, holder uint16) (item T, ok bool) {
	// A worker that is to stop takes nothing more, though the queue may have items.
	if ctx.Err() != nil {
		return item, false
	}
	now := q.timeIfKept()
	q.lock()
	if q.order.n == 0 {
		if q.shuttingDown.Load() || !q.waitLocked(ctx) {
			q.unlock()
			return item, false
		}
		// The time read before the wait is too old. This is the one clock read with
		// the lock held: without the lock, another goroutine could take the item.
		now = q.timeIfKept()
	}
	e := q.takeLocked(now, holder)
	item = e.item // e may be recycled as soon as the lock is released
	var t times
	if q.timed {
		t = *q.times.at(e.handle)
	}
	if q.recording != nil {
		q.noteLocked(e, history.HandedOut, t.startedAt-t.queuedAt)
	}
	// The adds while a signal was on its way have signalled no other waiter. If
	// items are left, it is up to this goroutine to do so.
	q.unlock()
	if q.opts.Metrics != nil {
		q.reportAdded()
		q.opts.Metrics.Started(time.Duration(max(0, now-t.queuedAt)))
	}
	return item, true
}

// waitLocked is called, and returns, with the lock held. It returns true when an
// entry is queued, false when ctx is done or the queue empty and shut down.
func (q *engine[T]) waitLocked(ctx context.Context) bool {
	w := q.waiters.get()
	// Another goroutine may have taken the item before this one got the lock.
	for q.order.n == 0 && !q.shuttingDown.Load() {
		q.waiters.push(w)
		q.unlock()
		select {
		case <-w.signal:
			q.lock()
			q.waiters.arrived(w)
		case <-ctx.Done():
			q.lock()
			if !w.signalled {
				q.waiters.remove(w)
				q.waiters.put(w)
				return false
			}
			// The signal is on its way, so another waiter gets one. This
			// waiter is not reused, as its signal may come any time.
			q.waiters.arrived(w)
			return false
		}
	}
	q.waiters.put(w)
	return q.order.n > 0
}

// done ends the processing of item, if it was being processed. With forget,
// its count of retries starts from zero.
func (q *engine[T]) done(item T, forget bool) {
	now := q.timeIfKept()
	e := q.lockRunning(item)
	if e == nil {
		q.unlock()
		return
	}
	if forget {
		q.forgetLocked(e)
	}
	var startedAt int64 // copied, as doneLocked may recycle e
	if q.timed {
		startedAt = q.times.at(e.handle).startedAt
	}
	// ProcessWith has noted the outcome.
	if q.recording != nil && e.holder == noHolder {
		q.observeLocked(now)
		q.noteLocked(e, history.Done, now-startedAt)
	}
	groupDrained := q.groupDoneLocked(e)
	reached := q.doneLocked(e, now)
	drained := q.drainedLocked()
	q.unlock()
	// Closed without the lock: what waits for them may use the queue at once.
	reached.close()
	drained.end()
	if groupDrained != nil {
		close(groupDrained)
	}
	if q.opts.Metrics != nil {
		q.reportAdded()
		q.opts.Metrics.Finished(time.Duration(max(0, now-startedAt)))
	}
}

// lockRunning takes the lock and returns the entry of item, nil if it is not running.
//
// If one item is running, it is most likely this one: then neither its hash nor the index is
// needed, nor the memory of its strings, which may have left the caches since the item was
// added. A hash is computed without the lock: beforehand, if it was needed the last time.
func (q *engine[T]) lockRunning(item T) *entry[T] {
	var hash uint32
	hashed := q.severalRunning.Load()
	if hashed {
		hash = hashOf(item)
	}
	q.lock()
	if several := q.count.running > 1; several != hashed {
		q.severalRunning.Store(several)
	}
	// This does not panic if item cannot be compared, as what is in the queue can be.
	if q.count.running == 1 && q.running.first().item == item {
		return q.running.first()
	}
	if !hashed {
		q.unlock()
		hash = hashOf(item)
		q.lock()
	}
	if e := q.items.find(item, hash); e != nil && e.running {
		return e
	}
	return nil
}

// doneLocked returns the barriers that this reached.
func (q *engine[T]) doneLocked(e *entry[T], now int64) *barrier {
	q.running.remove(e)
	e.running = false
	if q.timed {
		q.startedSum -= q.times.at(e.handle).startedAt
	}
	q.count.running--
	if q.throughput != nil {
		q.throughput.count(now)
	}
	reached := q.barriers.leave(e.runBarrier)
	e.runBarrier = 0
	switch {
	case e.again:
		e.again = false
		q.count.again--
		// For a parked entry the request stays pending until the park ends.
		if !e.parked() {
			q.queueLocked(e, q.observeLocked(now))
		}
	case !e.delayed() && !e.parked():
		// A delayed entry keeps its record, and with it the count of retries.
		q.discardLocked(e)
	}
	return reached
}

// discardLocked forgets an entry that is in none of the states.
func (q *engine[T]) discardLocked(e *entry[T]) {
	if q.order.grouped {
		*q.order.links.at(e.handle) = groupLink[T]{} // its name may be all that keeps a large string
	}
	q.forgetLocked(e)
	q.items.remove(e)
	if q.items.oversized() {
		q.items.shrink()
		trimSide(&q.times, &q.items.entries)
		trimSide(&q.order.links, &q.items.entries)
		if overdue := q.order.classes[0].overdue; overdue != nil {
			trimSide(overdue, &q.items.entries)
		}
		trimSide(&q.deadlines, &q.items.entries)
		trimSide(&q.retries, &q.items.entries)
	}
}

// countRetryLocked counts a retry.
func (q *engine[T]) countRetryLocked(e *entry[T]) {
	q.count.retried++
	retries := q.retries.at(e.handle)
	switch *retries {
	case 0:
		q.retrying.Add(1)
	case math.MaxUint32:
		return
	}
	*retries++
}

// forgetLocked forgets the retries of an entry. All are forgotten before their entry is, so the
// next one in its place begins with none.
func (q *engine[T]) forgetLocked(e *entry[T]) {
	if retries := q.retriesLocked(e); retries > 0 {
		*q.retries.at(e.handle) = 0
		q.retrying.Add(-1)
	}
}

// retriesLocked returns how often in a row the item of e was retried.
func (q *engine[T]) retriesLocked(e *entry[T]) uint32 {
	if q.retrying.Load() == 0 {
		return 0
	}
	return *q.retries.at(e.handle)
}

// forget resets the count of retries that Inspect shows.
func (q *engine[T]) forget(item T, hash uint32) {
	q.lock()
	defer q.unlock()
	if e := q.items.find(item, hash); e != nil {
		q.forgetLocked(e)
	}
}

// noRetries reports whether no item has retries. A worker asks for each item that succeeds, so
// this is a look at a number. Who has added an item with a rate limit, or learned of it, sees it
// in that number.
func (q *engine[T]) noRetries() bool { return q.retrying.Load() == 0 }

// retriesOf returns how often in a row item was retried.
func (q *engine[T]) retriesOf(item T) int {
	if q.noRetries() {
		return 0
	}
	hash := hashOf(item)
	q.lock()
	defer q.unlock()
	if e := q.items.find(item, hash); e != nil {
		return int(q.retriesLocked(e))
	}
	return 0
}
