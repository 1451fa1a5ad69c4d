package workqueue

import (
	"time"

	"github.com/informerkit/informerkit/workqueue/history"
)

// releaseBatch is how many delays and parks end at most before others get
// a chance to take the lock.
// After an outage, very many delays may end at the same moment.
const releaseBatch = 256

// addAfter asks for the item to be handed out once d has passed, and returns
// false if the queue is shut down. With retry, it counts as a retry.
func (q *engine[T]) addAfter(item T, d time.Duration, retry bool) bool {
	var r request[T]
	q.prepare(&r, item)
	now := q.now()
	q.mu.Lock()
	if q.shuttingDown.Load() {
		q.mu.Unlock()
		return false
	}
	now = q.observeLocked(now)
	e := q.items.findOrInsert(r.item, r.hash)
	if retry {
		q.countRetryLocked(e)
	}
	pending := e.requested()
	added := q.delayLocked(e, &r, now, d)
	q.noteDelayLocked(e, pending, retry, added)
	// A delay of 0 may have queued the item.
	w := q.waiters.next(q.order.n)
	q.mu.Unlock()
	w.wake()
	if m := q.opts.Metrics; m != nil {
		if retry {
			m.Retried()
		}
		if added {
			m.Added(1)
		}
	}
	return true
}

// delayLocked asks for e after d and reports whether it asked at once.
func (q *engine[T]) delayLocked(e *entry[T], r *request[T], now int64, d time.Duration) bool {
	if e.requested() {
		return false // comes sooner than any delay
	}
	if !e.running && !e.delayed() && !e.parked {
		// Else it keeps its class: a request for later, or a retry, is no sign
		// that the item has become more urgent.
		e.class = q.order.clamp(r.class)
	}
	q.setGroupLocked(e, r)
	at := after(now, max(0, d))
	// at and the heap belong to the park now. It takes the delay along, and the
	// earliest wish wins, as without a park.
	if e.parked {
		p := q.parked[e]
		p.due = min(p.due, at)
		return false
	}
	if d <= 0 {
		if e.delayed() {
			q.delays.remove(e)
		}
		q.askLocked(e, now)
		return true
	}
	// An item has one pending request, the earliest: a later one adds nothing.
	switch {
	case !e.delayed():
		e.at = at
		q.delays.add(e)
	case at < e.at:
		e.at = at
		q.delays.advance(e)
	}
	q.armLocked(now)
	return false
}

// after returns the time d after now, or the end of time for a delay of centuries.
// The sum of a time and a delay that are not negative overflows to a negative number.
func after(now int64, d time.Duration) int64 {
	if at := now + int64(d); at >= now {
		return at
	}
	return maxTime
}

// armLocked makes the timer fire when the first delay or park ends. A timer that fires too
// early, because what it was set for has been superseded, is left alone: to
// find nothing to do is cheaper than to stop the timer each time.
func (q *engine[T]) armLocked(now int64) {
	at := min(q.delays.earliestAt(), q.parks.earliestAt())
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
		var ended ended
		q.mu.Lock()
		now = q.observeLocked(now)
		// The timer has fired. Whatever is left must arm it again.
		q.armed = maxTime
		for n := 0; n < releaseBatch && more; n++ {
			more = q.endEarliestLocked(now, &ended)
		}
		// Otherwise this loop goes on, and needs no timer.
		if !more {
			q.armLocked(now)
		}
		w := q.waiters.next(q.order.n)
		q.mu.Unlock()
		w.wake()
		// User code, so without the lock.
		cancelAll(ended.cancels)
		if ended.added > 0 && q.opts.Metrics != nil {
			q.opts.Metrics.Added(ended.added)
		}
	}
}

// ended is what remains to do, without the lock, for delays and parks that ended.
type ended struct {
	added   int      // requests made
	cancels []func() // of the conditions of the parks
}

// endEarliestLocked ends a delay or a park whose time has come and reports whether
// there was one.
func (q *engine[T]) endEarliestLocked(now int64, ended *ended) bool {
	switch {
	case q.delays.earliestAt() <= now:
		e := q.delays.first()
		q.delays.remove(e)
		q.noteLocked(e, history.Due, 0)
		q.askLocked(e, now)
		q.notePausedLocked(e)
		ended.added++
	case q.parks.earliestAt() <= now:
		q.count.parkTimeouts++
		q.noteLocked(q.parks.first(), history.ParkTimedOut, 0)
		cancel, added := q.unparkLocked(q.parks.first(), now)
		if cancel != nil {
			ended.cancels = append(ended.cancels, cancel)
		}
		if added {
			ended.added++
		}
	default:
		return false
	}
	return true
}

// deadlines holds delayed or parked entries, the earliest first: a heap with four
// children per node, which is half as deep as a binary one and compares within
// a cache line. The time stands beside the entry, so that sifting touches only
// the slice and the positions.
//
// Each entry knows its position, so that Add can take a delayed item out of the middle
// of the heap without a search. Equal times come in any order.
type deadlines[T comparable] struct{ items []deadline[T] }

type deadline[T comparable] struct {
	at    int64
	entry *entry[T]
}

const (
	heapArity  = 4
	heapMinCap = 64 // never shrink below
)

func (d *deadlines[T]) len() int { return len(d.items) }

// first returns the earliest entry; there must be one.
func (d *deadlines[T]) first() *entry[T] { return d.items[0].entry }

// earliestAt returns the time of the earliest entry, maxTime if there is none.
func (d *deadlines[T]) earliestAt() int64 {
	if len(d.items) == 0 {
		return maxTime
	}
	return d.items[0].at
}

// add inserts e, which must not be in the heap, at e.at.
func (d *deadlines[T]) add(e *entry[T]) {
	d.items = append(d.items, deadline[T]{})
	d.up(len(d.items)-1, deadline[T]{e.at, e})
}

// advance restores the order after e.at was moved to an earlier time.
func (d *deadlines[T]) advance(e *entry[T]) {
	d.up(int(e.heapPos), deadline[T]{e.at, e})
}

// remove takes e, which must be in the heap, out of it.
func (d *deadlines[T]) remove(e *entry[T]) {
	pos := int(e.heapPos)
	e.heapPos = noHeapPos
	last := len(d.items) - 1
	moved := d.items[last]
	d.items[last] = deadline[T]{}
	d.items = d.items[:last]
	// The last entry fills the gap. It may come from another branch, with
	// earlier times than those above the gap: so it may have to go either way.
	if pos < last {
		if pos > 0 && moved.at < d.items[(pos-1)/heapArity].at {
			d.up(pos, moved)
		} else {
			d.down(pos, moved)
		}
	}
	// Halved at a quarter, not at a half: a heap whose size varies around
	// one number is not copied each time.
	if cap(d.items) > heapMinCap && len(d.items) < cap(d.items)/4 {
		d.items = append(make([]deadline[T], 0, cap(d.items)/2), d.items...)
	}
}

// up places x at pos or at one of its ancestors.
func (d *deadlines[T]) up(pos int, x deadline[T]) {
	for pos > 0 {
		parent := (pos - 1) / heapArity
		if d.items[parent].at <= x.at {
			break
		}
		d.set(pos, d.items[parent])
		pos = parent
	}
	d.set(pos, x)
}

// down places x at pos or at one of its descendants.
func (d *deadlines[T]) down(pos int, x deadline[T]) {
	n := len(d.items)
	for {
		child := pos*heapArity + 1
		if child >= n {
			break
		}
		least := child
		for c := child + 1; c < min(child+heapArity, n); c++ {
			if d.items[c].at < d.items[least].at {
				least = c
			}
		}
		if x.at <= d.items[least].at {
			break
		}
		d.set(pos, d.items[least])
		pos = least
	}
	d.set(pos, x)
}

// Every move within the heap goes through it, so heapPos is never stale.
func (d *deadlines[T]) set(pos int, x deadline[T]) {
	d.items[pos] = x
	x.entry.heapPos = int32(pos)
}
