package workqueue

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Condition is something that becomes true later, such as "the cache has seen
// this write". Use those that exist, such as Seen of an informer, or write one as a
// [ConditionFunc].
type Condition interface {
	// Register registers met, to be called once the condition is true, and returns a
	// function that cancels the registration, or nil if there is nothing to do for that.
	//
	//   - Call met once the condition is true, from any goroutine, also before Register
	//     has returned. Later calls of met do nothing, nor do those after cancel.
	//   - met returns quickly, but takes the lock of the queue. Do not call it while you
	//     hold a lock that cancel takes, too.
	//   - The queue calls cancel at most once, and holds no lock then. It usually does not
	//     call it once met was called, but must be allowed to.
	Register(met func()) (cancel func())
	// String completes "until …" for people, without anything that is secret.
	String() string
}

// ConditionFunc is a function as a [Condition], named after the function.
type ConditionFunc func(met func()) (cancel func())

// Register calls f.
func (f ConditionFunc) Register(met func()) (cancel func()) { return f(met) }

// String returns the name of f and its package.
func (f ConditionFunc) String() string {
	name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	return name[strings.LastIndexByte(name, '/')+1:] + " is met"
}

// defaultParkTimeout is for how long an item is parked if nothing else is said.
// A cache that lags further behind has usually lost its watch.
const defaultParkTimeout = time.Minute

// Park keeps item from being handed out until the condition is met or timeout has
// passed, and then hands it out. A timeout of 0 means a minute, a negative one means none.
// Call it before Done, for an item whose processing has changed something that is
// not to be seen yet: a function run by [ProcessWith] returns [Result].Until
// instead. Park calls the condition and does not wait for it.
//
// A request for a parked item, by Add for instance, is kept and does not end the
// park: however many there are, the item is handed out once for all of them, when
// the park has ended. So when the reason for parking is a stale cache, no event
// that arrives meanwhile is handed to a worker. A queued item leaves the queue.
// A second Park replaces the first. A nil condition counts as met.
//
// A shutdown drops parked items, as it drops delayed ones, also those that were
// added while they were parked. After a shutdown Park does nothing, except that
// the item, if it is running, is not queued again.
func (q *DelayingQueue[T]) Park(item T, until Condition, timeout time.Duration) {
	if until == nil {
		// A delay of 0, and not Add: a running item keeps its priority class.
		q.AddAfter(item, 0)
		return
	}
	q.park(item, until, timeout, true)
}

// park holds an entry back until its condition is met or its deadline has come.
//
// It is not a request: it holds back the requests that there are. What becomes of
// a parked entry when the park ends depends on what was requested:
//
//	running and requested      Done queues it
//	requested                  added while parked, or before: it is queued
//	due                        requested with a delay: it is queued, or delayed for the rest
//	none of these              forgotten, unless it is running
//
// Entries are used again, but parks are not. So a condition refers to its park, and one
// that is met late finds entry nil, rather than another item's park to end.
type park[T comparable] struct {
	entry  *entry[T] // nil once the park has ended
	until  Condition
	due    int64  // when the item is requested, never if it is not
	cancel func() // of the condition; nil before it was registered
}

// park parks item, and requests it at once if wanted. It replaces a park that there
// is already. It returns false if the queue is shut down. Then the item, if it is
// running, is not queued again either, although it was added before: it was parked
// because processing it now would be wrong.
func (q *DelayingQueue[T]) park(item T, until Condition, timeout time.Duration, wanted bool) bool {
	switch {
	case timeout == 0:
		timeout = defaultParkTimeout
	case timeout < 0:
		timeout = never
	}
	p := q.begin(item, until, timeout, wanted)
	if p != nil {
		q.register(p)
	}
	return p != nil
}

// begin begins a park, whose condition is not registered yet. It returns nil if the queue is
// shut down.
func (q *DelayingQueue[T]) begin(item T, until Condition, timeout time.Duration, wanted bool) *park[T] {
	group, class := q.opts.Group(item), q.opts.PriorityClass(item)
	q.mu.Lock()
	defer q.unlock()
	// The item may not be processed now, and there is no later: the request is lost.
	if q.shutDown {
		if e := q.entries[item]; e != nil && e.again() {
			q.dropAgainLocked(e)
			q.count.shutdownLosses++
		}
		return nil
	}
	now := q.clock()
	e := q.entryLocked(item, q.order.clamp(class))
	p := q.parkLocked(e, group, until)
	if wanted {
		// Not a request yet: it becomes one, and is counted, when the park ends.
		p.due = now
	}
	at := after(now, timeout)
	q.later.add(e, at)
	q.armLocked(at, now)
	if q.opts.Observe != nil {
		seen := q.seeLocked(StepPark, e, now)
		if seen.Until = until; at < never {
			seen.Duration = timeout
		}
	}
	return p
}

// parkLocked gives an entry a park, which takes the delay along that the entry had. An entry
// has one deadline, which is that of the park from now on.
func (q *DelayingQueue[T]) parkLocked(e *entry[T], group string, until Condition) *park[T] {
	p, l := &park[T]{entry: e, until: until, due: never}, &q.later
	switch {
	case e.is(parked): // the old park is replaced, and ignores its condition from now on
		p.due = q.endParkLocked(e).due
		l.remove(e)
	case e.is(queued):
		q.order.remove(e) // the request stays pending; it only loses its place
	case e.delayed():
		p.due = l.at(e)
		l.remove(e)
	}
	q.order.setGroup(e, group)
	e.states |= parked
	if l.parks == nil {
		l.parks = make(map[*entry[T]]*park[T])
	}
	l.parks[e] = p
	return p
}

// register asks the condition to end p. It runs user code, without the mutex.
func (q *DelayingQueue[T]) register(p *park[T]) {
	cancel := p.until.Register(func() { q.conditionMet(p) })
	if cancel == nil {
		return
	}
	q.mu.Lock()
	// The park may have ended while the condition was being registered: by met, by its
	// deadline, by another Park or by a shutdown. None of them had cancel then.
	ended := p.entry == nil
	if !ended {
		p.cancel = cancel
	}
	q.mu.Unlock()
	if ended {
		cancel()
	}
}

// conditionMet ends p unless it has ended. The condition calls it.
func (q *DelayingQueue[T]) conditionMet(p *park[T]) {
	q.mu.Lock()
	defer q.unlock()
	e := p.entry
	if e == nil {
		return
	}
	p.cancel = nil // a condition that is met needs no cancelling
	now := q.clock()
	if q.opts.Observe != nil { // before e may be used again
		q.seeLocked(StepUnpark, e, now).Parked = false
	}
	q.unparkLocked(e, now)
}

// unparkLocked ends the park of e.
func (q *DelayingQueue[T]) unparkLocked(e *entry[T], now int64) {
	p := q.endParkLocked(e)
	q.later.remove(e)
	switch {
	case e.again():
		// Done will queue it. Until then the item belongs to its worker.
	case e.is(requested):
		e.requestedAt = now // before, it was not to be handed out
		q.order.push(e, now)
	case p.due <= now:
		q.requestLocked(e, now)
	case p.due < never:
		// The delay goes on for the rest of its time; the park did not lengthen it.
		q.later.add(e, p.due)
		q.armLocked(p.due, now)
	case !e.is(running):
		q.discardLocked(e)
	}
}

// endParkLocked ends the park of e but for its deadline. Its condition, if it is not met, is
// cancelled by unlock.
func (q *Queue[T]) endParkLocked(e *entry[T]) *park[T] {
	l := &q.later
	p := l.parks[e]
	p.entry = nil
	if p.cancel != nil {
		q.cancels = append(q.cancels, p.cancel)
	}
	e.states &^= parked
	delete(l.parks, e)
	if len(l.parks) == 0 {
		l.parks = nil // a Go map never shrinks
	}
	return p
}

// dropAgainLocked drops the request of an item that was added while it is running.
func (q *Queue[T]) dropAgainLocked(e *entry[T]) {
	e.states &^= requested
	q.count.again--
}

// All returns a condition that is met when all the given ones are. It skips those
// that are nil; if none is left it returns nil, which parks nothing.
func All(conditions ...Condition) Condition {
	all := slices.DeleteFunc(slices.Clone(conditions), func(c Condition) bool { return c == nil })
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return allOf(all)
}

// allOf is what All returns.
type allOf []Condition

func (all allOf) Register(met func()) (cancel func()) {
	// Set before the first condition is registered: it may be met at once.
	var missing atomic.Int64
	missing.Store(int64(len(all)))
	cancels := make([]func(), 0, len(all))
	for _, c := range all {
		// Each counts once, however often it says that it is met.
		one := sync.OnceFunc(func() {
			if missing.Add(-1) == 0 {
				met()
			}
		})
		if cancel := c.Register(one); cancel != nil {
			cancels = append(cancels, cancel)
		}
	}
	return func() {
		for _, cancel := range cancels {
			cancel()
		}
	}
}

// maxNamed is how many conditions are named.
const maxNamed = 3

func (all allOf) String() string {
	var names []string
	for _, c := range all[:min(len(all), maxNamed)] {
		names = append(names, c.String())
	}
	if more := len(all) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more conditions are met", more))
	}
	return strings.Join(names, " and ")
}
