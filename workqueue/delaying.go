package workqueue

import (
	"container/heap"
	"math"
	"time"
)

// DelayingQueue is a [Queue] to which items can be added for later.
//
// All methods may be called concurrently. Create one with [NewDelaying].
type DelayingQueue[T comparable] struct {
	Queue[T]
	buckets []tokens // that a retry needs one token of, each
}

// NewDelaying returns an empty delaying queue. Like a plain one it needs no
// closing: it has no goroutine, only a timer while something is delayed.
func NewDelaying[T comparable](opts Options[T]) *DelayingQueue[T] {
	q := new(DelayingQueue[T])
	q.init(opts)
	return q
}

// AddAfter adds item once d has passed. It never blocks. After a shutdown it
// does nothing.
//
// An item has at most one request pending, the earliest: AddAfter does nothing
// if the item is queued, or delayed by less; it shortens a longer delay; and
// Add replaces any delay. An item may be running and delayed at once; if the
// delay ends first, the item is queued when it is done.
//
// An item that is running or delayed keeps its priority class, whatever the
// delay, so that a retry is as urgent as the first attempt. With a delay of 0 or
// less the item is queued at once, or as soon as it is done, behind the items of
// its class that are queued by then.
func (q *DelayingQueue[T]) AddAfter(item T, d time.Duration) { q.addAfter(item, d, false) }

// addAfter returns false if the queue is shut down. With retry, it counts as a retry.
func (q *DelayingQueue[T]) addAfter(item T, d time.Duration, retry bool) bool {
	group, class := q.opts.Group(item), q.opts.PriorityClass(item)
	q.mu.Lock()
	defer q.unlock()
	if q.shutDown {
		return false
	}
	now := q.clock()
	e := q.entryLocked(item, q.order.clamp(class))
	if retry {
		q.countRetryLocked(e)
	}
	pending := e.is(requested)
	if !pending { // else it comes sooner than after any delay
		q.order.setGroup(e, group)
		if retry {
			d = q.spreadLocked(e, now, d)
		}
		q.delayLocked(e, now, d)
	}
	if q.opts.Observe != nil {
		q.seeDelayLocked(e, pending, retry, now)
	}
	return true
}

// spreadLocked takes a token of each bucket for a retry of e after d, and returns how long to
// wait with them. It takes none if another request comes sooner: they collapse.
func (q *DelayingQueue[T]) spreadLocked(e *entry[T], now int64, d time.Duration) time.Duration {
	comes := int64(never)
	switch {
	case e.is(parked):
		comes = q.later.parks[e].due
	case e.delayed():
		comes = q.later.at(e)
	}
	for _, b := range q.buckets {
		if after(now, d) >= comes {
			break
		}
		d = max(d, b.take(time.Duration(comes-now)))
	}
	return d
}

// seeDelayLocked notes an add with a delay of an entry for the observer. Pending is whether
// something had requested it before.
func (q *DelayingQueue[T]) seeDelayLocked(e *entry[T], pending, retry bool, now int64) {
	seen := q.seeLocked(StepDelay, e, now)
	seen.Requested = e.is(requested) && !pending
	switch {
	case retry:
		seen.Step, seen.Attempt = StepRetry, int(e.retries)
	case e.is(requested):
		seen.Step = StepAdd // there is no delay
	}
	// What counts is when it comes: an earlier request wins over this delay.
	if e.delayed() {
		seen.Duration = time.Duration(q.later.at(e) - now)
	}
}

// delayLocked asks for an entry that is not requested after d, which may be 0 or less.
// It keeps the priority class of one that is running, delayed or parked: a request for
// later, or a retry, is no sign that the item has become more urgent.
func (q *DelayingQueue[T]) delayLocked(e *entry[T], now int64, d time.Duration) {
	at := after(now, max(0, d))
	switch {
	case e.is(parked):
		// The deadline is that of the park now. The park takes the delay along, and the
		// earliest request wins, as without a park.
		p := q.later.parks[e]
		p.due = min(p.due, at)
	case d <= 0:
		if e.delayed() {
			q.later.remove(e)
		}
		q.requestLocked(e, now)
	case !e.delayed():
		q.later.add(e, at)
		q.armLocked(at, now)
	case at < q.later.at(e):
		q.later.remove(e)
		q.later.add(e, at)
		q.armLocked(at, now)
	}
}

// never is the end of time.
const never = math.MaxInt64

// after returns the time d after now, or the end of time for a delay of centuries.
// The sum of a time and a delay that are not negative overflows to a negative number.
func after(now int64, d time.Duration) int64 {
	if at := now + int64(d); at >= now {
		return at
	}
	return never
}

// later has what comes later: the entries that are delayed or parked, in a heap by the
// time at which that ends, and one timer for the first of them.
type later[T comparable] struct {
	deadlines deadlines[T]
	parks     map[*entry[T]]*park[T] // of the parked entries; nil if there are none
	timer     *time.Timer            // nil until something is delayed or parked
	armed     int64                  // when the timer fires, never if it does not
}

// deadline is when the delay or the park of an entry ends.
type deadline[T comparable] struct {
	at    int64
	entry *entry[T]
}

// deadlines is a [heap.Interface] that keeps each entry's place up to date. It holds values
// rather than pointers, so that comparing does not have to fetch them from all over the
// memory. Push and Pop of package heap would allocate for each value; see add and remove.
type deadlines[T comparable] []deadline[T]

func (h deadlines[T]) Len() int           { return len(h) }
func (h deadlines[T]) Less(i, j int) bool { return h[i].at < h[j].at }
func (h deadlines[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].entry.place, h[j].entry.place = int32(i+1), int32(j+1)
}

// Push and Pop are not called.
func (h *deadlines[T]) Push(any) {}
func (h *deadlines[T]) Pop() any { return nil }

// at returns when the delay or the park of e ends.
func (l *later[T]) at(e *entry[T]) int64 { return l.deadlines[e.place-1].at }

// add puts in an entry, which must not be there.
func (l *later[T]) add(e *entry[T], at int64) {
	l.deadlines = append(l.deadlines, deadline[T]{at, e})
	e.place = int32(len(l.deadlines))
	heap.Fix(&l.deadlines, len(l.deadlines)-1)
}

// remove takes out an entry, which must be there: the last one takes its place.
func (l *later[T]) remove(e *entry[T]) {
	i, last := int(e.place-1), len(l.deadlines)-1
	if i != last {
		l.deadlines.Swap(i, last)
	}
	l.deadlines[last] = deadline[T]{}
	l.deadlines = l.deadlines[:last]
	e.place = 0
	if i != last {
		heap.Fix(&l.deadlines, i)
	}
	if last == 0 && cap(l.deadlines) > keptEntries {
		l.deadlines = nil // the memory of a burst is released
	}
}

// armLocked makes the timer fire at that time at the latest, when a delay or a park ends. A timer
// that fires too early, because what it was set for has been superseded, is left alone: to
// find nothing to do is cheaper than to stop the timer each time.
func (q *DelayingQueue[T]) armLocked(at, now int64) {
	l := &q.later
	if at >= l.armed {
		return
	}
	l.armed = at
	d := time.Duration(max(0, at-now))
	// Reset may make release run twice, if it was about to run anyway. It finds
	// nothing to do then.
	if l.timer == nil {
		l.timer = time.AfterFunc(d, q.release)
	} else {
		l.timer.Reset(d)
	}
}

// release ends the delays and parks whose time has come. The runtime calls it in
// a goroutine of its own when the timer fires; between, there is none.
func (q *DelayingQueue[T]) release() {
	for more := true; more; {
		more = q.releaseOne()
	}
}

// releaseOne ends the first delay or park if its time has come, and reports whether there was
// one. Between two of them others get the mutex: after an outage, very many may end at the
// same moment.
func (q *DelayingQueue[T]) releaseOne() bool {
	q.mu.Lock()
	defer q.unlock()
	now, l := q.clock(), &q.later
	l.armed = never // the timer has fired; whatever is left must arm it again
	if len(l.deadlines) == 0 {
		return false
	}
	if at := l.deadlines[0].at; at > now {
		q.armLocked(at, now)
		return false
	}
	e := l.deadlines[0].entry
	if !e.is(parked) {
		if q.opts.Observe != nil {
			q.seeLocked(StepDue, e, now)
		}
		l.remove(e)
		q.requestLocked(e, now)
		return true
	}
	if q.opts.Observe != nil { // before e may be used again
		seen := q.seeLocked(StepUnpark, e, now)
		seen.TimedOut, seen.Parked = true, false
	}
	q.count.parkTimeouts++
	q.unparkLocked(e, now)
	return true
}
