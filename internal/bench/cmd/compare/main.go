// Command compare measures this library and its peers side by side and prints
// one table. See package bench for how, and package rows for what.
//
// It exits with status 1 if a row misses its target by more than the noise, and
// with 2 if it could not measure.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/informerkit/informerkit/internal/bench"
	"github.com/informerkit/informerkit/internal/bench/rows"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	missed, err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(2)
	case missed:
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) (missed bool, err error) {
	opts, err := parse(args)
	if err != nil {
		return false, err
	}
	if opts.pods > 0 {
		return false, rows.ServePods(opts.pods, opts.watchList, in, out)
	}
	if opts.child != "" {
		return false, serve(opts, in, out)
	}
	selected := opts.selection()
	if opts.list {
		for _, row := range selected {
			fmt.Fprintf(out, "%s (%s)\n\t%s\n", row.Name(), row.Theirs.Who, row.Does)
		}
		return false, nil
	}
	if len(selected) == 0 {
		return false, errors.New("no row matches; -list shows all")
	}
	results, err := measure(ctx, opts, selected)
	// What was measured before a failure, or an interruption, is worth its time.
	if err := errors.Join(err, write(out, opts, results)); err != nil {
		return false, err
	}
	for _, r := range results {
		missed = missed || len(r.Misses) > 0
	}
	return missed, nil
}

// options are the command line.
type options struct {
	quick, list, json, markdown, cpu bool

	run         *regexp.Regexp
	rounds      int
	time        time.Duration
	profile     string
	child, side string
	pods        int
	watchList   bool
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.BoolVar(&o.quick, "quick", false, "only the most telling rows, with fewer and shorter runs")
	flags.BoolVar(&o.list, "list", false, "print what there is to measure, and measure nothing")
	flags.BoolVar(&o.json, "json", false, "print JSON, with every sample")
	flags.BoolVar(&o.markdown, "markdown", false, "print the table in Markdown")
	flags.BoolVar(&o.cpu, "cpu", false, "compare processor time instead of wall-clock time, for a machine that is shared")
	flags.IntVar(&o.rounds, "rounds", 0, "runs of each side (default 9, or 5 with -quick)")
	flags.DurationVar(&o.time, "time", 0, "duration of a run (default 200ms, or 100ms with -quick)")
	flags.StringVar(&o.profile, "profile", "", "write CPU and heap profiles of each side of each row into this directory")
	flags.StringVar(&o.child, "child", "", "measure one side of this row under the orders of a parent (internal)")
	flags.StringVar(&o.side, "side", "", "which side a child measures: ours or theirs (internal)")
	flags.IntVar(&o.pods, rows.ServeFlag, 0, "serve so many pods to a child (internal)")
	flags.BoolVar(&o.watchList, "watchlist", false, "with -"+rows.ServeFlag+": know WatchList (internal)")
	pattern := flags.String("run", "", "only rows whose name matches this regular expression")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.rounds == 0 {
		o.rounds = pick(o.quick, 5, 9)
	}
	if o.time == 0 {
		o.time = pick(o.quick, 100*time.Millisecond, 200*time.Millisecond)
	}
	var err error
	o.run, err = regexp.Compile(*pattern)
	return o, err
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
	for _, row := range rows.All() {
		if (row.Quick || !o.quick) && o.run.MatchString(row.Name()) {
			selected = append(selected, row)
		}
	}
	return selected
}

// measure runs the rows one after the other and says on stderr where it is.
func measure(ctx context.Context, opts options, selected []bench.Row) ([]bench.Result, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	runner := bench.Runner{Rounds: opts.rounds, Time: opts.time, CPU: opts.cpu}
	runner.Command = func(ctx context.Context, row bench.Row, ours bool) *exec.Cmd {
		args := []string{"-child", row.Name(), "-side", pick(ours, "ours", "theirs")}
		if opts.profile != "" {
			args = append(args, "-profile", opts.profile)
		}
		return exec.CommandContext(ctx, self, args...)
	}
	var results []bench.Result
	start := time.Now()
	for i, row := range selected {
		fmt.Fprintf(os.Stderr, "\r\x1b[K%d of %d, %s: %s", i+1, len(selected), time.Since(start).Round(time.Second), row.Name())
		r, err := runner.Run(ctx, row)
		if err != nil {
			fmt.Fprintln(os.Stderr)
			return results, err
		}
		results = append(results, r)
	}
	fmt.Fprintf(os.Stderr, "\r\x1b[K%d rows in %s\n", len(selected), time.Since(start).Round(time.Second))
	return results, nil
}

// write prints the results in the form that was asked for.
func write(out io.Writer, opts options, results []bench.Result) error {
	host := bench.ThisHost()
	switch {
	case opts.json:
		return bench.WriteJSON(out, host, results)
	case opts.markdown:
		bench.WriteMarkdown(out, results)
	default:
		fmt.Fprintf(out, "%s\n%s, median of up to %d runs each, alternating; ratio is theirs over ours, more than 1 is better\n\n",
			host, pick(opts.cpu, "processor time", "wall-clock time"), opts.rounds)
		bench.WriteTable(out, results)
	}
	return nil
}

// serve is what a child does.
func serve(opts options, in io.Reader, out io.Writer) error {
	for _, row := range rows.All() {
		if row.Name() != opts.child {
			continue
		}
		side := pick(opts.side == "ours", row.Ours, row.Theirs)
		profile := ""
		if opts.profile != "" {
			file := regexp.MustCompile(`[^a-zA-Z0-9]+`).ReplaceAllString(row.Name(), "-")
			profile = filepath.Join(opts.profile, strings.Trim(file, "-")+"."+opts.side)
		}
		return bench.Serve(row, side, in, out, profile)
	}
	return fmt.Errorf("there is no row %q", opts.child)
}
