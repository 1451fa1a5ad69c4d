// Command sharding measures what replicas that share a collection with informer/sharding
// cost: the API server, the replicas, and each change of their number.
//
//	go -C internal/verify/bench run ./cmd/sharding                                       # a table
//	go -C internal/verify/bench run ./cmd/sharding -update                               # and the page
//	go -C internal/verify/bench run ./cmd/sharding -objects 5000 -owned 500 -seconds 2   # to try it
//
// Two cores take some four minutes for all of it. The page is informer/sharding/SCALE.md,
// whose figures are those of results/sharding.json.
//
//	sharding ──┬── starts ──▶ the embedded API server, with the objects, which changes them
//	           └── runs all replicas in its own process, each with a connection that is counted
//
// The server is in a process of its own, so that its processor time and heap are not those
// of the replicas. A replica that is killed sends nothing more from that moment.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/informerkit/informerkit/internal/verify/bench/shards"
	"github.com/informerkit/informerkit/internal/verify/measure"
)

// The places of what -update writes, seen from internal/verify/bench.
const (
	results  = "results/sharding.json"
	document = "../../../informer/sharding/SCALE.md"
)

// options are those of a run.
type options struct {
	objects  int
	replicas int
	parts    int
	rate     int
	seconds  int
	lease    time.Duration
	gate     string
	owned    int
	json     bool
	update   bool
	from     string
}

func main() {
	var o options
	server := flag.Bool("server", false, "for the process that this one starts")
	flag.IntVar(&o.objects, "objects", 100_000, "number of objects that the replicas share")
	flag.IntVar(&o.replicas, "replicas", 8, "number of replicas")
	flag.IntVar(&o.parts, "parts", 64, "number of parts")
	flag.IntVar(&o.rate, "rate", 200, "changes per second")
	flag.IntVar(&o.seconds, "seconds", 10, "length of the phase with a steady rate, and of the scenarios")
	flag.DurationVar(&o.lease, "lease", 15*time.Second, "LeaseDuration")
	flag.StringVar(&o.gate, "gate", "both", "ShardedListAndWatch of the server: on, off or both")
	flag.IntVar(&o.owned, "owned", 20_000, "number of owners for the ways to read what they own; 0 leaves it out")
	flag.BoolVar(&o.json, "json", false, "print JSON instead of a table")
	flag.BoolVar(&o.update, "update", false, "write "+results+" and the page; needs the working directory internal/verify/bench")
	flag.StringVar(&o.from, "from", "", "a file of -json to print, instead of measuring")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := o.check()
	switch {
	case err != nil:
	case *server:
		err = measure.Serve(&backend{}, os.Stdin, os.Stdout, nil)
	default:
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sharding:", err)
		os.Exit(1) //nolint:gocritic // nothing is left that the deferred call would stop
	}
}

// check refuses options that measure nothing.
func (o *options) check() error {
	switch {
	case flag.NArg() > 0:
		return fmt.Errorf("unexpected argument %q; there are only flags", flag.Arg(0))
	case o.objects < 1 || o.replicas < 2 || o.parts < o.replicas || o.rate < 1 || o.seconds < 1 || o.owned < 0:
		return errors.New("use at least 1 object, 2 replicas, as many parts as replicas, 1 change per second and 1 second")
	case o.gate != "on" && o.gate != "off" && o.gate != "both":
		return fmt.Errorf("-gate is %q; use on, off or both", o.gate)
	case o.update && o.gate != "both" && o.from == "":
		return errors.New("-update needs -gate both: the page compares the two")
	}
	return nil
}

// filters says whether the server filters, in the order of the runs.
func (o *options) filters() []bool {
	return map[string][]bool{"on": {true}, "off": {false}, "both": {true, false}}[o.gate]
}

// run measures, or reads what was measured, and writes it.
func run(ctx context.Context, o options) error {
	var r shards.Result
	var err error
	if o.from != "" {
		r, err = shards.Read(o.from)
	} else {
		r, err = measureAll(ctx, o)
	}
	if err != nil {
		return err
	}
	if o.update {
		if err := shards.Write(r, results, document); err != nil {
			return err
		}
	}
	if !o.json {
		_, err := io.WriteString(os.Stdout, r.Text())
		return err
	}
	return measure.WriteJSON(os.Stdout, r)
}

// measureAll takes all measurements.
func measureAll(ctx context.Context, o options) (shards.Result, error) {
	r := shards.NewResult()
	r.Lease = o.lease
	for _, filter := range o.filters() {
		progress("%d replicas, filter of the server: %v", o.replicas, filter)
		one, err := scale(ctx, o, filter)
		if err != nil {
			return r, err
		}
		r.Runs = append(r.Runs, one)
	}
	for _, s := range scenarios {
		progress("scenario %s", s.name)
		one, err := play(ctx, o, s)
		if err != nil {
			return r, fmt.Errorf("scenario %s: %w", s.name, err)
		}
		r.Scenarios = append(r.Scenarios, one)
	}
	if o.owned > 0 {
		progress("owners and what they own")
		all, err := owned(ctx, o)
		if err != nil {
			return r, err
		}
		r.Owned = all
	}
	return r, nil
}

// began is when the program did.
var began = time.Now()

// progress says on the standard error what is measured now.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%6.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
}
