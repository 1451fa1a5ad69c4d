package explore

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"testing/synctest"
	"time"

	"github.com/informerkit/informerkit/informer/informertest"
)

const (
	// calmTime is how long the controller must have changed nothing before Eventually is
	// asked for the first time.
	calmTime = 2 * time.Minute
	// longest bounds a run in the time of its bubble.
	longest = 24 * time.Hour
)

// run is one schedule on a server of its own, in a bubble of its own.
//
// The goroutine that calls conduct lets one thing happen at a time: it waits until all
// others are blocked, then lets one request through, delivers one event, or carries out
// one step. So equal schedules give equal runs, as far as the subject allows.
type run struct {
	opts     Options
	subject  Subject
	schedule schedule
	detail   bool // for a trace

	server   *informertest.Server
	began    time.Time
	random   *rand.Rand // the order of what is pending; nil: a fixed one
	handlers sync.WaitGroup
	running  sync.WaitGroup // supervisors and Act
	wake     chan struct{}  // holds a token when something has become pending
	over     chan struct{}  // closed when the run is over

	mu       sync.Mutex // guards what follows; never held while anything blocks
	waiting  []*request
	streams  []*stream
	opened   int // streams
	arrivals int
	step     *step // the users' next one
	replicas []*replica
	stopping bool
	actOver  bool
	crashes  int // ends of processes by themselves

	turns    int // requests and events
	writesN  int
	stepsN   int
	fired    int // faults of the schedule
	lastWork time.Time
	asked    time.Time // the lastWork at which Eventually failed
	doubt    error     // what it said
	quietAt  string    // the version of the server at which Others had nothing to do
	// othersActed is when Others was called last.
	othersActed time.Time

	lags     []lag
	gaps     []gap
	refusals []refusal
	deleted  []*deleted          // by the fault "replace"
	versions map[string][]uint64 // of the events of a resource

	rules  rules
	writes []Write
	log    []string // requests, to compare two runs
	events []event
	broken *failure
	// mistake is one in the subject's own functions.
	mistake error
}

// failure is a rule that was broken.
type failure struct{ rule, reason string }

// newRun prepares a run. Call it in the bubble.
func newRun(opts Options, subject Subject, s schedule, detail bool) (*run, error) {
	server, err := informertest.NewServer(opts.Server)
	if err != nil {
		return nil, err
	}
	r := &run{
		opts: opts, subject: subject, schedule: s, detail: detail, server: server, began: time.Now(), lastWork: time.Now(),
		wake: make(chan struct{}, 1), over: make(chan struct{}), versions: map[string][]uint64{}, rules: newRules(),
	}
	for _, f := range s {
		if f.kind == ordering {
			r.random = rand.New(rand.NewPCG(uint64(f.at.n), 0x6f72646572))
			r.fired++
		}
	}
	return r, nil
}

// play runs the schedule to its end.
func (r *run) play() {
	defer r.server.Close()
	if r.subject.Setup != nil {
		if err := r.guard("Setup", func() { r.subject.Setup(r.server) }); err != nil {
			r.mistake = err
			return
		}
	}
	for i := range r.opts.Replicas {
		rep := &replica{name: string(rune('a' + i))}
		r.replicas = append(r.replicas, rep)
		r.running.Add(1)
		go r.supervise(rep)
	}
	r.running.Add(1)
	go r.act()
	r.conduct()
	r.end()
}

// guard calls a function of the subject and turns a panic into an error.
func (r *run) guard(name string, call func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%s panicked: %v\n%s", name, v, debug.Stack())
		}
	}()
	call()
	return nil
}

// act runs Act.
func (r *run) act() {
	defer r.running.Done()
	finished := false
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.actOver = true
		if !finished && !r.stopping && r.mistake == nil {
			r.mistake = fmt.Errorf("explore: Act has ended its goroutine")
		}
		r.poke()
	}()
	if r.subject.Act == nil {
		finished = true
		return
	}
	if err := r.guard("Act", func() { r.subject.Act(&World{r}) }); err != nil {
		r.mu.Lock()
		r.mistake = err
		r.mu.Unlock()
	}
	finished = true
}

// submit hands in the users' next step.
func (r *run) submit(s *step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.step = s
	r.poke()
}

// enqueue lets a request wait for its turn.
func (r *run) enqueue(rq *request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.arrivals++
	rq.arrived = r.arrivals
	rq.Time = time.Now()
	if r.detail && rq.writes() && len(r.writes) < mostDetailed {
		rq.missing = rq.process.view.missing(r)
	}
	r.waiting = append(r.waiting, rq)
	r.poke()
}

// withdraw takes out a request that its client has given up.
func (r *run) withdraw(rq *request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = slices.DeleteFunc(r.waiting, func(x *request) bool { return x == rq })
}

// poke makes conduct look again.
func (r *run) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// conduct lets things happen, one at a time, until the run is over.
func (r *run) conduct() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		synctest.Wait()
		if r.finished() {
			return
		}
		if r.expire(); r.recreate() || r.turn() || r.others() || r.users() {
			continue
		}
		wait, done := r.idle()
		if done {
			return
		}
		timer.Reset(wait)
		select {
		case <-r.wake:
		case <-timer.C:
		}
	}
}

// finished reports whether the run has failed.
func (r *run) finished() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken == nil && r.turns > r.opts.Steps {
		r.failLocked(ruleSteps, fmt.Sprintf("the controller is still at work after %d requests and events", r.turns))
	}
	if r.broken == nil && time.Since(r.began) > longest {
		r.failLocked(ruleSteps, fmt.Sprintf("the controller is still at work after %v", longest))
	}
	return r.broken != nil || r.mistake != nil
}

// failLocked notes that a rule is broken. The first one counts.
func (r *run) failLocked(rule, reason string) {
	if r.broken == nil && !slices.Contains(r.opts.Without, rule) {
		r.broken = &failure{rule, reason}
		r.note(event{kind: eventFailure, who: rule, text: reason})
	}
}

func (r *run) fail(rule, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failLocked(rule, reason)
}

// turn lets one pending request or event through and reports whether there was one.
func (r *run) turn() bool {
	r.mu.Lock()
	r.streams = slices.DeleteFunc(r.streams, (*stream).finished)
	var streams []*stream
	for _, s := range r.streams {
		if !r.held(s) && s.pending() {
			streams = append(streams, s)
		}
	}
	requests := slices.DeleteFunc(slices.Clone(r.waiting), func(rq *request) bool { return time.Now().Before(rq.process.everything) })
	slices.SortFunc(requests, func(a, b *request) int {
		return cmp.Or(cmp.Compare(a.order(), b.order()), a.arrived-b.arrived)
	})
	all := len(streams) + len(requests)
	if all == 0 {
		r.mu.Unlock()
		return false
	}
	r.turns++
	pick := 0
	if r.random != nil {
		if r.step != nil && r.step.do != nil && r.random.IntN(8) == 0 {
			r.mu.Unlock()
			return r.userStep()
		}
		pick = r.random.IntN(all)
	}
	if pick < len(streams) {
		r.deliver(streams[pick])
		r.mu.Unlock()
		return true
	}
	rq := requests[pick-len(streams)]
	r.waiting = slices.DeleteFunc(r.waiting, func(x *request) bool { return x == rq })
	r.mu.Unlock()
	r.let(rq)
	return true
}

// deliver passes on the next event of a watch.
func (r *run) deliver(s *stream) {
	frame := s.deliver()
	if frame == nil {
		return
	}
	meta := s.process.view.event(s, frame)
	if meta.version == 0 || meta.bookmark {
		return
	}
	if all := r.versions[s.Resource]; len(all) == 0 || all[len(all)-1] < meta.version {
		r.versions[s.Resource] = append(all, meta.version)
	}
	if r.detail {
		r.note(event{who: s.process.name, kind: eventSeen, text: fmt.Sprintf("sees %s %s %s", meta.typ, s.Resource, objectName(meta.Namespace, meta.Name))})
	}
}

// dueLocked returns the faults of a place.
func (r *run) dueLocked(of byte, n int) (due []fault) {
	for _, f := range r.schedule {
		if f.at == (place{of, n}) {
			due = append(due, f)
			r.fired++
			r.lastWork = time.Now()
			r.rules.reset()
		}
	}
	return due
}

// idle says how long nothing will happen by itself, or that the run is over.
func (r *run) idle() (wait time.Duration, done bool) {
	r.mu.Lock()
	calm := time.Since(r.lastWork)
	final := r.actOver && r.step == nil && !r.disturbedLocked()
	switch {
	case r.step != nil && r.step.after > calm:
		wait = r.step.after - calm
	case !final:
		wait = time.Second
	case calm < calmTime:
		wait = calmTime - calm
	}
	due := final && calm >= calmTime && (r.asked != r.lastWork || calm >= r.opts.Quiet)
	if final && calm >= calmTime && !due {
		wait = r.opts.Quiet - calm
	}
	if left := othersTime - time.Since(r.othersActed); r.server.ResourceVersion() != r.quietAt && left > 0 {
		wait = min(wait, left)
	}
	r.mu.Unlock()
	if !due {
		return max(wait, time.Millisecond), false
	}
	wrong := r.eventually()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.mistake != nil:
		return 0, true
	case wrong == nil:
		r.rules.final(r)
		return 0, true
	case calm >= r.opts.Quiet:
		r.failLocked(ruleEventually, wrong.Error())
		return 0, true
	}
	r.asked, r.doubt = r.lastWork, wrong
	return r.opts.Quiet - calm, false
}

// end stops the controller and waits for it. A run that has failed already does not wait long.
func (r *run) end() {
	r.mu.Lock()
	r.stopping, r.step = true, nil
	close(r.over)
	broken := r.broken != nil || r.mistake != nil
	var ends []*process
	for _, rep := range r.replicas {
		if p := rep.now; p != nil {
			if broken {
				r.killLocked(p)
			} else {
				r.stopLocked(p)
			}
			ends = append(ends, p)
		}
	}
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), r.opts.Grace)
	defer cancel()
	all := make(chan struct{})
	go func() {
		for _, p := range ends {
			<-p.ended
		}
		close(all)
	}()
	if !r.serveUntil(ctx, all) && !broken {
		r.fail(ruleGrace, fmt.Sprintf("Start has not returned %v after its context ended", r.opts.Grace))
	}
	r.mu.Lock()
	for _, p := range ends {
		r.killLocked(p)
	}
	for _, s := range r.streams {
		s.cancel()
	}
	r.mu.Unlock()
	r.handlers.Wait()
	<-time.After(2 * time.Minute) // what ends by a timer of its own ends now
}

// serveUntil lets requests through, without faults, until a channel is closed.
func (r *run) serveUntil(ctx context.Context, all <-chan struct{}) bool {
	r.mu.Lock()
	r.schedule, r.lags, r.gaps, r.refusals = nil, nil, nil, nil
	for _, rep := range r.replicas {
		if rep.now != nil {
			rep.now.leases, rep.now.everything = time.Time{}, time.Time{}
		}
	}
	r.mu.Unlock()
	for {
		synctest.Wait()
		if r.turn() {
			continue
		}
		select {
		case <-all:
			return true
		default:
		}
		select {
		case <-all:
			return true
		case <-r.wake:
		case <-ctx.Done():
			return false
		}
	}
}

// version is the version of the server.
func (r *run) version() uint64 {
	rv, err := strconv.ParseUint(r.server.ResourceVersion(), 10, 64)
	if err != nil {
		panic(err) // the server's versions are numbers
	}
	return rv
}
