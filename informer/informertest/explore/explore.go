package explore

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/informertest"
)

// Subject is a controller with what is expected of it. Start is required. Each schedule
// calls the functions from scratch, several schedules at the same time: what they share
// must be safe for that, and is better not shared.
type Subject struct {
	// Setup prepares an empty server: definitions of custom resources, the first objects.
	// See also Options.Server.
	Setup func(s *informertest.Server)
	// Start runs the controller until ctx ends, with nothing but cfg. After a crash it is
	// called again. Keep all state in it: what outlives it would survive the crash.
	Start func(ctx context.Context, cfg *rest.Config) error
	// Act is what users do, step by step: each call of a method of World is one step.
	// A step waits until the controller has changed nothing for five seconds of the
	// bubble's time; some schedules carry it out earlier.
	Act func(w *World)
	// Others is what the rest of the cluster does whenever the controller has nothing to
	// do. nil runs pods and makes them ready, removes those that are deleted, and collects
	// garbage.
	Others func(s *informertest.Server)
	// Always returns an error if the state of the server is wrong. It is called after each
	// write, by the controller or by others.
	Always func(v View) error
	// Eventually returns an error if the state is not the wanted one. It is called when
	// Act is over, faults have ended and the controller is quiet.
	Eventually func(v View) error
}

// Options configure a search. The zero value is ready to use.
type Options struct {
	// Server configures the API servers: Resources, Scheme and the like. InMemory is set.
	Server informertest.Options
	// Schedules is how many schedules are tried at most; 0 means 300, or 60 with -short.
	// The flag -explore.schedules takes precedence.
	Schedules int
	// First has schedules that are tried before all others, such as those of earlier findings:
	// "crash-after@w2". They count as Schedules.
	First []string
	// Time bounds the search on the wall clock; 0 is no bound.
	Time time.Duration
	// Seed determines the choices. The flag -explore.seed takes precedence.
	Seed uint64
	// Replicas is how many replicas of the controller run at the same time; 0 means 1.
	// Use 2 for a controller with leader election or sharding.
	Replicas int
	// Quiet is how long, in the time of the bubble, the controller may write nothing before
	// it counts as finished although Eventually fails; 0 means 20 minutes, more than the
	// longest back-off of client-go's rate limiters.
	Quiet time.Duration
	// Grace is how soon, in the time of the bubble, Start must return when its context
	// has ended; 0 means 30 seconds.
	Grace time.Duration
	// Steps bounds the requests and events of one schedule; 0 means 5,000.
	Steps int
	// Ignore selects writes that are no sign of work, such as heartbeats. Writes of
	// leases and events are ignored anyway.
	Ignore func(informertest.Request) bool
	// Without names perturbations and rules that are not used, such as "lag" or "leak".
	Without []string
	// HTML is a file for a page about the finding; empty for none. The flag -explore.html
	// takes precedence.
	HTML string
}

// Result is the outcome of [Search].
type Result struct {
	// Schedules is how many schedules were tried, and Writes how many writes the
	// controller made without faults.
	Schedules, Writes int
	// Finding is the failure, or nil if the subject survived.
	Finding *Finding
	// Unsteady has the first requests that differed when the same schedule was run twice.
	// Then a finding may not repeat, and positions in a schedule may mean something else.
	Unsteady []string
}

// Finding is a way to break the subject.
type Finding struct {
	// Schedule is the shortest one that was found, such as "crash-after@w2 lag@w4:pods".
	// Empty means that no fault is needed.
	Schedule string
	// Tried is how many schedules had been tried; 0 is the run without faults.
	Tried int
	// Rule is what was broken: "always", "eventually" or a built-in rule, by its name in
	// README.md of this package.
	Rule string
	// Reason is the error of the subject's function, or what the rule says.
	Reason string
	// Trace is what happened, one line for each thing of interest.
	Trace []string

	test   string
	events []event
}

var (
	scheduleFlag  = flag.String("explore.schedule", "", "run exactly this schedule of faults and print what happens")
	schedulesFlag = flag.Int("explore.schedules", 0, "how many schedules to try; 0 leaves it to the test")
	seedFlag      = flag.Uint64("explore.seed", 0, "seed of the search; 0 leaves it to the test")
	htmlFlag      = flag.String("explore.html", "", "write a page about the finding to this file")
)

// noFaults is how -explore.schedule names the schedule without faults.
const noFaults = "none"

// withDefaults returns the options with every zero, and every flag, replaced by its meaning.
func (o Options) withDefaults() Options {
	if *schedulesFlag > 0 {
		o.Schedules = *schedulesFlag
	}
	if *seedFlag != 0 {
		o.Seed = *seedFlag
	}
	if *htmlFlag != "" {
		o.HTML = *htmlFlag
	}
	if o.Schedules <= 0 {
		o.Schedules = 300
		if testing.Short() {
			o.Schedules = 60
		}
	}
	o.Replicas = max(o.Replicas, 1)
	if o.Quiet <= 0 {
		o.Quiet = 20 * time.Minute
	}
	if o.Grace <= 0 {
		o.Grace = 30 * time.Second
	}
	if o.Steps <= 0 {
		o.Steps = 5_000
	}
	o.Server.InMemory = true
	return o
}

// Run searches for a schedule of faults that breaks the subject, and fails the test with
// the shortest one, a trace, and the command that runs it again. With the flag
// -explore.schedule it runs that schedule alone.
func Run(t *testing.T, opts Options, subject Subject) {
	t.Helper()
	result := Search(t, opts, subject)
	for _, line := range result.Unsteady {
		t.Logf("explore: the same schedule, run twice, differs: %s", line)
	}
	if result.Finding != nil {
		t.Fatalf("%v", result.Finding)
	}
	t.Logf("explore: survived %d schedules around %d writes", result.Schedules, result.Writes)
}

// String is the finding as [Run] prints it.
func (f *Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "explore: %s: %s\n", f.Rule, f.Reason)
	fmt.Fprintf(&b, "schedule: %s (shrunk; found by schedule %d)\n", f.name(), f.Tried)
	for _, line := range f.Trace {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	fmt.Fprintf(&b, "again: %s", f.again())
	return b.String()
}

// again is the command that runs the schedule again.
func (f *Finding) again() string {
	return fmt.Sprintf("go test -run '^%s$' -explore.schedule='%s'", f.test, f.name())
}

// name is the schedule as the flag takes it.
func (f *Finding) name() string {
	if f.Schedule == "" {
		return noFaults
	}
	return f.Schedule
}

// replicaKey is the key of the replica's name in the context of Start.
type replicaKey struct{}

// Replica names the process that Start runs as: "a1", after a crash "a2"; "b1" is
// another replica. Use it as the identity in leader election, since all replicas have
// the same host name. It is empty for other contexts.
func Replica(ctx context.Context) string {
	name, _ := ctx.Value(replicaKey{}).(string)
	return name
}
