// Package exampleapp is what the examples have in common: their flags, where
// their API server comes from, their log, and how they end.
//
// An example runs in one of these ways:
//
//	go run ./examples/NAME                    on an embedded API server, with a scripted demo
//	go run ./examples/NAME -once              the same, and ends by itself
//	go run ./examples/NAME -cluster           on the cluster that kubectl would use
//	go run ./examples/NAME -kubeconfig FILE   on the cluster of that file
//	go run ./examples/NAME -in-cluster        within a pod, with its service account
//
// Without one of the last three nothing outside of the process is touched,
// whatever KUBECONFIG says: an example that writes must not do so by accident.
package exampleapp

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/workqueue/history"
)

// Exit statuses.
const (
	exitOK    = 0
	exitError = 1 // the example ran and failed
	exitUsage = 2 // wrong flags, or a kubeconfig or an address that cannot be used
)

// App describes an example.
type App struct {
	// Name is that of its folder, and About one sentence for -h.
	Name, About string
	// Offline is an example that needs no API server.
	Offline bool
	// OnceOnCluster permits -once also on a cluster: the example does its steps
	// there and removes what it has made. Others play their demo on the embedded
	// server alone, since it would be in the way of what users do.
	OnceOnCluster bool
	// Takes has the flags that only some examples have.
	Takes Flags
	// Try are arguments of kubectl for the user to try when the demo has ended.
	Try []string
	// AddFlags, if set, adds the flags that only this example has.
	AddFlags func(flags *flag.FlagSet)
	// Run is the example. It returns when ctx ends.
	Run func(ctx context.Context, env *Env) error
}

// Flags are flags that an example has only if it heeds them.
type Flags uint

// The flags. A controller takes all.
const (
	TakesNamespace Flags = 1 << iota // -namespace: it stays within one namespace
	TakesWorkers                     // -workers: it reconciles
	TakesInspect                     // -inspect: it has informers or queues to show; see Env.Inspect
	TakesHealth                      // -health: it runs for long; see Env.Show
	TakesAll       = TakesNamespace | TakesWorkers | TakesInspect | TakesHealth
)

// Env is what a running example gets.
type Env struct {
	// Config reaches the API server: that of the cluster, or the embedded one.
	Config *rest.Config
	// Server is the embedded API server, for what only that can be asked for; nil on a cluster.
	Server    *informertest.Server
	Once      bool         // end by itself
	Namespace string       // the one to stay within; empty means all
	Workers   int          // how many items are reconciled at a time
	Log       *slog.Logger // on standard error
	// In is standard input, and Out standard output, for what the example prints.
	In  io.Reader
	Out io.Writer
	// Transcript prints to Out what happens, with times and in causal order.
	Transcript *demo.Transcript
	// History is for the informers and queues of the example: the page tells the story of
	// a key from it. It is nil if no page is served.
	History *history.Recorder

	pages    pages
	steps    int
	try      []string // of the App
	embedded bool
}

// Embedded reports whether the example runs on the embedded API server.
func (e *Env) Embedded() bool { return e.embedded }

// Main runs an example and exits. SIGINT and SIGTERM end the context that Run
// gets; a second signal ends the process at once, with the status that a shell
// reports for a process that the signal has killed.
func Main(app App) {
	ctx, cancel := context.WithCancel(context.Background())
	// Both signals are received here. To restore the default effect after the first
	// one would lose a second that comes before that.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		status := exitError
		if n, ok := (<-signals).(syscall.Signal); ok {
			status = 128 + int(n)
		}
		os.Exit(status)
	}()
	os.Exit(app.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Main is the function Main without the process: it returns the exit status.
func (app App) Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	fail := func(status int, err error) int {
		_, _ = fmt.Fprintf(stderr, "%s: %v\n", app.Name, strings.Join(strings.Fields(err.Error()), " "))
		return status
	}
	env, err := app.parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return fail(exitUsage, err)
	}
	env.In, env.Out, env.Transcript = stdin, stdout, demo.NewTranscript(stdout)
	stop, err := env.serve()
	if err != nil {
		return fail(exitUsage, err)
	}
	defer stop()
	closeServer, err := env.start(app.Offline)
	if err != nil {
		return fail(exitError, err)
	}
	defer closeServer()
	err = app.Run(ctx, env)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = nil // asked to stop, and did: that is how an example on a cluster ends
		if env.Once {
			err = errors.New("interrupted before it was complete")
		}
	}
	var unsynced *informer.NotSyncedError
	if errors.As(err, &unsynced) && unsynced.Cause != nil {
		err = unsynced.Cause // which is also the reason of each informer that is not synced
	}
	if err != nil {
		return fail(exitError, err)
	}
	return exitOK
}

func (app App) parse(args []string, stderr io.Writer) (*Env, error) {
	env := &Env{try: app.Try}
	flags := flag.NewFlagSet(app.Name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // errors are returned and printed once, by Main
	var where Where
	where.AddFlags(flags)
	flags.BoolVar(&env.Once, "once", false, "end by itself: status 0 if everything went as it should, 1 if not")
	env.Workers = 4
	if app.Takes&TakesNamespace != 0 {
		flags.StringVar(&env.Namespace, "namespace", "", "stay within this `namespace` (default all)")
	}
	if app.Takes&TakesWorkers != 0 {
		flags.IntVar(&env.Workers, "workers", env.Workers, "reconcile this many objects at a time")
	}
	if app.Takes&TakesInspect != 0 {
		flags.StringVar(&env.pages.inspectAt, "inspect", "", "show informers and queues at this `address`; \"off\" does not. Without the flag it is\n"+inspectAt+", or another port if that is taken, and off with -once")
	}
	if app.Takes&TakesHealth != 0 {
		flags.StringVar(&env.pages.healthAt, "health", "", "serve /healthz and /readyz at this `address`, such as :8081")
	}
	if app.AddFlags != nil {
		app.AddFlags(flags)
	}
	verbose := flags.Bool("v", false, "log every step")

	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			app.usage(flags, stderr)
			return nil, err
		}
		return nil, fmt.Errorf("%w (-h lists the flags)", err)
	}
	switch {
	case env.pages.inspectAt == "off":
		env.pages.inspectAt = ""
	case env.pages.inspectAt == "" && app.Takes&TakesInspect != 0 && !env.Once:
		env.pages.inspectAt, env.pages.anyPort = inspectAt, true
	}
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q (-h lists the flags)", flags.Arg(0))
	case env.Once && !where.Embedded() && !app.OnceOnCluster:
		return nil, errors.New("-once plays the demo, which runs on the embedded API server only; leave out -cluster, -kubeconfig and -in-cluster")
	case env.Workers < 1:
		return nil, fmt.Errorf("-workers %d: at least 1 is needed", env.Workers)
	}
	level := slog.LevelInfo
	switch {
	case *verbose:
		level = slog.LevelDebug
	case where.Embedded():
		level = slog.LevelWarn // the demo says what happens
	}
	env.Log = newLog(stderr, level)
	env.embedded = where.Embedded()
	var err error
	if env.Config, err = where.Config(); err != nil || env.embedded {
		return env, err
	}
	env.Config.UserAgent = "informerkit-example-" + app.Name
	// The API server limits its clients fairly by itself; client-go's default
	// of 5 requests a second would make an example look slow.
	env.Config.QPS = -1
	return env, nil
}

// newLog returns a log of short lines: these go to a terminal, beside the transcript.
func newLog(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			a.Value = slog.StringValue(a.Value.Time().Format("15:04:05.000"))
		}
		return a
	}}))
}

func (app App) usage(flags *flag.FlagSet, w io.Writer) {
	_, _ = fmt.Fprintf(w, "%s\n\nUsage: go run ./examples/%s [flags]\nWithout flags it starts an embedded API server and plays a demo.\n\n", app.About, app.Name)
	flags.SetOutput(w)
	flags.PrintDefaults()
}
