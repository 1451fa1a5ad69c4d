package explore

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// mostPositions is how many writes get all kinds of faults.
	mostPositions = 200
	// mostShrinking bounds the runs that make a schedule shorter.
	mostShrinking = 100
	// longestShrinking bounds their time on the wall clock.
	longestShrinking = 20 * time.Second
	// mixedFrom is the number of the first schedule with several faults; until then
	// there is one at a time.
	mixedFrom = 100
)

// search is a search in progress.
type search struct {
	t       *testing.T
	opts    Options
	subject Subject
	usual   map[string]int // what the run without faults left, see rules
}

// outcome is what a run leaves behind.
type outcome struct {
	broken  *failure
	mistake error
	log     []string
	events  []event
	writes  []Write // of the controller
	steps   int
	watched []string
	left    map[string]int
	leases  bool
	fired   int
}

// Search does what [Run] does, and returns what it found instead of failing the test. A mistake
// in the functions of the subject, such as a step that the server refuses, fails the
// test nevertheless.
func Search(t *testing.T, opts Options, subject Subject) Result {
	t.Helper()
	if subject.Start == nil {
		t.Fatal("explore: the subject has no Start")
	}
	x := &search{t: t, opts: opts.withDefaults(), subject: subject}
	if *scheduleFlag != "" {
		return x.replay(*scheduleFlag)
	}
	base := x.must(x.run(nil, false))
	result := Result{Writes: len(base.writes)}
	if base.broken != nil {
		result.Finding = x.finding(nil, base, 0)
		return result
	}
	x.usual = base.left
	result.Unsteady = differing(base.log, x.must(x.run(nil, false)).log)
	plan := newPlan(base, x.opts)
	for _, text := range x.opts.First {
		first, err := parseSchedule(text)
		if err != nil {
			t.Fatal(err)
		}
		plan.first = append(plan.first, first)
	}
	s, o, tried := x.try(plan)
	result.Schedules = tried
	if o.broken != nil {
		x.t.Logf("explore: schedule %d breaks %s: %v; looking for a shorter one", tried, o.broken.rule, s)
		s, o = x.shrink(s, o)
		result.Finding = x.finding(s, o, tried)
	}
	return result
}

// replay runs one schedule and prints what happens.
func (x *search) replay(text string) Result {
	x.t.Helper()
	s, err := parseSchedule(text)
	if err != nil {
		x.t.Fatal(err)
	}
	if len(s) > 0 {
		x.usual = x.must(x.run(nil, false)).left
	}
	o := x.must(x.run(s, true))
	if o.broken != nil {
		return Result{Schedules: 1, Finding: x.finding(s, o, 1)}
	}
	x.t.Logf("explore: survived %s\n%s", text, strings.Join(lines(o.events), "\n"))
	if o.fired < len(s) {
		x.t.Logf("explore: %d of %d faults had no occasion", len(s)-o.fired, len(s))
	}
	return Result{Schedules: 1, Writes: len(o.writes)}
}

// must fails the test if the subject's own functions are wrong.
func (x *search) must(o outcome) outcome {
	x.t.Helper()
	if o.mistake != nil {
		x.t.Fatalf("%v", o.mistake)
	}
	return o
}

// run runs one schedule in a bubble.
func (x *search) run(s schedule, detail bool) (o outcome) {
	bubble := ""
	defer func() {
		v := recover()
		switch {
		case v == nil:
		case !strings.Contains(fmt.Sprint(v), "deadlock"):
			panic(v)
		case o.broken == nil && !slices.Contains(x.opts.Without, ruleLeak):
			o.broken = &failure{ruleLeak, "goroutines are left when Start has returned and all its connections are closed:\n" + leaked(bubble)}
		}
	}()
	pprof.Do(context.Background(), pprof.Labels("explore.schedule", s.String()), func(context.Context) {
		synctest.Test(x.t, func(*testing.T) {
			bubble = ownBubble()
			r, err := newRun(x.opts, x.subject, s, detail)
			if err != nil {
				o.mistake = err
				return
			}
			r.rules.usual = x.usual
			r.play()
			o = r.outcome()
		})
	})
	return o
}

// outcome is what is kept of a run.
func (r *run) outcome() outcome {
	o := outcome{
		broken: r.broken, mistake: r.mistake, log: r.log, events: r.events, steps: r.stepsN, left: r.rules.left, leases: len(r.rules.holders) > 0, fired: r.fired,
	}
	for _, w := range r.writes {
		if w.Resource.Resource != "" {
			o.writes = append(o.writes, w)
		}
	}
	for resource := range r.versions {
		if resource != "leases" && resource != "events" {
			o.watched = append(o.watched, resource)
		}
	}
	slices.Sort(o.watched)
	return o
}

// try runs the schedules of a plan, some at a time, until one breaks the subject.
func (x *search) try(p *plan) (found schedule, broken outcome, tried int) {
	var (
		mu      sync.Mutex
		workers sync.WaitGroup
		best    = -1
		until   = time.Now().Add(x.opts.Time)
		mistake error
	)
	for range min(runtime.GOMAXPROCS(0), x.opts.Schedules) {
		workers.Go(func() {
			for {
				mu.Lock()
				if best >= 0 || mistake != nil || tried >= x.opts.Schedules || x.opts.Time > 0 && time.Now().After(until) {
					mu.Unlock()
					return
				}
				s := p.next()
				if s == nil {
					mu.Unlock()
					return
				}
				tried++
				n := tried
				mu.Unlock()
				o := x.run(s, false)
				mu.Lock()
				if o.mistake != nil && mistake == nil {
					mistake = fmt.Errorf("schedule %q: %w", s, o.mistake)
				}
				if o.broken != nil && (best < 0 || n < best) {
					best, found, broken = n, s, o
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	if mistake != nil {
		x.t.Fatalf("%v", mistake)
	}
	if best > 0 {
		tried = best
	}
	return found, broken, tried
}

// shrink looks for a simpler schedule that breaks the same rule.
func (x *search) shrink(s schedule, o outcome) (schedule, outcome) {
	until := time.Now().Add(longestShrinking)
	for left := mostShrinking; left > 0; {
		better := false
		for _, simpler := range s.simpler() {
			if left--; left < 0 || time.Now().After(until) {
				break
			}
			if got := x.run(simpler, false); got.mistake == nil && got.broken != nil && got.broken.rule == o.broken.rule {
				s, o, better = simpler, got, true
				break
			}
		}
		if !better {
			break
		}
	}
	return s, o
}

// finding describes a failure, with the trace of another run of its schedule.
func (x *search) finding(s schedule, o outcome, tried int) *Finding {
	f := &Finding{
		Schedule: s.String(), Tried: tried, Rule: o.broken.rule, Reason: o.broken.reason, test: testPattern(x.t.Name()), events: o.events,
	}
	if o.events == nil {
		for range 3 { // a subject that is not steady may need several
			again := x.run(s, true)
			f.events = again.events
			if again.broken != nil && again.broken.rule == f.Rule {
				f.Reason = again.broken.reason
				break
			}
		}
	}
	f.Trace = lines(f.events)
	if x.opts.HTML != "" {
		if err := writePage(x.opts.HTML, f); err != nil {
			x.t.Logf("explore: %v", err)
		}
	}
	return f
}

// testPattern is the argument of -run for a test.
func testPattern(name string) string { return strings.ReplaceAll(name, "/", "$/^") }

// differing returns the first requests in which two runs differ.
func differing(a, b []string) (out []string) {
	for i := range max(len(a), len(b)) {
		var one, two string
		if i < len(a) {
			one = a[i]
		}
		if i < len(b) {
			two = b[i]
		}
		if one != two {
			return []string{fmt.Sprintf("request %d is %q, then %q", i+1, one, two)}
		}
	}
	return nil
}

// plan is the order in which schedules are tried: single faults first, kind after kind in
// turn, then several at a time.
type plan struct {
	random  *rand.Rand
	first   []schedule
	singles [][]fault // by kind
	all     []fault
	turn    int
	made    int
	orders  int
	without []string
}

// newPlan makes the single faults for what the run without faults did.
func newPlan(base outcome, opts Options) *plan {
	p := &plan{random: rand.New(rand.NewPCG(opts.Seed, 0x706c616e)), without: opts.Without}
	for _, kind := range kindsOfFaults {
		if slices.Contains(opts.Without, kind.name) || (kind.name == leaseCut || kind.name == partition) && !base.leases && opts.Replicas < 2 {
			continue
		}
		faults := singles(kind, base)
		p.random.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
		if kind.name == staleRestart {
			slices.SortStableFunc(faults, func(a, b fault) int {
				return cmp.Or(order(sameName(base.writes[:b.at.n], b.resource), sameName(base.writes[:a.at.n], a.resource)), cmp.Compare(b.n, a.n))
			})
		}
		p.all = append(p.all, faults...)
		p.singles = append(p.singles, faults)
	}
	return p
}

// sameName reports whether one of the writes was to an object that has the name of an earlier one: a cache that shows
// the earlier one is the most likely to mislead.
func sameName(writes []Write, resource string) bool {
	known := map[string]types.UID{}
	for _, w := range writes {
		for _, obj := range []*unstructured.Unstructured{w.Before, w.After} {
			if obj == nil || w.Resource.Resource != resource {
				continue
			}
			key := objectName(w.Namespace, w.Name)
			if uid, ok := known[key]; ok && uid != obj.GetUID() {
				return true
			}
			known[key] = obj.GetUID()
		}
	}
	return false
}

// order sorts false before true.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// singles are the faults of a kind.
func singles(kind kindOfFault, base outcome) (out []fault) {
	places := min(len(base.writes), mostPositions)
	if kind.of == 'a' {
		places = min(base.steps, mostPositions)
	}
	if kind.of == 0 {
		return nil // orders are made as they are needed
	}
	arguments := []int{0}
	if kind.most > 0 {
		arguments = []int{0, 3}
	}
	resources := []string{""}
	if kind.view {
		resources = base.watched
	}
	for n := range places {
		if kind.of == 'w' && !kind.suits(base.writes[n]) {
			continue
		}
		for _, resource := range resources {
			for _, argument := range arguments {
				out = append(out, fault{kind: kind.name, at: place{kind.of, n + 1}, resource: resource, n: argument})
			}
		}
	}
	return out
}

// suits reports whether a fault of the kind makes a difference to a write.
func (k kindOfFault) suits(w Write) bool {
	switch k.name {
	case overQuota:
		return w.Verb == "create"
	case conflicting, replaced:
		return w.Verb == "update" || w.Verb == "patch" || w.Verb == "delete"
	}
	return true
}

// next returns the next schedule; nil when there is no fault that could happen.
func (p *plan) next() schedule {
	if len(p.first) > 0 {
		s := p.first[0]
		p.first = p.first[1:]
		return s
	}
	p.made++
	if p.made <= mixedFrom || p.made%2 == 0 {
		if f, ok := p.single(); ok {
			return schedule{f}
		}
	}
	return p.mixed()
}

// single takes the next single fault; each turn brings one of each kind.
func (p *plan) single() (fault, bool) {
	orders := !slices.Contains(p.without, ordering)
	for range len(p.singles) + 1 {
		i := p.turn % (len(p.singles) + 1)
		p.turn++
		if i == len(p.singles) {
			if orders {
				p.orders++
				return fault{kind: ordering, at: place{n: p.orders}}, true
			}
			continue
		}
		if list := p.singles[i]; len(list) > 0 {
			p.singles[i] = list[1:]
			return list[0], true
		}
	}
	return fault{}, false
}

// mixed puts two or three faults together, often in an order of their own.
func (p *plan) mixed() schedule {
	var s schedule
	if !slices.Contains(p.without, ordering) && (p.random.IntN(3) == 0 || len(p.all) == 0) {
		s = append(s, fault{kind: ordering, at: place{n: 1 + p.random.IntN(1_000_000)}})
	}
	if len(p.all) == 0 {
		return s
	}
	for range 2 + p.random.IntN(2) {
		f := p.all[p.random.IntN(len(p.all))]
		if !slices.Contains(s, f) {
			s = append(s, f)
		}
	}
	return s
}
