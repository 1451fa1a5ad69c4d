package informer

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/informerkit/informerkit/informer/internal/eventlog"
	"github.com/informerkit/informerkit/internal/object"
)

// runner runs one handler: it has the handler's position in the event log, and
// what the handler has seen. It is the third part of the way of an event: from
// the log to a call of OnEvent.
//
//	AddHandler: go work()
//	      │            ┌──── wake: go work() ─────┐
//	      ▼            ▼                          │
//	   deliver ──▶ position.Next ── nothing ──▶ parked ── stop ──▶ clean up
//	      ▲            │   │
//	      └─── a run ──┘   └── closed, or stopped ──▶ clean up
//
// The log knows who is parked, and it alone: so a wake-up is neither lost nor done
// twice. A parked runner costs memory, but no goroutine and no stack: an informer may
// have hundreds of handlers that are idle most of the time.
//
// What is not atomic is for the goroutine in work, or set before it begins.
type runner[T Object] struct {
	Registration // what does not depend on T
	handler      Handler[T]
	onPanic      func(HandlerPanic)
	resync       *resyncer // nil for a handler that wants none

	position *position[T]
	seen     view[T]  // what the handler has seen; between two runs of the log it is exact
	start    *view[T] // the cache when the handler joined; nil once it was delivered
}

// runnerStats is what others may read while the handler runs.
//
// They are atomic and not guarded by a lock, as health must not wait for a handler. Each
// is exact; together they may be of slightly different moments.
type runnerStats struct {
	delivered  atomic.Uint64 // events
	overflows  atomic.Uint64 // catch-ups that began because the bound had been exceeded
	panics     atomic.Uint64 // that OnPanic was called for
	left       atomic.Int64  // records of the current run that are not done
	since      atomic.Int64  // when the current record was appended, or catching up began, by clock; 0: nothing to do
	lastPanic  atomic.Pointer[notedPanic]
	catchingUp atomic.Bool // delivering a difference of snapshots
	stopped    atomic.Bool // no call of the handler must begin any more
}

// notedPanic is the last panic of a handler, without its stack.
type notedPanic struct {
	HandlerPanic
	at time.Time
}

// newRunner returns a runner that has not joined a log.
func newRunner[T Object](h Handler[T], opts HandlerOptions, inf registrar) *runner[T] {
	r := &runner[T]{handler: h, onPanic: opts.OnPanic}
	r.name, r.informer, r.runner = opts.Name, inf, r
	r.synced, r.gone = make(chan struct{}), make(chan struct{})
	return r
}

// join puts the runner at the end of the log. It will first deliver the objects
// that are in the cache there, then what is appended from now on. It returns false
// if the log is closed.
// The log registers the position and reads the state under one lock: no event is in
// both the state and the records that follow, or in neither.
func (r *runner[T]) join(log *eventLog[T], bound int, wake func(), resync time.Duration) bool {
	position, start, ok := log.Join(bound, wake)
	r.position, r.start = position, &start
	// The clock starts with the handler's sync, not here.
	if ok && resync > 0 {
		r.resync = newResyncer(resync, position.Wake)
	}
	return ok
}

// work delivers until there is nothing left, or the runner is stopped.
func (r *runner[T]) work() {
	status := eventlog.Run
	defer func() {
		switch status {
		case eventlog.Parked: // another goroutine may be in work already
		case eventlog.Closed:
			r.cleanUp()
		default: // runtime.Goexit, as t.FailNow does, or a panic that ends the process
			r.informer.logger().Error("a handler ended its goroutine (runtime.Goexit, or a panic) and is removed", "handler", r.name)
			r.stats.stopped.Store(true)
			r.cleanUp()
		}
	}()
	for status == eventlog.Run {
		status = r.advance()
	}
}

// stop makes sure that no further call of the handler begins. It does not wait
// for one that is running.
func (r *runner[T]) stop() {
	r.stats.stopped.Store(true)
	if r.position.Leave() { // it was parked, so nothing else does it
		r.cleanUp()
	}
}

// cleanUp releases what the runner holds, once it is stopped.
func (r *runner[T]) cleanUp() {
	// The log must not keep entries for a runner that does not read any more.
	r.position.Leave()
	r.position.Next() // releases a run that advance was in
	// A Registration may be kept for long, and must not keep a whole cache with it.
	r.seen, r.start = view[T]{}, nil
	r.resync.end()
	r.informer.forget(&r.Registration)
	// Last: a caller of RemoveAndWait that this unblocks finds nothing of the handler left.
	close(r.gone)
}

// advance does the next piece of work: one run of records, or one difference of
// snapshots. It returns Run if there may be more, and Closed at the end. After Parked
// nothing of the runner may be touched.
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
	if r.stats.stopped.Load() { // it must not park
		return eventlog.Closed
	}
	run, now, status := r.position.Next()
	switch status {
	case eventlog.Parked:
		return status
	case eventlog.Run:
		r.deliverRun(run)
		// The run leads to exactly this view.
		r.seen = now
	case eventlog.Detached:
		// Too slow: the log has dropped what waited for this handler. The difference to
		// the present state stands for it, and the runner goes on from there.
		r.stats.overflows.Add(1)
		r.catchUp(now, CatchUp)
	}
	// The stop may have cut short what was delivered: then seen is not what the handler
	// has seen, and it must not be called synced because of it.
	if r.stats.stopped.Load() || status == eventlog.Closed {
		return eventlog.Closed
	}
	r.noteSynced(r.seen.synced)
	return eventlog.Run
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
	r.stats.since.Store(0)
}

// catchUp delivers the difference between what the handler has seen and now.
func (r *runner[T]) catchUp(now view[T], origin Origin) {
	r.stats.catchingUp.Store(true)
	r.stats.since.Store(clock(time.Now()))
	// A difference that a stop interrupts is delivered in part: seen stays as it was.
	if difference(r.seen.snap, now, origin, r.deliver) {
		r.seen = now
	}
	r.stats.since.Store(0)
	r.stats.catchingUp.Store(false)
}

// deliverResync delivers the objects in the given slices of the key space once
// more. Between runs what the handler has seen is a snapshot, so each object is in
// the very state that was delivered last.
func (r *runner[T]) deliverResync(due uint64) {
	// Before the sync every object is delivered anyway.
	if due == 0 || !isClosed(r.synced) {
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
	if r.stats.stopped.Load() {
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
	if seen && !isClosed(r.synced) && !r.stats.stopped.Load() {
		close(r.synced)
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
		Synced:     isClosed(r.synced),
		Lag:        r.position.Lag() + int(r.stats.left.Load()),
		CatchingUp: r.stats.catchingUp.Load(),
		Delivered:  r.stats.delivered.Load(),
		Overflows:  r.stats.overflows.Load(),
		Panics:     r.stats.panics.Load(),
	}
	if since := r.stats.since.Load(); since != 0 {
		h.LagAge = time.Duration(clock(now) - since)
	}
	if p := r.stats.lastPanic.Load(); p != nil {
		last := p.HandlerPanic
		h.LastPanic, h.LastPanicTime = &last, p.at
	}
	return h
}

// Registration is a handler's membership in an informer. Its methods may be
// called from any goroutine.
type Registration struct {
	name     string
	informer registrar
	runner   interface{ stop() } // the *runner[T] that this is part of
	synced   chan struct{}       // closed when the first objects were delivered
	gone     chan struct{}       // closed when no call runs nor begins any more
	stats    runnerStats
}

// registrar is an informer as its handlers see it.
type registrar interface {
	Name() string
	logger() *slog.Logger
	failure() error         // what Run returned
	unlisted() error        // what the cache itself waits for, or nil
	forget(r *Registration) // called once, before gone is closed
}

// Synced returns a channel that is closed when the handler has been called with
// every object of the informer's first list, or, if it joined later, of every
// object that the cache held then, and has returned from the last of these calls.
// The calls for later changes may wait for it; those for the first objects must
// not.
func (r *Registration) Synced() <-chan struct{} { return r.synced }

// HasSynced reports whether the channel of Synced is closed.
func (r *Registration) HasSynced() bool { return isClosed(r.synced) }

// Done returns a channel that is closed when the handler has been removed, or
// the informer has stopped, and no call of the handler is running.
func (r *Registration) Done() <-chan struct{} { return r.gone }

// Unsynced returns why the handler is not synced yet, or nil if it is.
func (r *Registration) Unsynced() error {
	if r.HasSynced() {
		return nil
	}
	if why := r.informer.unlisted(); why != nil {
		return fmt.Errorf("handler %q is not synced: informer %q: %w", r.name, r.informer.Name(), why)
	}
	if r.stats.stopped.Load() {
		return fmt.Errorf("handler %q is not synced: it was removed, or its informer has stopped", r.name)
	}
	return fmt.Errorf("handler %q is not synced: %d events were delivered to it so far", r.name, r.stats.delivered.Load())
}

// Remove ends the membership. After it returns at most one more call of the
// handler is seen: the one that was being made at that moment, which may be about
// to begin or running, and is neither waited for nor stopped. What was not
// delivered is dropped. Where no call may be running, use RemoveAndWait. Remove may
// be called more than once, and from within the handler.
func (r *Registration) Remove() { r.runner.stop() }

// RemoveAndWait is Remove, and then waits until no call of the handler is
// running. It returns the context's error if that ends first; the handler is
// removed all the same.
//
// Do not call it from within the handler: it would wait for itself until ctx ends.
// The same holds for two handlers that wait for each other.
func (r *Registration) RemoveAndWait(ctx context.Context) error {
	r.Remove()
	// If ctx has ended as well, the fact that no call is running is worth more.
	if isClosed(r.gone) {
		return nil
	}
	select {
	case <-r.gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("informer: handler %q is removed, but a call of it is still running; is RemoveAndWait called from within the handler? %w", r.name, context.Cause(ctx))
	}
}
