// Command compare measures this library and its peers side by side and prints
// one table. See package bench for how, and package rows for what.
//
//	compare                      # measure everything but -scaling, print a table
//	compare -quick -slack 3      # a gate against regressions, for any machine
//	compare -json > file         # keep the results,
//	compare -from file           # print them later,
//	compare -from file -markdown # in Markdown,
//	compare -from file -update BENCHMARKS.md # or where they stand in a document
//	compare -run REGEXP -into file # measure some rows again, and keep the others
//	compare -scaling -json > file # measure what charts are drawn of,
//	compare -from file -charts charts # and draw them; of the table, the summary on the first page
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
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/informerkit/informerkit/internal/verify/bench"
	"github.com/informerkit/informerkit/internal/verify/bench/rows"
	"github.com/informerkit/informerkit/internal/verify/measure"
)

func main() {
	// What the measured code logs would stand between the rows.
	slog.SetDefault(slog.New(slog.DiscardHandler))
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
	if opts.serve {
		return false, rows.Serve(in, out)
	}
	if opts.child {
		return false, bench.Serve(append(rows.All(), rows.Scaling()...), in, out)
	}
	if opts.from != "" {
		return false, printSaved(opts, out)
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
	var saved bench.Report
	if opts.into != "" {
		// Before an hour is spent on what could not be kept.
		if saved, err = savedLike(opts); err != nil {
			return false, err
		}
	}
	results, err := measureAll(ctx, opts, selected)
	if opts.into != "" && err == nil {
		err = keep(opts, saved, report(opts, results))
	}
	// What was measured before a failure, or an interruption, is worth its time.
	if err := errors.Join(err, write(out, opts, report(opts, results))); err != nil {
		return false, err
	}
	for _, r := range results {
		missed = missed || len(r.Misses) > 0
	}
	return missed, nil
}

// measureAll runs the rows one after the other and prints progress to stderr.
func measureAll(ctx context.Context, opts options, selected []bench.Row) ([]bench.Result, error) {
	runner := bench.Runner{
		Rounds: opts.rounds, Time: opts.time, CPU: opts.cpu, Slack: opts.slack, Profile: opts.profile,
		Command: func() (*exec.Cmd, error) { return measure.Self("-child") },
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

// report returns a report of the results.
func report(opts options, results []bench.Result) bench.Report {
	how := fmt.Sprintf("%s, median of up to %d runs each, alternating; ratio is theirs over ours, more than 1 is better",
		pick(opts.cpu, "processor time", "wall-clock time"), opts.rounds)
	if opts.slack > 1 {
		how += fmt.Sprintf("; with a slack of %g", opts.slack)
	}
	return bench.NewReport(measure.ThisHost(), how, results)
}

// write prints the report in the form that was asked for.
func write(out io.Writer, opts options, rep bench.Report) error {
	switch {
	case opts.json:
		return rep.WriteJSON(out)
	case opts.markdown:
		rep.WriteMarkdown(out)
	default:
		rep.WriteTable(out)
	}
	return nil
}
