package informer

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/informerkit/informerkit/informer/internal/eventlog"
	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/workqueue/history"
)

// runner runs one handler: it has the handler's position in the event log, and
// what the handler has seen. It is the third part of the way of an event: from
// the log to a call of OnEvent. It has a goroutine while there is something to
// deliver, and none otherwise.
//
//	          wake: go work()               wake
//	idle ──────────────────────▶ running ─────────▶ running again
//	 ▲                            │    ▲                  │
//	 └──── nothing to deliver ────┘    └─── looks again ──┘
//
//	stop, from any of them ──▶ stopped: no call begins any more
//
// The state is one word, and each arrow a compare-and-swap. A stop from idle cleans
// up by itself; from the other two states work does so, when the call that is
// running has returned. Then gone is closed.
//
// What is not marked as atomic is for the goroutine in work, or set before it begins.
//
// A parked runner costs memory, but no goroutine and no stack: an informer may have
// hundreds of handlers that are idle most of the time.
type runner[T Object] struct {
	name    string
	handler Handler[T]
	onPanic func(HandlerPanic)
	log     *slog.Logger
	owner   interface{ forget(r *runner[T]) } // called once, before gone is closed
	resync  *resyncer                         // nil for a handler that wants none

	recording *recording // nil without a history

	state  atomic.Int32 // a runnerState
	synced signal
	gone   signal
	stats  runnerStats

	cursor *cursor[T]
	seen   view[T]  // what the handler has seen; between two runs of the log it is exact
	start  *view[T] // the cache when the handler joined; nil once it was delivered

	workFn func() // r.work, made once, so that to start it allocates nothing
}

// runnerState is the state of a runner; see there.
type runnerState int32

const (
	stateIdle runnerState = iota
	stateRunning
	stateAgain // running, and something was appended since work looked last
	stateStopped
)

// runnerStats is what others may read while the handler runs.
//
// They are atomic and not guarded by a lock, as health must not wait for a handler. Each
// is exact; together they may be of slightly different moments.
type runnerStats struct {
	delivered  atomic.Uint64 // events
	overflows  atomic.Uint64 // catch-ups that began because the bound had been exceeded
	panics     atomic.Uint64 // that OnPanic was called for
	left       atomic.Int64  // records of the current run that are not done
	since      atomic.Int64  // when the current record was appended, or catching up began, Unix ns; 0: nothing to do
	lastPanic  atomic.Pointer[notedPanic]
	catchingUp atomic.Bool // delivering a difference of snapshots
}

// notedPanic is the last panic of a handler, without its stack.
type notedPanic struct {
	HandlerPanic
	at time.Time
}

// newRunner returns a runner that has not joined a log.
func newRunner[T Object](h Handler[T], opts HandlerOptions, log *slog.Logger, owner interface{ forget(r *runner[T]) }) *runner[T] {
	r := &runner[T]{
		name:    opts.Name,
		handler: h,
		onPanic: opts.OnPanic,
		log:     log,
		owner:   owner,
	}
	r.workFn = r.work
	// The clock starts with the handler's sync, not here.
	if opts.ResyncPeriod > 0 {
		r.resync = newResyncer(opts.ResyncPeriod, r.wake)
	}
	return r
}

// record makes the runner note what is delivered. It is called before it joins.
func (r *runner[T]) record(rec *recording) {
	r.recording, r.handler = rec, &recordedHandler[T]{r.handler, rec}
}

// join puts the runner at the end of the log. It will first deliver the objects
// that are in the cache there, then what is appended from now on. It returns false
// if the log is closed.
// The log registers the cursor and reads the state under one lock: no event is in both
// the state and the records that follow, or in neither.
func (r *runner[T]) join(log *eventLog[T], limit int, wake func()) bool {
	cursor, start, ok := log.Join(limit, wake)
	r.cursor, r.start = cursor, &start
	return ok
}

// enter goes from one state to another, unless it is in none of the two.
func (r *runner[T]) enter(from, to runnerState) bool {
	return r.state.CompareAndSwap(int32(from), int32(to))
}

// isStopped reports whether no call of the handler must begin any more.
func (r *runner[T]) isStopped() bool { return runnerState(r.state.Load()) == stateStopped }

// wake makes sure that work looks for something to deliver after this call.
func (r *runner[T]) wake() {
	for {
		switch runnerState(r.state.Load()) {
		case stateIdle:
			if r.enter(stateIdle, stateRunning) {
				go r.workFn()
				return
			}
		case stateRunning:
			// work may have looked before the append, and be about to park. The mark
			// makes rest fail, so that no wake-up is lost.
			if r.enter(stateRunning, stateAgain) {
				return
			}
		default: // it will look again, or must not
			return
		}
	}
}

// stop makes sure that no further call of the handler begins. It does not wait
// for one that is running.
func (r *runner[T]) stop() {
	switch runnerState(r.state.Swap(int32(stateStopped))) {
	case stateIdle:
		// Swap has one winner: no wake can find idle any more, so work never starts.
		r.finish()
	case stateRunning, stateAgain:
		r.cursor.Leave() // the log must not wait for a call that may last for ever
	}
}

// work delivers until there is nothing left, or the runner is stopped.
func (r *runner[T]) work() {
	// It distinguishes a return from a Goexit: both run the deferred function, and recover returns
	// nil for a Goexit.
	returned := false
	defer func() {
		if !returned { // runtime.Goexit, as t.FailNow does, or a panic that ends the process
			r.log.Error("a handler ended its goroutine (runtime.Goexit, or a panic) and is removed", "handler", r.name)
			r.state.Store(int32(stateStopped))
			r.finish()
		}
	}()
	for {
		// A Parked cursor is on the log's list of those to wake. An append between that and
		// rest calls wake, which finds running and asks for another look.
		for !r.isStopped() {
			if s := r.advance(); s == eventlog.Parked || s == eventlog.Closed {
				break
			}
		}
		if returned = r.rest(); returned {
			return
		}
	}
}

// rest ends the goroutine's work and returns true, unless it has to look again.
func (r *runner[T]) rest() bool {
	for {
		// A loop, since wake or stop may change the state between two of the cases.
		switch {
		case r.enter(stateRunning, stateIdle):
			return true
		case r.enter(stateAgain, stateRunning):
			return false
		case r.isStopped():
			r.finish()
			return true
		}
	}
}

// finish releases what the runner holds, once it is stopped. It is called once:
// by the goroutine in work, or when there is none.
func (r *runner[T]) finish() {
	// The log must not keep entries for a cursor that does not read any more.
	r.cursor.Leave()
	r.cursor.Next() // releases a run that advance was in
	// A Registration may be kept for long, and must not keep a whole cache with it.
	r.seen, r.start = view[T]{}, nil
	r.resync.end()
	r.owner.forget(r)
	// Last: a caller of RemoveAndWait that this unblocks finds nothing of the handler left.
	r.gone.close()
}

// advance does the next piece of work: one run of records, or one difference of
// snapshots. It returns Parked if there is nothing to do, and Closed at the end.
func (r *runner[T]) advance() eventlog.Status {
	// Once per runner: an informer with objects delivers them before any record.
	if start := r.start; start != nil {
		r.start = nil
		r.catchUp(*start, InitialList)
		r.noteSynced(start.synced) // now: the call for a later change may wait for it
	}
	// Between runs seen is exact; within one, an object may be ahead of it.
	if r.resync != nil {
		r.deliverResync(r.resync.due.Swap(0))
	}
	run, now, status := r.cursor.Next()
	switch status {
	case eventlog.Run:
		r.deliverRun(run)
		// The run leads to exactly this view.
		r.seen = now
	case eventlog.Detached:
		// Too slow: the log has dropped what waited for this handler. The difference to
		// the present state stands for it, and the cursor goes on from there.
		r.stats.overflows.Add(1)
		r.catchUp(now, CatchUp)
	case eventlog.Parked:
		r.seen = now // a bookmark may have moved the resourceVersion
		r.stats.since.Store(0)
	}
	// The stop may have cut short what was delivered: then seen is not what the handler
	// has seen, and it must not be called synced because of it.
	if r.isStopped() {
		return eventlog.Closed
	}
	r.noteSynced(r.seen.synced)
	return status
}

// deliverRun delivers the records of a run, in order.
func (r *runner[T]) deliverRun(run []record[T]) {
	var at int64
	for i := range run {
		rec := &run[i]
		r.stats.left.Store(int64(len(run) - i))
		// Records of a batch share their time: one atomic store for all of them.
		if rec.at != at {
			at = rec.at
			r.stats.since.Store(at)
		}
		if rec.diff == nil {
			if !r.deliver(rec.event) {
				break
			}
			continue
		}
		r.stats.catchingUp.Store(true)
		// The two snapshots are next to each other in the log, so their difference leads from
		// exactly what this handler has seen to what the list found.
		if !rec.diff.deliver(r.deliver) {
			break
		}
		r.stats.catchingUp.Store(false)
		// Here, and not at the end of the run: a call for a later record may wait for it.
		r.noteSynced(rec.diff.to.synced)
	}
	r.stats.left.Store(0)
}

// catchUp delivers the difference between what the handler has seen and now.
func (r *runner[T]) catchUp(now view[T], origin Origin) {
	r.stats.catchingUp.Store(true)
	defer r.stats.catchingUp.Store(false)
	r.stats.since.CompareAndSwap(0, time.Now().UnixNano())
	// A difference that a stop interrupts is delivered in part: seen stays as it was.
	if difference(r.seen.snap, now, origin, r.deliver) {
		r.seen = now
	}
}

// deliverResync delivers the objects in the given slices of the key space once
// more. Between runs what the handler has seen is a snapshot, so each object is in
// the very state that was delivered last.
func (r *runner[T]) deliverResync(due uint64) {
	// Before the sync every object is delivered anyway.
	if due == 0 || !r.synced.isClosed() {
		return
	}
	for obj := range r.seen.snap.All() {
		key := object.KeyOf(obj)
		if due&(1<<r.resync.slice(key)) == 0 {
			continue
		}
		if !r.deliver(Event[T]{Type: Updated, Key: key, Old: obj, New: obj, Origin: Resync}) {
			return
		}
	}
}

// deliver calls the handler with an event, unless the runner is stopped. It
// reports whether it did.
func (r *runner[T]) deliver(e Event[T]) bool {
	// Checked before each call, and not once per run: Remove promises at most one more.
	if r.isStopped() {
		return false
	}
	r.stats.delivered.Add(1)
	// Without OnPanic there is no recover, so a panic crashes with the handler's own stack.
	if r.onPanic == nil {
		r.handler.OnEvent(e)
	} else {
		r.deliverRecovering(e)
	}
	return true
}

// deliverRecovering is for handlers whose panics are reported. It is a function of
// its own, as a deferred call costs every call.
func (r *runner[T]) deliverRecovering(e Event[T]) {
	defer func() {
		if v := recover(); v != nil {
			// OnPanic runs in the deferred function: if it panics, the process ends.
			r.stats.panics.Add(1)
			if r.recording != nil {
				noteEvent(r.recording, r.recording.recorder.Now(), history.Panicked, &e, "")
			}
			p := HandlerPanic{Handler: r.name, Type: e.Type, Key: e.Key, Origin: e.Origin, Value: v}
			r.stats.lastPanic.Store(&notedPanic{p, time.Now()})
			p.Stack = debug.Stack()
			r.onPanic(p)
		}
	}()
	r.handler.OnEvent(e)
}

// noteSynced closes synced if the handler has seen a view that is synced.
func (r *runner[T]) noteSynced(seen bool) {
	if seen && !r.synced.isClosed() && !r.isStopped() {
		r.synced.close()
		// The period counts from here: objects are not due before they were delivered.
		if r.resync != nil {
			r.resync.begin()
		}
	}
}

// health describes the runner for [Health].
//
// It takes no lock of the runner: a handler that hangs does not hold up health.
func (r *runner[T]) health(now time.Time) HandlerHealth {
	h := HandlerHealth{
		Name:       r.name,
		Synced:     r.synced.isClosed(),
		Lag:        r.cursor.Lag() + int(r.stats.left.Load()),
		CatchingUp: r.stats.catchingUp.Load(),
		Delivered:  r.stats.delivered.Load(),
		Overflows:  r.stats.overflows.Load(),
		Panics:     r.stats.panics.Load(),
	}
	if since := r.stats.since.Load(); since != 0 {
		h.LagAge = now.Sub(time.Unix(0, since))
	}
	if p := r.stats.lastPanic.Load(); p != nil {
		last := p.HandlerPanic
		h.LastPanic, h.LastPanicTime = &last, p.at
	}
	return h
}

// whyUnsynced returns the reason for the handler not to be synced. unlisted is what
// the informer's cache itself waits for, or nil.
func (r *runner[T]) whyUnsynced(informer string, unlisted error) error {
	switch {
	case unlisted != nil:
		return fmt.Errorf("handler %q is not synced: informer %q: %w", r.name, informer, unlisted)
	case r.isStopped():
		return fmt.Errorf("handler %q is not synced: it was removed, or its informer has stopped", r.name)
	default:
		return fmt.Errorf("handler %q is not synced: %d events were delivered to it so far", r.name, r.stats.delivered.Load())
	}
}
