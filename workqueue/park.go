package workqueue

import (
	"time"

	"github.com/informerkit/informerkit/workqueue/history"
)

// park holds an item back until its condition is met or its deadline has come.
//
// It is not a request: it holds back the requests that there are. What becomes of
// a parked entry when the park ends depends on what was asked for:
//
//	running and again              Done queues it
//	requested (barrier is not 0)      added while parked, or before: it is queued
//	due                            asked for with a delay: it is queued, or delayed for the rest
//	none of these                  forgotten, unless it is running
//
// engine.parks has the deadlines, engine.parked the parks by entry. The entry
// itself has no field for it, since few items are ever parked.
//
// Entries are recycled, but parks are not. So a condition refers to its park, and one
// that is met late finds entry nil, rather than another item's park to end.
type park[T comparable] struct {
	entry  *entry[T] // nil once the park has ended
	due    int64     // when the item is asked for, maxTime if it is not
	cancel func()    // of the condition; nil before it was registered
}

// cancelAll cancels the conditions of parks that have ended otherwise. It is called
// without the lock.
func cancelAll(cancels []func()) {
	for _, cancel := range cancels {
		cancel()
	}
}

// park parks item, and asks for it at once if wanted. It replaces a park that there
// is already. It returns false if the queue is shut down. Then the item, if it is
// running, is not queued again either, although it was added before: it was parked
// because processing it now would be wrong.
func (q *engine[T]) park(item T, until Condition, timeout time.Duration, wanted bool) bool {
	if timeout <= 0 {
		timeout = DefaultParkTimeout
	}
	var r request[T]
	q.prepare(&r, item)
	condition := q.conditionName(until)
	now := q.now()
	q.lock()
	// The item may not be processed now, and there is no later: the request is lost.
	if q.shuttingDown.Load() {
		if e := q.items.find(r.item, r.hash); e != nil && e.again {
			q.dropAgainLocked(e)
			q.count.shutdownLosses++
		}
		q.unlock()
		return false
	}
	now = q.observeLocked(now)
	e := q.items.findOrInsert(r.item, r.hash)
	p := &park[T]{entry: e, due: maxTime}
	replaced := q.parkLocked(p, &r)
	if wanted {
		// Not a request yet: it becomes one, and is counted, when the park ends.
		p.due = now
	}
	at := after(now, timeout)
	q.parks.add(e.handle, at, now)
	q.noteParkLocked(e, condition, timeout)
	q.armLocked(at, now)
	q.unlock()
	// From here on user code runs. It may call met, which takes the lock.
	if replaced != nil {
		replaced()
	}
	q.register(p, until)
	return true
}

// parkLocked gives p to its entry, with the delay that the entry had, and returns
// the function that cancels the condition of a park that p replaces.
func (q *engine[T]) parkLocked(p *park[T], r *request[T]) (replaced func()) {
	e := p.entry
	switch {
	case e.parked():
		// With its entry nil, the old park ignores its condition from now on.
		old := q.parked[e]
		p.due, replaced, old.entry = old.due, old.cancel, nil
		q.parks.remove(e.handle)
	case q.order.isPaused(e):
		q.order.pauseOf(e).remove(&q.order, e)
	case e.queued:
		// The request stays pending, as barrier says; it only loses its place.
		q.order.remove(e)
	case e.delayed():
		// An entry has one deadline, which is that of the park now: the park remembers the
		// delay instead.
		p.due = q.delays.at(e.handle)
		q.endDelayLocked(e)
	case !e.running:
		e.class = q.order.clamp(r.class)
	}
	q.setGroupLocked(e, r)
	e.waits = waitsForPark
	if q.parked == nil {
		q.parked = make(map[*entry[T]]*park[T])
	}
	q.parked[e] = p
	return replaced
}

// register asks the condition to end p. It runs user code, without the lock.
func (q *engine[T]) register(p *park[T], until Condition) {
	cancel := until(func() { q.conditionMet(p) })
	if cancel == nil {
		return
	}
	q.lock()
	// The park may have ended while the condition was being registered: by met, by its
	// deadline, by another Park or by a shutdown. None of them had cancel then.
	ended := p.entry == nil
	if !ended {
		p.cancel = cancel
	}
	q.unlock()
	if ended {
		cancel()
	}
}

// conditionMet ends p unless it has ended. The condition calls it.
func (q *engine[T]) conditionMet(p *park[T]) {
	now := q.now()
	q.lock()
	if p.entry == nil {
		q.unlock()
		return
	}
	now = q.observeLocked(now)
	q.noteLocked(p.entry, history.ConditionMet, 0)
	q.unparkLocked(p.entry, now)
	q.unlock()
	q.reportAdded()
}

// unparkLocked ends the park of e. It returns what cancels its condition, which may
// be nil.
func (q *engine[T]) unparkLocked(e *entry[T], now int64) (cancel func()) {
	p := q.forgetParkLocked(e)
	q.parks.remove(e.handle)
	switch {
	case e.again:
		// Done will queue it. Until then the item belongs to its worker.
	case e.requested():
		if q.timed {
			q.times.at(e.handle).queuedAt = now // before, it was not to be handed out
		}
		q.order.push(e, now)
		q.notePausedLocked(e)
	case p.due <= now:
		q.askLocked(e, now)
		q.notePausedLocked(e)
	case p.due < maxTime:
		// The delay goes on for the rest of its time; the park did not lengthen it.
		q.startDelayLocked(e, p.due, now)
	case !e.running:
		q.discardLocked(e)
	}
	return p.cancel
}

// forgetParkLocked ends the park of e but for its deadline.
func (q *engine[T]) forgetParkLocked(e *entry[T]) *park[T] {
	p := q.parked[e]
	p.entry = nil
	e.waits = waitsForNothing
	delete(q.parked, e)
	if len(q.parked) == 0 {
		q.parked = nil // a Go map never shrinks
	}
	return p
}

// dropParkedLocked ends all parks because of a shutdown. It returns the items that
// were asked for, and what cancels the conditions.
func (q *engine[T]) dropParkedLocked() (items []T, cancels []func()) {
	for handle := range q.parks.all {
		e := q.items.entries.at(handle)
		p := q.forgetParkLocked(e)
		if p.cancel != nil {
			cancels = append(cancels, p.cancel)
		}
		if e.requested() || p.due < maxTime {
			items = append(items, e.item)
			q.count.shutdownLosses++
		}
		if e.again {
			q.dropAgainLocked(e)
		}
		// The barrier goes on counting this request, which was never processed:
		// its channel must not be closed.
		e.barrier = 0
		if !e.running {
			q.discardLocked(e)
		}
	}
	q.parks.clear()
	return items, cancels
}

// dropAgainLocked drops the request of an item that was added while it is running.
func (q *engine[T]) dropAgainLocked(e *entry[T]) {
	e.again, e.barrier = false, 0
	q.count.again--
}
