package reflector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Reflector mirrors one collection of an API server into a [Sink]. Make one
// with [New]; all methods are safe for concurrent use.
type Reflector[T Object] struct {
	lw     ListerWatcher[T]
	sink   Sink[T]
	known  Known[T] // nil if the sink does not implement it
	opts   Options
	log    *slog.Logger
	ran    atomic.Bool
	status status

	// What follows belongs to the goroutine of Run.

	pos        position
	quarantine quarantine
	// moved is when the position last got any further, or was found to be known
	// to the server.
	moved time.Time
	// rewatches counts the watches in a row that ended or failed without
	// getting any further in the history.
	rewatches int
	// cutShort counts the streams of initial events in a row that broke.
	cutShort int
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
	r := &Reflector[T]{lw: lw, sink: sink, opts: opts, log: opts.Logger.With("reflector", opts.Name)}
	r.known, _ = sink.(Known[T])
	r.quarantine.retry = max(opts.QuarantineRetry, minQuarantine)
	r.status.h = Health{State: StateNew, Since: time.Now(), Reconnects: map[ErrorClass]int{}}
	return r, nil
}

func sourceName[T Object](lw ListerWatcher[T]) string {
	if s, ok := lw.(fmt.Stringer); ok {
		return s.String()
	}
	var zero T
	return fmt.Sprintf("%T", zero)
}

// Health returns the present state and how it came about.
func (r *Reflector[T]) Health() Health { return r.status.read() }

// LastResourceVersion returns the resourceVersion up to which the sink has been
// told, or "" before it has been told anything.
func (r *Reflector[T]) LastResourceVersion() string {
	r.status.mu.Lock()
	defer r.status.mu.Unlock()
	return r.status.h.ResourceVersion
}

// Run mirrors the collection until ctx ends, and then returns nil. It returns
// an error if [Options].Policy says so, and on every call but the first.
func (r *Reflector[T]) Run(ctx context.Context) error {
	if !r.ran.CompareAndSwap(false, true) {
		return errors.New("reflector: Run was called before; make another Reflector with New")
	}
	defer r.setState(StateStopped)

	next := phaseSync
	var live *liveStream[T] // a watch that has delivered its initial events
	defer func() {
		if live != nil {
			live.end()
		}
	}()
	for ctx.Err() == nil {
		var end ending
		switch next {
		case phaseSync:
			live, end = r.synchronize(ctx)
		case phaseWatch:
			going := live
			live = nil // it is follow's to end
			end = r.follow(ctx, going)
		case phaseProbe:
			next = r.probe(ctx)
			continue
		}
		if ctx.Err() != nil {
			break
		}
		if end.err == nil {
			next = phaseWatch
			continue
		}
		r.noteReconnect(end)
		if end.orderly {
			next = r.phaseAfter(end)
			continue
		}
		f := r.noteFailure(end)
		next = r.phaseAfter(end)
		decision := Retry()
		if r.opts.Policy != nil {
			decision = r.opts.Policy(f)
		}
		if decision.stop {
			return end.err
		}
		r.pause(ctx, f, decision, next)
	}
	return nil
}

// noteReconnect counts the end of a watch.
func (r *Reflector[T]) noteReconnect(end ending) {
	if end.op == OpWatch || end.op == OpStream {
		r.status.update(func(h *Health) { h.Reconnects[end.class]++ })
	}
	if end.advanced {
		r.rewatches = 0
	}
}

func (r *Reflector[T]) noteFailure(end ending) Failure {
	f := Failure{Op: end.op, Class: end.class, Err: end.err}
	now := time.Now()
	r.status.update(func(h *Health) {
		h.LastError, h.LastErrorClass, h.LastErrorTime = end.err, end.class, now
		if h.ConsecutiveFailures++; h.ConsecutiveFailures == 1 {
			h.DegradedSince = now
		}
		f.Consecutive, f.Synced = h.ConsecutiveFailures, h.Synced
	})
	return f
}

// pause waits before the next attempt, or until ctx ends.
func (r *Reflector[T]) pause(ctx context.Context, f Failure, decision Decision, next phase) {
	var d time.Duration
	switch {
	case decision.wait > 0:
		d = decision.wait
	case r.opts.BackoffFunc != nil:
		d = max(r.opts.BackoffFunc(f), minWait)
	default:
		d = r.opts.Backoff.delay(f.Consecutive)
	}
	if s, ok := apierrors.SuggestsClientDelay(f.Err); ok && s > 0 {
		// Spread out as well: everybody was told the same.
		asked := min(time.Duration(s)*time.Second, maxRetryAfter)
		d = max(d, asked+time.Duration(rand.Int64N(int64(asked)/10+1)))
	}
	r.status.update(func(h *Health) { h.NextAttempt = time.Now().Add(d) })
	r.log.Warn("attempt failed", "op", f.Op, "class", f.Class, "err", f.Err,
		"failures", f.Consecutive, "next", next, "in", d)
	r.setState(StateDegraded)
	sleep(ctx, d)
}

// sleep returns after d or when ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
