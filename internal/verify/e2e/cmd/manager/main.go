// Command manager runs Kubernetes' own kube-controller-manager twice on a real API server,
// with client-go's informers and with those of this library, through the same script, and
// prints what differs:
//
//	go -C internal/verify/e2e run ./cmd/manager
//	go -C internal/verify/e2e run ./cmd/manager -pods 2000 -rounds 1
//	go -C internal/verify/e2e run ./cmd/manager -markdown
//
// The first time it builds the programs, which takes minutes. Then a round takes some three
// minutes on two cores. The exit code is 1 if the final states differ. See package manager.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/informerkit/informerkit/internal/verify/e2e/manager"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	opts := manager.Options{Progress: os.Stderr}
	flag.IntVar(&opts.Pods, "pods", 20_000, "pods that are there before")
	flag.IntVar(&opts.Rounds, "rounds", 3, "runs of each side, in turns")
	flag.BoolVar(&opts.Share, "share", true, "let our informers store equal parts of objects once")
	markdown := flag.Bool("markdown", false, "print the table in Markdown")
	flag.Parse()
	report, err := manager.Compare(ctx, opts)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	report.Write(os.Stdout, *markdown)
	if err := report.Same(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
