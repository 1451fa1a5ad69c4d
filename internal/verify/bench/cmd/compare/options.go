package main

import (
	"errors"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/informerkit/informerkit/internal/verify/bench"
	"github.com/informerkit/informerkit/internal/verify/bench/rows"
)

// options are the command line.
type options struct {
	quick, scaling, list, json, markdown, cpu bool

	child, serve bool // the processes that this one starts

	from, update, charts, into string

	run     *regexp.Regexp
	rounds  int
	time    time.Duration
	slack   float64
	profile string
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.BoolVar(&o.quick, "quick", false, "only the most significant rows, with fewer and shorter runs")
	flags.BoolVar(&o.scaling, "scaling", false, "instead of the table, the rows that show how costs grow, for -charts")
	flags.BoolVar(&o.list, "list", false, "print what there is to measure, and measure nothing")
	flags.BoolVar(&o.json, "json", false, "print JSON, with every sample")
	flags.BoolVar(&o.markdown, "markdown", false, "print the table in Markdown")
	flags.BoolVar(&o.cpu, "cpu", false, "compare processor time instead of wall-clock time, for a machine that is shared")
	flags.StringVar(&o.from, "from", "", "measure nothing, but print what -json has written into this file")
	flags.StringVar(&o.update, "update", "", "with -from: update the figures in this Markdown document instead of printing them")
	flags.StringVar(&o.charts, "charts", "", "with -from: draw the series, or the summary of the table, into this folder instead of printing them")
	flags.StringVar(&o.into, "into", "", "put what is measured into this file of -json, in place of what it has of the same rows")
	flags.IntVar(&o.rounds, "rounds", 0, "runs of each side (default 9, or 5 with -quick or -scaling)")
	flags.DurationVar(&o.time, "time", 0, "duration of a run (default 200ms, or 100ms with -quick)")
	flags.Float64Var(&o.slack, "slack", 1, "how many times a ratio may be less than its target, for a machine that is busy; memory has 1.25 at most")
	flags.StringVar(&o.profile, "profile", "", "write CPU and heap profiles of each side of each row into this directory")
	flags.BoolVar(&o.child, "child", false, "measure sides of rows for a parent (internal)")
	flags.BoolVar(&o.serve, "serve", false, "serve objects to a child (internal)")
	pattern := flags.String("run", "", "only rows whose name matches this regular expression")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err := o.check(flags); err != nil {
		return o, err
	}
	if o.rounds == 0 {
		o.rounds = pick(o.quick || o.scaling, 5, 9)
	}
	if o.time == 0 {
		o.time = pick(o.quick, 100*time.Millisecond, 200*time.Millisecond)
	}
	var err error
	o.run, err = regexp.Compile(*pattern)
	return o, err
}

// check reports flags that contradict each other.
func (o options) check(flags *flag.FlagSet) error {
	printing := []string{"from", "update", "charts", "json", "markdown"}
	var measuring []string
	flags.Visit(func(f *flag.Flag) {
		if !slices.Contains(printing, f.Name) {
			measuring = append(measuring, "-"+f.Name)
		}
	})
	switch {
	case o.from != "" && len(measuring) > 0:
		return fmt.Errorf("-from prints what has been measured; %s cannot change it", strings.Join(measuring, " "))
	case (o.update != "" || o.charts != "") && o.from == "":
		return errors.New("-update and -charts need -from, the results")
	case o.update != "" && (o.json || o.markdown || o.charts != ""), o.charts != "" && (o.json || o.markdown), o.json && o.markdown:
		return errors.New("there can be only one of -json, -markdown, -update and -charts")
	case o.into != "" && (o.quick || o.cpu || o.slack != 1 || o.json || o.markdown):
		return errors.New("-into keeps results as they are published; it cannot be combined with -quick, -cpu, -slack, -json and -markdown")
	case o.quick && o.scaling:
		return errors.New("-quick and -scaling select different rows; there can be only one")
	case !(o.slack >= 1):
		return fmt.Errorf("-slack is %g; it makes targets easier, and is at least 1", o.slack)
	case o.rounds < 0, o.time < 0:
		return errors.New("-rounds and -time must not be negative")
	}
	return nil
}

func pick[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

// selection returns the rows that were asked for.
func (o options) selection() []bench.Row {
	var selected []bench.Row
	all := rows.All()
	if o.scaling {
		all = rows.Scaling()
	}
	for _, row := range all {
		if (row.Quick || !o.quick) && o.run.MatchString(row.Name()) {
			selected = append(selected, row)
		}
	}
	return selected
}
