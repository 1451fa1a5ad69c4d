package reflector

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// Reflector mirrors one collection of an API server into a [Sink]. Make one
// with [New]; all methods are safe for concurrent use.
type Reflector[T Object] struct {
	lw        ListerWatcher[T]
	namespace string // of lw; empty: all of them
	sink      Sink[T]
	opts      Options
	ran       atomic.Bool
	status    status
	allowance *allowance
	monitor   func(ctx context.Context) // nil: there is none

	// What follows belongs to the goroutine of Run.

	next       phase
	live       *liveStream[T] // the watch that is followed; nil: none is
	pos        position
	quarantine quarantine
	logs       []logged // one per reason
	// paced says that the user's policy said how long to wait, so the allowance does
	// not.
	paced bool
	// absent says that the last failure was a 404.
	absent bool
	// fruitless counts the failures in a row for the backoff: those since a
	// watch has delivered something, or the server paced the attempts.
	fruitless int
	// moved is when the position last got any further, or was found to be known
	// to the server.
	moved time.Time
	// rewatches counts the watches in a row that ended or failed without
	// getting any further in the history.
	rewatches int
	// expired counts the watches in a row that were refused because of their version, without
	// one that has got further.
	expired int
	// cutShort counts the streams of initial events in a row that broke.
	cutShort int
	listNext bool // a WatchList got a 404
	polling  polling
}

// New returns a reflector of lw's collection into sink. It does nothing before
// Run. The error says which argument is unusable.
func New[T Object](lw ListerWatcher[T], sink Sink[T], opts Options) (*Reflector[T], error) {
	if lw == nil {
		return nil, errors.New("reflector: New needs a ListerWatcher; NewResource makes one")
	}
	if sink == nil {
		return nil, errors.New("reflector: New needs a Sink")
	}
	if err := validate(lw); err != nil {
		return nil, err
	}
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if opts.Name == "" {
		opts.Name = sourceName(lw)
	}
	r := &Reflector[T]{lw: lw, namespace: namespaceOf(lw), sink: sink, opts: opts, next: phaseSync, allowance: newAllowance(opts.Backoff)}
	r.status.healthy, r.status.health.State, r.status.health.Since = opts.Backoff.Healthy, StateNew, time.Now()
	if opts.Monitor != nil {
		r.monitor, err = opts.Monitor(Monitored{
			Source: lw, Sink: sink, Logger: r.logger(), Health: r.Health, Relist: r.status.relist,
			Report: func(v any) { r.status.update(func(h *Health) { h.Monitor = v }) },
		})
	}
	return r, err
}

// Run mirrors the collection until ctx ends, and then returns nil. It returns
// an error if [Options].Policy says so, and on every call but the first.
func (r *Reflector[T]) Run(ctx context.Context) error {
	if !r.ran.CompareAndSwap(false, true) {
		return errors.New("reflector: Run was called before; make another Reflector with New")
	}
	defer r.setState(StateStopped)
	defer r.runMonitor(ctx)()
	defer r.unfollow()
	for ctx.Err() == nil {
		// It waits here for nearly all of its life, rather than deep in a step: Go halves the
		// stack of a goroutine that waits only if less than a quarter of it is in use.
		if r.live != nil && r.live.awaiter != nil {
			r.live.awaiter.await()
		}
		if err := r.step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// step delivers the next event of the watch. Without a watch, it reads the collection, and
// watches it from there. When the watch ends, it is resumed, or the collection is read again;
// after a failure, the step waits before that. An error ends Run.
func (r *Reflector[T]) step(ctx context.Context) error {
	var live *liveStream[T]
	var end ending
	switch {
	case r.live != nil:
		end = r.deliverNext(ctx)
	case r.next == phaseWatch && r.polling.due(time.Now()):
		return r.poll(ctx)
	case r.next == phaseSync:
		live, end = r.synchronize(ctx) // LIST or WatchList, a watch that began by sending what exists
	default:
		live, end = r.watch(ctx) // WATCH
	}
	if live != nil {
		r.follow(live)
	}
	if end.err != nil && ctx.Err() == nil {
		return r.conclude(ctx, end)
	}
	r.next = phaseWatch
	return nil
}

// conclude deals with the end of a watch and with failures. It decides what is next, and waits
// for as long as that should wait, or returns an error that ends Run.
func (r *Reflector[T]) conclude(ctx context.Context, end ending) error {
	if end.op == opWatch || end.op == opStream {
		r.status.update(func(h *Health) {
			if h.Reconnects == nil {
				h.Reconnects = map[ErrorClass]int{}
			}
			h.Reconnects[end.class]++
		})
	}
	if r.unwatchable(end) {
		return r.poll(ctx)
	}
	if end.advanced {
		r.rewatches, r.fruitless, r.expired = 0, 0, 0
	}
	if end.class == ClassExpired && (end.op == opWatch || end.op == opStream) {
		// The server lists a version that its watch does not know, perhaps from an old cache.
		if r.expired++; r.expired >= maxExpired {
			r.expired, r.pos.lost = 0, true
		}
	}
	// Doubt stays until a check or an event has cleared it, however many watches
	// end meanwhile.
	doubted := r.doubted(end)
	r.pos.doubt, r.pos.suspect = r.pos.doubt || doubted, r.pos.suspect || doubted && !end.timely
	if end.orderly {
		r.next = r.phaseAfter(end)
		return nil
	}
	// Before the policy is asked, so that it finds this failure in Health.
	f := r.noteFailure(end)
	r.next = r.phaseAfter(end)
	decision := Retry()
	if r.opts.Policy != nil {
		decision = r.opts.Policy(f)
	}
	if decision.stop {
		r.warn("stopped", "the reflector stops, as its policy decided after a failure", "op", f.Op, "class", f.Class, "error", f.Err)
		return end.err
	}
	wait := r.waitAfter(end, decision, r.next)
	r.warn("failed "+f.Op+" "+string(f.Class), "reading from the API server failed, will retry", "op", f.Op, "class", f.Class, "error", f.Err,
		"failures", f.Consecutive, "next", r.next, "wait", wait.Round(time.Millisecond))
	if wait > 0 {
		var changed <-chan struct{}
		if s, ok := As[interface{ Changed() <-chan struct{} }](r.lw); ok && end.class == ClassNotFound {
			changed = s.Changed()
		}
		r.rest(ctx, wait, changed)
	}
	return nil
}

// noteFailure counts a failure in Health, and returns what a policy decides about.
func (r *Reflector[T]) noteFailure(end ending) Failure {
	f := Failure{Op: end.op, Class: end.class, Err: end.err}
	r.noteError(end)
	r.status.update(func(h *Health) {
		r.status.since = time.Time{}
		// Degraded since the first of them: later ones are the same trouble.
		if h.ConsecutiveFailures++; h.ConsecutiveFailures == 1 {
			h.DegradedSince = h.LastErrorTime
		}
		f.Consecutive, f.Synced = h.ConsecutiveFailures, h.Synced
	})
	return f
}

// noteError reports what is not, or not only, a failure in Health.
func (r *Reflector[T]) noteError(end ending) {
	r.status.update(func(h *Health) { h.LastError, h.LastErrorClass, h.LastErrorTime = end.err, end.class, time.Now() })
}

// runMonitor runs the monitor, if there is one, in a goroutine that stop ends.
func (r *Reflector[T]) runMonitor(ctx context.Context) (stop func()) {
	if r.monitor == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); r.monitor(ctx) }()
	return func() { cancel(); <-done }
}

// Health returns the present state and how it came about.
func (r *Reflector[T]) Health() Health { return r.status.read() }
