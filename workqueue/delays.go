package workqueue

import (
	"time"

	"github.com/informerkit/informerkit/workqueue/history"
)

// releaseBatch is how many steps are done at most, towards the end of delays and parks, before
// others get a chance to take the lock.
// After an outage, very many delays may end at the same moment.
const releaseBatch = 256

// addAfter asks for the item to be handed out once d has passed, and returns
// false if the queue is shut down. With retry, it counts as a retry.
func (q *engine[T]) addAfter(item T, d time.Duration, retry bool) bool {
	var r request[T]
	q.prepare(&r, item)
	return q.delay(&r, q.now(), d, retry)
}

// delay is addAfter for a prepared request.
func (q *engine[T]) delay(r *request[T], now int64, d time.Duration, retry bool) bool {
	q.lock()
	if q.shuttingDown.Load() {
		q.unlock()
		return false
	}
	now = q.observeLocked(now)
	e := q.items.findOrInsert(r.item, r.hash)
	if retry {
		q.countRetryLocked(e)
	}
	pending := e.requested()
	added := q.delayLocked(e, r, now, d)
	q.noteDelayLocked(e, pending, retry, added)
	// A delay of 0 may have queued the item.
	q.unlock()
	if retry && q.opts.Metrics != nil {
		q.opts.Metrics.Retried()
	}
	q.reportAdded()
	return true
}

// delayLocked asks for e after d and reports whether it asked at once.
func (q *engine[T]) delayLocked(e *entry[T], r *request[T], now int64, d time.Duration) bool {
	if e.requested() {
		return false // comes sooner than any delay
	}
	if !e.running && !e.delayed() && !e.parked() {
		// Else it keeps its class: a request for later, or a retry, is no sign
		// that the item has become more urgent.
		e.class = q.order.clamp(r.class)
	}
	q.setGroupLocked(e, r)
	at := after(now, max(0, d))
	// The deadline is that of the park now. The park takes the delay along, and the
	// earliest wish wins, as without a park.
	if e.parked() {
		p := q.parked[e]
		p.due = min(p.due, at)
		return false
	}
	if d <= 0 {
		if e.delayed() {
			q.endDelayLocked(e)
		}
		q.askLocked(e, now)
		return true
	}
	// An item has one pending request, the earliest: a later one adds nothing.
	if e.delayed() {
		if at >= q.delays.at(e.handle) {
			return false
		}
		q.delays.remove(e.handle)
	}
	q.startDelayLocked(e, at, now)
	return false
}

// startDelayLocked puts e, which has no deadline, among the delayed entries.
func (q *engine[T]) startDelayLocked(e *entry[T], at, now int64) {
	e.waits = waitsForDelay
	q.delays.add(e.handle, at, now)
	q.armLocked(at, now)
}

// endDelayLocked takes e from among the delayed entries.
func (q *engine[T]) endDelayLocked(e *entry[T]) {
	e.waits = waitsForNothing
	q.delays.remove(e.handle)
}

// after returns the time d after now, or the end of time for a delay of centuries.
// The sum of a time and a delay that are not negative overflows to a negative number.
func after(now int64, d time.Duration) int64 {
	if at := now + int64(d); at >= now {
		return at
	}
	return maxTime
}

// armLocked makes the timer fire at that time at the latest, when a delay or a park ends. A timer
// that fires too early, because what it was set for has been superseded, is left alone: to
// find nothing to do is cheaper than to stop the timer each time.
func (q *engine[T]) armLocked(at, now int64) {
	if at >= q.armed {
		return
	}
	q.armed = at
	d := time.Duration(max(0, at-now))
	// Reset may make release run twice, if it was about to run anyway. It finds
	// nothing to do then.
	if q.timer == nil {
		q.timer = time.AfterFunc(d, q.release)
	} else {
		q.timer.Reset(d)
	}
}

// release queues the entries whose delay or park has ended. The runtime calls it in
// a goroutine of its own when the timer fires; between, there is none.
func (q *engine[T]) release() {
	for more := true; more; {
		now := q.now()
		var cancels []func() // of the conditions of the parks that have ended
		q.lock()
		now = q.observeLocked(now)
		// The timer has fired. Whatever is left must arm it again.
		q.armed = maxTime
		if more = q.endDelaysLocked(now); !more {
			more, cancels = q.endParksLocked(now)
		}
		// Otherwise this loop goes on, and needs no timer.
		if !more {
			q.armLocked(min(q.delays.wakeAt(), q.parks.wakeAt()), now)
		}
		q.unlock()
		// User code, so without the lock.
		cancelAll(cancels)
		q.reportAdded()
	}
}

// endDelaysLocked ends delays whose time has come, in their order, and reports whether there may
// be more to do.
//
// The entries have not been in use for as long as their delays, so their memory is not in a cache.
// Therefore all of them are written to first: the processor fetches many at a time, while
// looking at each would wait for one after the other.
func (q *engine[T]) endDelaysLocked(now int64) (more bool) {
	var batch [releaseBatch]uint32
	n := 0
	for range releaseBatch {
		var due uint32
		if due, more = q.delays.next(now); !more {
			break
		}
		if due != 0 {
			q.delays.remove(due)
			q.items.entries.at(due).waits = waitsForNothing
			batch[n] = due
			n++
		}
	}
	for _, due := range batch[:n] {
		e := q.items.entries.at(due)
		q.noteLocked(e, history.Due, 0)
		q.askLocked(e, now)
		q.notePausedLocked(e)
	}
	return more
}

// endParksLocked ends parks whose time has come. It reports whether there may be more to do, and
// returns what cancels their conditions.
func (q *engine[T]) endParksLocked(now int64) (more bool, cancels []func()) {
	for range releaseBatch {
		var due uint32
		if due, more = q.parks.next(now); !more {
			return false, cancels
		}
		if due == 0 {
			continue
		}
		e := q.items.entries.at(due)
		q.count.parkTimeouts++
		q.noteLocked(e, history.ParkTimedOut, 0)
		if cancel := q.unparkLocked(e, now); cancel != nil {
			cancels = append(cancels, cancel)
		}
	}
	return true, cancels
}
