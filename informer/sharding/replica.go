package sharding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/health"
	"github.com/informerkit/informerkit/reflector"
)

// Replica is one replica of a program, in a group that divides parts of the work among
// its replicas. Create one with [New], and run it.
//
// One goroutine, that of Run, decides everything. It looks at the Leases as the
// informer shows them, at the clock and at what is running, begins what is missing,
// and looks again when one of them has changed:
//
//	Leases ──▶ informer ──▶ view ──┐
//	clock ─────────────────────────┼──▶ step ──▶ requests: renew, take, give up, end a session
//	requests, Work that have ended ┘      └────▶ Work: begin, drain, cancel
//
// It never assumes that a request has worked: what counts is what the view shows.
type Replica struct {
	opts   Options
	names  names
	client client
	clock  clock
	log    *slog.Logger
	leases *informer.Informer[*lease]

	metrics health.ReplicaMetrics
	running atomic.Bool
	health  atomic.Pointer[health.Replica]
	events  chan event    // to be recorded
	changed chan struct{} // has one element if the view may have changed
	results chan func(now time.Time)
	// requests ends when no answer is waited for any more.
	requests context.Context //nolint:containedctx // the life of Run
	inFlight sync.WaitGroup

	// The following belongs to the goroutine of Run.
	rnd      *rand.Rand
	session  *session
	orphan   *lease // of the session before, to be deleted
	slots    []slot
	observed observations
	ending   map[string]time.Time // sessions of others that are being ended: not again before
	notJoin  time.Time            // before which no session is begun
	stuck    stuck
	leaving  bool
	wake     time.Time // when to look at the clock
	failures map[string]*loggedReason
	counts   health.Replica // the counters
	shape    string         // of the group, as it was logged
}

// New returns a replica. It makes no request. The errors are about cfg and the options.
func New(cfg *rest.Config, opts Options) (*Replica, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	if cfg == nil {
		return nil, errors.New("sharding: the rest.Config is nil; pass that of the API server that has the Leases")
	}
	c, err := newClient(cfg, names{opts.Namespace, opts.Name})
	if err != nil {
		return nil, fmt.Errorf("sharding: %w", err)
	}
	return newReplica(c, systemClock{}, opts)
}

// newReplica returns a replica of complete options.
func newReplica(c client, clk clock, opts Options) (*Replica, error) {
	r := &Replica{
		opts: opts, names: names{opts.Namespace, opts.Name}, client: c, clock: clk,
		log: opts.Logger.With("group", opts.Name, "replica", opts.Identity), metrics: noMetrics{},
		events: make(chan event, maxEvents), changed: make(chan struct{}, 1), results: make(chan func(time.Time)),
		slots: make([]slot, opts.Parts), observed: observations{}, ending: map[string]time.Time{},
		failures: map[string]*loggedReason{},
	}
	r.rnd = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	var err error
	r.leases, err = informer.New(c.source(), informer.Options[*lease]{
		Name: "leases of " + opts.Name, Logger: opts.Logger, Reflector: watchOptions(&opts),
	})
	if err != nil {
		return nil, err
	}
	// The event says only that there is something new to look at.
	_, err = r.leases.AddHandler(informer.HandlerFunc[*lease](func(informer.Event[*lease]) { r.poke() }))
	r.publish(r.look(), health.ReplicaNew)
	return r, err
}

// watchOptions are for a view that is never older than the renew deadline: a renewal
// counts when the view shows it. So a watch without an event for half of that time
// has missed a renewal, and is taken for broken.
func watchOptions(o *Options) reflector.Options {
	healthy := min(o.RenewDeadline/4, time.Minute) // less than any watch lasts
	return reflector.Options{
		Sync:     reflector.SyncList, // there are few objects
		Backoff:  reflector.Backoff{Initial: o.RenewInterval / 10, Max: o.RenewInterval, Healthy: healthy},
		Timeouts: reflector.Timeouts{Answer: o.RenewDeadline / 2, Idle: o.RenewDeadline / 2},
	}
}

func (r *Replica) poke() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// Run joins the group, works on the parts that this replica gets, and goes on until ctx
// ends. Then it hands its parts over, and returns nil when that is done. It
// returns an error if the group has another number of parts. It runs once.
//
// Whatever else goes wrong is logged, is in Health, and is tried again: a replica that
// has lost its session cancels its work, and joins again when all of it has returned.
func (r *Replica) Run(ctx context.Context) error {
	if !r.running.CompareAndSwap(false, true) {
		return errors.New("sharding: Run was called before; a Replica runs once")
	}
	if r.opts.Metrics != nil {
		r.metrics = r.opts.Metrics.Replica(r.opts.Name, r.Health)
		defer func() { r.metrics.Close() }()
	}
	// The Leases are watched until everything is handed over.
	alive, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	r.requests = alive
	var leases sync.WaitGroup
	leases.Go(func() { _ = r.leases.Run(alive) }) // no error: it runs once, and New has checked the source
	recorded := r.startEvents()
	err := r.loop(ctx)
	r.endSession(errors.New("the replica has stopped"))
	r.removeOrphan()
	r.drop()
	recorded()
	stop()
	leases.Wait()
	r.publish(r.look(), health.ReplicaStopped)
	return err
}

// drop waits for all requests, without regard to their results.
func (r *Replica) drop() {
	done := make(chan struct{})
	go func() {
		r.inFlight.Wait()
		close(done)
	}()
	for {
		select {
		case <-r.results:
		case <-done:
			return
		}
	}
}

// loop looks, and acts, until the replica has left.
func (r *Replica) loop(ctx context.Context) error {
	ended, synced := ctx.Done(), r.leases.Synced()
	for {
		v := r.look()
		// Read after the look: the process may be paused between the two, and what the view
		// shows for the first time must not seem older than it is.
		now := r.clock.now()
		r.wake = now.Add(time.Minute)
		r.observed.update(v, now)
		if left, err := r.step(v, now); left || err != nil {
			return err
		}
		tick, stop := r.clock.timer(max(r.wake.Sub(now), time.Millisecond))
		select {
		case <-r.changed:
		case result := <-r.results:
			result(r.clock.now())
		case <-tick:
		case <-ended:
			ended = nil // once is enough
			r.leaving = true
			if r.session != nil {
				r.session.next = r.clock.now() // the others are to know
			}
		case <-synced:
			synced = nil // there may be no Lease, and no event
		}
		stop()
	}
}

// look returns what the informer shows.
func (r *Replica) look() *view {
	return newView(r.names, r.opts.Parts, r.leases.Snapshot().All())
}

// step does what the view and the clock ask for. left says that nothing is left to do.
func (r *Replica) step(v *view, now time.Time) (left bool, err error) {
	state := health.ReplicaJoining
	defer func() { r.publish(v, state) }()
	if r.session != nil {
		r.confirm(v, now)
	}
	if r.session == nil {
		if r.working() {
			return false, nil // what was lost has not returned yet
		}
		r.removeOrphan()
		if r.leaving {
			return true, nil
		}
		return false, r.join(v, now)
	}
	if r.session.confirmed {
		state = health.ReplicaMember
		r.describe(v)
		r.endExpired(v, now)
		r.moveParts(v, now)
		if r.endIfStuck(now); r.session == nil {
			r.poke()
			return false, nil
		}
	}
	if r.leaving {
		state = health.ReplicaLeaving
		if r.leave(v, now) {
			return true, nil
		}
	}
	r.renew(now)
	return false, nil
}

// at makes the loop look again at t at the latest.
func (r *Replica) at(t time.Time) {
	if t.Before(r.wake) {
		r.wake = t
	}
}

// request sends a request in the background and has the loop call then with its error.
// An answer that takes longer than half of the renew deadline comes too late.
func (r *Replica) request(send func(ctx context.Context) error, then func(now time.Time, err error)) {
	r.inFlight.Go(func() {
		ctx, cancel := context.WithTimeout(r.requests, r.opts.RenewDeadline/2)
		defer cancel()
		err := send(ctx)
		r.results <- func(now time.Time) { then(now, err) }
	})
}

// soon is a time after a failure, with jitter.
func (r *Replica) soon(now time.Time) time.Time {
	return now.Add(r.jitter(r.opts.RenewInterval / 4))
}

// jitter returns d, give or take a tenth.
func (r *Replica) jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*r.rnd.Float64()))
}

func sortReplicas(all []health.Member) {
	slices.SortFunc(all, func(a, b health.Member) int { return cmp.Compare(a.Session, b.Session) })
}
