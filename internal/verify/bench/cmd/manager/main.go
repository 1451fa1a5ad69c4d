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
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

// options are passed on to the processes.
type options struct {
	role    string
	url     string
	control string
	objects int
	changes int
	rate    int
	runs    int
	strip   bool
	profile string
}

func main() {
	var o options
	flag.StringVar(&o.role, "role", "", "for the processes that this one starts")
	flag.StringVar(&o.url, "url", "", "for the processes that this one starts")
	flag.StringVar(&o.control, "control", "", "for the processes that this one starts")
	flag.IntVar(&o.objects, "objects", 50_000, "number of objects")
	flag.IntVar(&o.changes, "changes", 20_000, "number of changes")
	flag.IntVar(&o.rate, "rate", 500, "changes per second")
	flag.IntVar(&o.runs, "runs", 3, "runs of each side")
	flag.BoolVar(&o.strip, "strip", false, "with cache.TransformStripManagedFields on both sides")
	flag.StringVar(&o.profile, "profile", "", "prefix of CPU and heap profiles")
	flag.Parse()
	var err error
	switch o.role {
	case "":
		err = compare(o)
	case "server":
		err = serve(o)
	default:
		err = manage(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

// result is what a manager measures of itself.
type result struct {
	Sync       float64 // seconds until all caches are synced
	SyncCPU    float64 // seconds of the processor, until each object was reconciled
	ChangesCPU float64 // and from there to the end of the changes
	Heap       float64 // MiB
	HeapAfter  float64 // MiB, after the changes
	Resident   float64 // MiB, the most at any time
	Reconciles float64
}

// relaxed is our side with half as many garbage collections.
const relaxed = "ours, GOGC=200"

// figures are the rows of the table. A target of 0 is none.
var figures = []struct {
	name   string
	target float64
	value  func(result) float64
}{
	{"live heap, MiB", 0.6, func(r result) float64 { return r.Heap }},
	{"live heap after the changes, MiB", 0.6, func(r result) float64 { return r.HeapAfter }},
	{"most resident memory, MiB", 0, func(r result) float64 { return r.Resident }},
	{"processor time, s", 0.7, func(r result) float64 { return r.SyncCPU + r.ChangesCPU }},
	{"  of it: sync and first reconciles", 0, func(r result) float64 { return r.SyncCPU }},
	{"  of it: changes", 0, func(r result) float64 { return r.ChangesCPU }},
	{"time to sync, s", 0, func(r result) float64 { return r.Sync }},
	{"reconciles", 0, func(r result) float64 { return r.Reconciles }},
}

// compare runs both sides by turns and prints the medians.
func compare(o options) error {
	server, line, err := begin(o, "server")
	if err != nil {
		return err
	}
	defer func() { _ = server.End() }() // its own error was printed by itself
	var at address
	if err := json.Unmarshal(line, &at); err != nil {
		return err
	}
	o.url, o.control = at.URL, at.Control
	sides := []string{"theirs", "ours", relaxed}
	results := map[string][]result{}
	for run := range o.runs {
		for _, side := range sides {
			fmt.Fprintf(os.Stderr, "run %d of %d: %s\n", run+1, o.runs, side)
			cmd, line, err := begin(o, side)
			if err != nil {
				return err
			}
			var r result
			if err := errors.Join(json.Unmarshal(line, &r), cmd.End()); err != nil {
				return err
			}
			results[side] = append(results[side], r)
		}
	}
	print(o, results)
	return nil
}

// print writes the table. A ratio is the median of those of the runs.
func print(o options, results map[string][]result) {
	host := bench.ThisHost()
	fmt.Printf("%d objects of %d kinds, %d controllers, %d changes at %d/s; %s, %s, %d cores, controller-runtime %s\n\n",
		o.objects, len(kinds), len(kinds), o.changes, o.rate, host.Go, host.CPU, host.Cores, host.Versions["sigs.k8s.io/controller-runtime"])
	t := bench.Table{Header: []string{"", "its own cache", "ours", "ratio", "target", "with GOGC=200", "ratio"}}
	for _, f := range figures {
		theirs, _ := summary(results["theirs"], results["theirs"], f.value)
		ours, ratio := summary(results["theirs"], results["ours"], f.value)
		other, otherRatio := summary(results["theirs"], results[relaxed], f.value)
		target := ""
		if f.target > 0 {
			target = fmt.Sprintf("≤ %.2f", f.target)
		}
		t.Add(f.name, fmt.Sprintf("%.1f", theirs), fmt.Sprintf("%.1f", ours), fmt.Sprintf("%.2f", ratio), target,
			fmt.Sprintf("%.1f", other), fmt.Sprintf("%.2f", otherRatio))
	}
	t.WriteText(os.Stdout)
}

// summary returns the median of a side, and that of its ratios to the other one.
func summary(theirs, ours []result, value func(result) float64) (figure, ratio float64) {
	var all, ratios []float64
	for i, r := range ours {
		all, ratios = append(all, value(r)), append(ratios, value(r)/value(theirs[i]))
	}
	return bench.Median(all), bench.Median(ratios)
}

// begin starts this program in another role and returns the first line that it prints.
func begin(o options, role string) (*bench.Process, []byte, error) {
	var env []string
	if role == relaxed {
		env = []string{"GOGC=200"}
	}
	return bench.Launch(env, "-role", role, "-url", o.url, "-control", o.control,
		"-objects", fmt.Sprint(o.objects), "-changes", fmt.Sprint(o.changes), "-rate", fmt.Sprint(o.rate),
		fmt.Sprintf("-strip=%v", o.strip), "-profile", o.profile)
}
