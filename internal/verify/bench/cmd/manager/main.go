// Command manager measures a controller-runtime manager with its own cache and with that of
// informer/controllerruntime: 20 kinds, built-in ones and custom resources, typed and
// unstructured; 50,000 objects; 20 controllers, which read from the cache; and a stream of
// changes.
//
//	go -C internal/verify/bench run ./cmd/manager
//	go -C internal/verify/bench run ./cmd/manager -objects 5000 -changes 1000 -runs 1    # to try it
//
//	manager ──┬── starts ──▶ the embedded API server, with the objects
//	          ├── starts ──▶ a manager with controller-runtime's cache ─┐ by turns, each
//	          └── starts ──▶ a manager with ours                        ┘ in a process of its own
//
// The processor time is that of the process of the manager, from its beginning: reading
// everything, a reconcile of each object, then the changes and their reconciles. The heap
// is what is alive when it is idle, after the first reconciles and after the changes.
//
// The garbage collector of Go runs when the heap has doubled (GOGC=100), so a smaller heap
// is collected more often: what is saved in memory is not saved in its work. The third
// column is our cache with GOGC=200, which spends a part of the memory on that.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"

	"github.com/informerkit/informerkit/internal/verify/measure"
)

// Options are passed on to the processes.
type Options struct {
	Objects int
	Changes int
	Rate    int
	Runs    int
	Strip   bool
}

// Assignment is what a manager is to do.
type Assignment struct {
	Options
	Side string
	URL  string
}

func main() {
	var o Options
	role := flag.String("role", "", "for the processes that this one starts")
	flag.IntVar(&o.Objects, "objects", 50_000, "number of objects")
	flag.IntVar(&o.Changes, "changes", 20_000, "number of changes")
	flag.IntVar(&o.Rate, "rate", 500, "changes per second")
	flag.IntVar(&o.Runs, "runs", 3, "runs of each side")
	flag.BoolVar(&o.Strip, "strip", false, "with cache.TransformStripManagedFields on both sides")
	flag.Parse()
	var err error
	switch *role {
	case "":
		err = compare(context.Background(), o)
	case "server":
		err = measure.Serve(&server{}, os.Stdin, os.Stdout, nil)
	default:
		err = measure.Serve(&managed{}, os.Stdin, os.Stdout, nil)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

// Result is what a manager measures of itself.
type Result struct {
	Sync       float64 // seconds until all caches are synced
	SyncCPU    float64 // seconds of the processor, until each object was reconciled
	ChangesCPU float64 // and from there to the end of the changes
	Heap       float64 // MiB
	HeapAfter  float64 // MiB, after the changes
	Resident   float64 // MiB, the most at any time
	Reconciles float64
}

// The sides, of which relaxed is ours with half as many garbage collections.
const (
	theirs  = "theirs"
	ours    = "ours"
	relaxed = "ours, GOGC=200"
)

// figures are the rows of the table. A target of 0 is none.
var figures = []struct {
	name   string
	target float64
	value  func(Result) float64
}{
	{"live heap, MiB", 0.6, func(r Result) float64 { return r.Heap }},
	{"live heap after the changes, MiB", 0.6, func(r Result) float64 { return r.HeapAfter }},
	{"most resident memory, MiB", 0, func(r Result) float64 { return r.Resident }},
	{"processor time, s", 0.7, func(r Result) float64 { return r.SyncCPU + r.ChangesCPU }},
	{"  of it: sync and first reconciles", 0, func(r Result) float64 { return r.SyncCPU }},
	{"  of it: changes", 0, func(r Result) float64 { return r.ChangesCPU }},
	{"time to sync, s", 0, func(r Result) float64 { return r.Sync }},
	{"reconciles", 0, func(r Result) float64 { return r.Reconciles }},
}

// compare runs both sides by turns and prints the medians.
func compare(ctx context.Context, o Options) error {
	server, err := begin("server")
	if err != nil {
		return err
	}
	defer func() { _ = server.End() }() // its own error was printed by itself
	url, err := measure.Call[string](ctx, server, "Begin", o)
	if err != nil {
		return err
	}
	results := map[string][]Result{}
	for i := range o.Runs {
		for _, side := range []string{theirs, ours, relaxed} {
			fmt.Fprintf(os.Stderr, "run %d of %d: %s\n", i+1, o.Runs, side)
			r, err := run(ctx, server, Assignment{o, side, url})
			if err != nil {
				return fmt.Errorf("%s: %w", side, err)
			}
			results[side] = append(results[side], r)
		}
	}
	print(o, results)
	return nil
}

// run measures a manager, from its start to the end of the changes.
func run(ctx context.Context, server *measure.Process, a Assignment) (r Result, err error) {
	manager, err := begin(a.Side)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, manager.End()) }()
	if _, err := measure.Call[measure.None](ctx, manager, "Begin", a); err != nil {
		return r, err
	}
	if _, err := measure.Call[measure.None](ctx, server, "Change", measure.None(true)); err != nil {
		return r, err
	}
	return measure.Call[Result](ctx, manager, "End", measure.None(true))
}

// begin starts this program in another role.
func begin(role string) (*measure.Process, error) {
	cmd, err := measure.Self("-role", role)
	if err != nil {
		return nil, err
	}
	if role == relaxed {
		cmd.Env = append(os.Environ(), "GOGC=200")
	}
	return measure.Start(cmd)
}

// print writes the table. A ratio is the median of those of the runs.
func print(o Options, results map[string][]Result) {
	fmt.Printf("%d objects of %d kinds, %d controllers, %d changes at %d/s; %s, %d cores\n\n",
		o.Objects, len(kinds), len(kinds), o.Changes, o.Rate, runtime.Version(), runtime.GOMAXPROCS(0))
	t := measure.Table{Header: []string{"", "its own cache", "ours", "ratio", "target", "with GOGC=200", "ratio"}}
	for _, f := range figures {
		its, _ := summary(results[theirs], results[theirs], f.value)
		own, ratio := summary(results[theirs], results[ours], f.value)
		other, otherRatio := summary(results[theirs], results[relaxed], f.value)
		target := ""
		if f.target > 0 {
			target = fmt.Sprintf("≤ %.2f", f.target)
		}
		t.Add(f.name, fmt.Sprintf("%.1f", its), fmt.Sprintf("%.1f", own), fmt.Sprintf("%.2f", ratio), target,
			fmt.Sprintf("%.1f", other), fmt.Sprintf("%.2f", otherRatio))
	}
	t.WriteText(os.Stdout)
}

// summary returns the median of a side, and that of its ratios to the other one.
func summary(theirs, ours []Result, value func(Result) float64) (figure, ratio float64) {
	all := measure.Column(ours, value)
	return measure.Median(all), measure.Median(measure.Quotients(all, measure.Column(theirs, value)))
}
