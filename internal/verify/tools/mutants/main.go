// Command mutants changes one operator of a package at a time and runs the package's own
// tests. A mutant that no test notices has survived: it lived.
//
//	go -C internal/verify/tools run ./mutants [-sample PERCENT] [-seed N] [-short] [-parallel N] [-out DIR] [PACKAGE...]
//
// PACKAGE is a folder below the root of the repository, for example indexer/internal/pmap.
//
// The test binary is built once, with all mutants in it, from a copy of the files that are
// changed: an environment variable selects the active mutant. Each test runs once without
// a mutant, alone, to record which mutants it reaches and how long it takes. A mutant then
// runs only the tests that reach it, the quick ones first, until one fails.
//
// -sample takes about PERCENT of the lines of code. The choice depends on the seed, the
// file and the text of a line: other lines stay in the sample when one changes, and a
// larger sample contains a smaller one. The exit code is 0 whatever survives.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// all are the packages that are tested unless others are named.
var all = []string{"indexer/internal/pmap", "informer/internal/eventlog", "deltafifo", "indexer", "workqueue", "informer", "reflector"}

// result is what became of a mutant.
type result string

const (
	killed     result = "killed"
	lived      result = "lived"
	timedOut   result = "timed out"
	notCovered result = "not covered"
	notViable  result = "not viable"
)

type options struct {
	root     string
	sample   float64
	seed     int64
	short    bool
	parallel int
	// least is the shortest time limit of a mutant.
	least time.Duration
}

func main() {
	o := options{least: 10 * time.Second}
	flag.StringVar(&o.root, "root", "../../..", "the root of the repository")
	flag.Float64Var(&o.sample, "sample", 100, "test about this `percentage` of the lines")
	flag.Int64Var(&o.seed, "seed", 1, "selects the lines of a sample")
	flag.BoolVar(&o.short, "short", false, "pass -short to the tests")
	flag.IntVar(&o.parallel, "parallel", 2, "test this many mutants at a time")
	out := flag.String("out", "", "write the result of each mutant to a file in this `folder`")
	flag.Parse()
	packages := flag.Args()
	if len(packages) == 0 {
		packages = all
	}
	if err := run(os.Stdout, o, *out, packages); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run tests the packages, one after the other, and prints a table at the end.
func run(w io.Writer, o options, out string, packages []string) error {
	root, err := filepath.Abs(o.root)
	if err != nil {
		return err
	}
	o.root = root
	table := fmt.Sprintf("\n%-27s %7s %6s %10s %12s %11s %16s %7s %8s\n",
		"package", "killed", "lived", "timed out", "not covered", "not viable", "not expressible", "rate", "seconds")
	for _, name := range packages {
		fmt.Fprintln(w, "mutants", name)
		started := time.Now()
		p, err := test(w, o, filepath.ToSlash(filepath.Clean(name)))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		n := map[result]int{}
		var results strings.Builder
		for _, m := range p.mutants {
			n[m.result]++
			fmt.Fprintf(&results, "%s\t%s\n", m.result, p.describe(m))
		}
		rate := "-"
		if tested := n[killed] + n[lived] + n[timedOut]; tested > 0 {
			rate = fmt.Sprintf("%.1f%%", 100*float64(n[lived])/float64(tested))
		}
		row := fmt.Sprintf("%-27s %7d %6d %10d %12d %11d %16d %7s %8.0f\n", name, n[killed], n[lived], n[timedOut], n[notCovered], n[notViable],
			p.inexpressive, rate, time.Since(started).Seconds())
		table += row
		if out != "" {
			if err := os.MkdirAll(out, 0o755); err != nil {
				return err
			}
			file := filepath.Join(out, strings.ReplaceAll(p.name, "/", "_")+".txt")
			if err := os.WriteFile(file, []byte(results.String()), 0o644); err != nil {
				return err
			}
		}
	}
	_, err = io.WriteString(w, table)
	return err
}
