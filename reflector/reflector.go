package reflector

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/informerkit/informerkit/reflector/internal/wire"
)

// Reflector mirrors one collection of an API server into a [Sink]. Make one
// with [New]; all methods are safe for concurrent use.
type Reflector[T Object] struct {
	lw   ListerWatcher[T]
	sink Sink[T]
	opts Options
	ran  atomic.Bool
	// paced says that the user's policy said how long to wait, so the allowance does
	// not. It belongs to the goroutine of Run, too.
	paced bool
	// absent says that the last failure was that the resource does not exist. It belongs
	// to that goroutine as well.
	absent bool
	status status

	// What follows belongs to the goroutine of Run.

	next  phase
	ended *ending        // how the phase has ended; nil: it was a watch, which unfollow ends
	live  *liveStream[T] // a watch that has delivered its initial events, to be followed next
	watch following[T]   // the watch that is being followed

	pos        position
	quarantine quarantine
	logs       logLimit
	allowance  allowance
	audits     *auditor[T] // nil: there are no audits
	// fruitless counts the failures in a row for the backoff: those since a
	// watch has delivered something, or the server paced the attempts.
	fruitless int
	// moved is when the position last got any further, or was found to be known
	// to the server.
	moved time.Time
	// rewatches counts the watches in a row that ended or failed without
	// getting any further in the history.
	rewatches int32
	// cutShort counts the streams of initial events in a row that broke.
	cutShort int32
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
	// A mistake in the source is returned here, rather than be retried for ever by Run.
	if v, ok := lw.(validator); ok {
		if err := v.validate(); err != nil {
			return nil, err
		}
	}
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if opts.Name == "" {
		opts.Name = sourceName(lw)
	}
	r := &Reflector[T]{
		lw: lw, sink: sink, opts: opts,
		allowance: allowance{every: pace(opts.Backoff)},
	}
	if r.audits, err = newAuditor(lw, sink, opts.AuditInterval); err != nil {
		return nil, err
	}
	r.status.routine = routine{State: StateNew, Since: time.Now()}
	return r, nil
}

// sourceName is the name of a source that has one, or else its type of objects.
func sourceName[T Object](lw ListerWatcher[T]) string {
	if s, ok := lw.(fmt.Stringer); ok {
		return s.String()
	}
	var zero T
	return fmt.Sprintf("%T", zero)
}

// sourceNamespace is the namespace of a source that has one.
func sourceNamespace[T Object](lw ListerWatcher[T]) string {
	if s, ok := lw.(interface{ Namespace() string }); ok {
		return s.Namespace()
	}
	return ""
}

// Health returns the present state and how it came about.
func (r *Reflector[T]) Health() Health {
	h := r.status.read()
	h.Audit.Interval = r.opts.AuditInterval
	return h
}

// LastResourceVersion returns the resourceVersion up to which the sink has
// everything, or "" before its first list.
func (r *Reflector[T]) LastResourceVersion() string {
	r.status.mu.Lock()
	defer r.status.mu.Unlock()
	return r.status.routine.ResourceVersion
}

// Run mirrors the collection until ctx ends, and then returns nil. It returns
// an error if [Options].Policy says so, and on every call but the first.
func (r *Reflector[T]) Run(ctx context.Context) error {
	if !r.ran.CompareAndSwap(false, true) {
		return errors.New("reflector: Run was called before; make another Reflector with New")
	}
	defer r.leave()
	r.next = phaseSync
	// Each turn is one phase: a phase ends with how it ended, and phaseAfter says what
	// is next.
	for ctx.Err() == nil {
		// It waits here, at the bottom of the stack, for nearly all of its life: Go shrinks
		// the stack of a goroutine that waits only while little of it is in use.
		for follows := r.enter(ctx); follows; follows = r.deliver(ctx) {
			r.watch.live.await()
		}
		if stop, err := r.conclude(ctx); stop {
			return err
		}
	}
	return nil
}

// leave frees what Run holds, however it ends.
func (r *Reflector[T]) leave() {
	r.endWatch()
	if r.live != nil {
		r.live.end()
	}
	r.setState(StateStopped)
}

// enter begins the next phase, and ends it unless it is to follow a watch: then it returns
// true, and deliver goes on until it returns false.
func (r *Reflector[T]) enter(ctx context.Context) (follows bool) {
	for r.next == phaseCheck && ctx.Err() == nil {
		r.next = r.checkBefore(ctx)
	}
	if ctx.Err() != nil {
		return false
	}
	if r.next == phaseSync {
		live, end := r.synchronize(ctx)
		r.live, r.ended = live, &end
		return false
	}
	going := r.live
	r.live = nil // it is the watch's to end
	return r.follow(ctx, going)
}

// conclude ends a phase, waits if it has failed, and says what is next. If stop is true, Run
// ends with err.
func (r *Reflector[T]) conclude(ctx context.Context) (stop bool, err error) {
	var end ending
	switch {
	case r.watch.live != nil:
		end = r.unfollow(ctx)
	case r.ended != nil:
		end, r.ended = *r.ended, nil
	}
	if ctx.Err() != nil {
		return true, nil
	}
	if end.err == nil {
		r.next = phaseWatch
		return false, nil
	}
	r.noteReconnect(end)
	// Doubt stays until a check or an event has cleared it, however many watches
	// end meanwhile.
	r.pos.doubt = r.pos.doubt || r.doubted(end)
	if end.orderly {
		r.next = r.phaseAfter(end)
		return false, nil
	}
	// Before the policy is asked, so that it finds this failure in Health.
	f := r.noteFailure(end)
	if err := r.broken(); err != nil {
		return true, err
	}
	// A 404 is also what a wrong address answers, so absence is confirmed by the
	// source before the sink is emptied.
	if end.class == ClassNotFound {
		r.noteAbsence(ctx)
	}
	r.next = r.phaseAfter(end)
	decision := Retry()
	if r.opts.Policy != nil {
		decision = r.opts.Policy(f)
	}
	if decision.stop {
		r.warn("stopped", "stopped by the policy", "op", f.Op, "class", f.Class, "err", f.Err)
		return true, end.err
	}
	r.pause(ctx, f, r.waitAfter(f, end, decision, r.next), r.next)
	return false, nil
}

// noteReconnect counts the end of a watch.
func (r *Reflector[T]) noteReconnect(end ending) {
	if end.op == OpWatch || end.op == OpStream {
		r.status.update(func(h *routine) {
			if h.Reconnects == nil {
				h.Reconnects = map[ErrorClass]int{}
			}
			h.Reconnects[end.class]++
		})
	}
	if end.advanced {
		r.rewatches = 0
	}
}

// noteFailure counts a failure in Health, and returns what a policy decides about.
func (r *Reflector[T]) noteFailure(end ending) Failure {
	f := Failure{Op: end.op, Class: end.class, Err: end.err}
	now := time.Now()
	r.status.note(func(t *trouble) {
		t.LastError, t.LastErrorClass, t.LastErrorTime = end.err, end.class, now
		// Degraded since the first of them: later ones are the same trouble.
		if t.ConsecutiveFailures++; t.ConsecutiveFailures == 1 {
			t.DegradedSince = now
		}
		f.Consecutive, f.Synced = t.ConsecutiveFailures, r.status.routine.Synced
	})
	return f
}

// waitAfter returns how long to wait after a failure. What the user says goes
// first, then what the server asks for; a watch that has delivered something
// resumes at once; and anything else backs off.
func (r *Reflector[T]) waitAfter(f Failure, end ending, decision Decision, next phase) time.Duration {
	asked := askedToWait(f.Err)
	absent := f.Class == ClassNotFound
	if end.advanced || r.absent && !absent {
		// What does not exist yet is not a failing server.
		r.fruitless = 0
	}
	r.absent = absent
	// The policy may make it slower or faster than the allowance, but not faster than
	// the server asks.
	if r.paced = decision.wait > 0; r.paced {
		return max(decision.wait, asked)
	}
	now := time.Now()
	d := asked
	switch {
	case asked > 0:
	case end.advanced && next != phaseSync && end.cut():
		d = r.allowance.resumeWait(now)
	default:
		r.fruitless++
		d = r.opts.Backoff.delay(r.fruitless)
	}
	// Whatever the reason, the next request must be within the allowance.
	return max(d, r.allowance.wait(now, 1))
}

// askedToWait returns for how long the server has asked to be left alone, and a
// little more at random: it asks the same of all clients.
func askedToWait(err error) time.Duration {
	s, ok := apierrors.SuggestsClientDelay(err)
	if !ok || s <= 0 {
		return 0
	}
	asked := min(time.Duration(s)*time.Second, wire.MaxRetryAfter)
	return asked + time.Duration(rand.Int64N(int64(asked)/10+1))
}

// pause waits for d before the next attempt, or until ctx ends.
func (r *Reflector[T]) pause(ctx context.Context, f Failure, d time.Duration, next phase) {
	r.warn("failed "+string(f.Op)+" "+string(f.Class), "attempt failed", "op", f.Op, "class", f.Class, "err", f.Err,
		"failures", f.Consecutive, "next", next, "in", d)
	if d > 0 {
		r.rest(ctx, d)
	}
}

// sleep returns after d or when ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	// Not time.After: its timer would live on after ctx has ended.
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
