// Command reconcile measures a controller on this library and the same controller on
// client-go side by side, on a real kube-apiserver that it builds, starts and stops,
// and prints one table:
//
//	go -C internal/verify/e2e run ./cmd/reconcile
//	go -C internal/verify/e2e run ./cmd/reconcile -rounds 9 -only latency
//	go -C internal/verify/e2e run ./cmd/reconcile -markdown
//	go -C internal/verify/e2e run ./cmd/reconcile -only throughput -profile DIR
//
// It takes two to three minutes on two cores, and some more the first time, when the
// programs are built. See package reconcile for what is measured, how, and how far the
// API server, rather than either side, accounts for it.
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
	"syscall"

	"github.com/informerkit/informerkit/internal/verify/e2e/controlplane"
	"github.com/informerkit/informerkit/internal/verify/e2e/reconcile"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	settings := reconcile.Defaults
	flags := flag.NewFlagSet("reconcile", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "print JSON, with the figures of every round")
	markdown := flags.Bool("markdown", false, "print the table in Markdown")
	flags.IntVar(&settings.Rounds, "rounds", settings.Rounds, "runs of each side")
	flags.IntVar(&settings.Workers, "workers", settings.Workers, "workers of each controller")
	only := flags.String("only", "", "measure only the latency, the throughput or the restart")
	profiles := flags.String("profile", "", "a directory for CPU and heap profiles, which have the allocations, too, of each process during throughput")
	child := flags.Bool("child", false, "run a controller under the orders of a parent (internal)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case *child:
		return reconcile.Serve(in, out)
	}
	report, err := measure(ctx, reconcile.Config{Settings: settings, Only: *only, Profiles: *profiles})
	switch {
	case err != nil:
		return err
	case *asJSON:
		return report.WriteJSON(out)
	case *markdown:
		report.WriteMarkdown(out)
	default:
		report.WriteTable(out)
	}
	return nil
}

// measure runs a control plane for as long as it measures.
func measure(ctx context.Context, cfg reconcile.Config) (_ *reconcile.Report, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cp, err := controlplane.Start(ctx, controlplane.Options{Progress: os.Stderr})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cp.Stop()) }()
	if cfg.Kubeconfig, err = cp.Kubeconfig(); err != nil {
		return nil, err
	}
	cfg.Server, cfg.Progress = cp.Config(), os.Stderr
	cfg.Command = func() *exec.Cmd { return exec.Command(self, "-child") }
	return reconcile.Measure(ctx, cfg)
}
