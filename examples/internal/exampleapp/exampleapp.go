// Package exampleapp is what the example controllers have in common: their
// flags, where their API server comes from, their log, and how they end.
//
// An example is started in one of three ways:
//
//	go run ./examples/NAME                    on an embedded API server, which plays a scenario
//	go run ./examples/NAME -once              the same, and ends by itself
//	go run ./examples/NAME -kubeconfig FILE   on a cluster, without the scenario (or -in-cluster)
//
// The KUBECONFIG variable is ignored on purpose: an example writes to the
// cluster it is given, so it wants to be given one.
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
	"k8s.io/client-go/tools/clientcmd"
)

// Exit statuses.
const (
	exitOK    = 0
	exitError = 1 // the example ran and failed
	exitUsage = 2 // wrong flags, or a kubeconfig or an address that cannot be used
)

// Env is what a running example gets.
type Env struct {
	// Config reaches the API server of the cluster; nil when the example is to
	// start the embedded one.
	Config *rest.Config
	// Once asks to end when the scenario has been played.
	Once bool
	// Namespace restricts the example to one namespace; empty means all.
	Namespace string
	// Workers is how many items are reconciled at a time.
	Workers int
	// Log is the log, on standard error.
	Log *slog.Logger
	// Out is standard output, for the story.
	Out io.Writer

	inspection *inspection // nil unless it is asked for
}

// Embedded reports whether the example runs on the embedded API server.
func (e *Env) Embedded() bool { return e.Config == nil }

// Main runs an example and exits. SIGINT and SIGTERM end the context that run
// gets; a second signal kills the process at once. about is one sentence for
// the usage text.
func Main(name, about string, run func(ctx context.Context, env *Env) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // from here on a signal has its default effect
	}()
	os.Exit(Run(ctx, name, about, os.Args[1:], os.Stdout, os.Stderr, run))
}

// Run is Main without the process: it returns the exit status.
func Run(ctx context.Context, name, about string, args []string, stdout, stderr io.Writer, run func(ctx context.Context, env *Env) error) int {
	env, err := parse(name, about, args, stdout, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		_, _ = fmt.Fprintf(stderr, "%s: %v\n", name, oneLine(err))
		return exitUsage
	}
	stop, err := env.serveInspection()
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "%s: %v\n", name, oneLine(err))
		return exitUsage
	}
	defer stop()
	err = run(ctx, env)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = nil // asked to stop, and did: that is how an example on a cluster ends
		if env.Once {
			err = errors.New("interrupted before the scenario ended")
		}
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "%s: %v\n", name, oneLine(err))
		return exitError
	}
	return exitOK
}

func parse(name, about string, args []string, stdout, stderr io.Writer) (*Env, error) {
	env := &Env{Out: stdout}
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // errors are returned and printed once, by Run
	kubeconfig := flags.String("kubeconfig", "", "run on the cluster of this kubeconfig `file`, without the scenario")
	inCluster := flags.Bool("in-cluster", false, "run on the cluster this pod is part of, with its service account")
	flags.BoolVar(&env.Once, "once", false, "end when the scenario has been played: status 0 if it converged, 1 if not")
	flags.StringVar(&env.Namespace, "namespace", "", "serve this `namespace` only (default all)")
	flags.IntVar(&env.Workers, "workers", 4, "reconcile this many objects at a time")
	inspect := flags.String("inspect", "", "show the informers and queues at this `address`, such as 127.0.0.1:6060 (port 0: any)")
	verbose := flags.Bool("v", false, "log every step")

	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			usage(flags, name, about, stderr)
			return nil, err
		}
		return nil, fmt.Errorf("%w (-h lists the flags)", err)
	}
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q (-h lists the flags)", flags.Arg(0))
	case *kubeconfig != "" && *inCluster:
		return nil, errors.New("-kubeconfig and -in-cluster name two clusters; give one")
	case env.Once && (*kubeconfig != "" || *inCluster):
		return nil, errors.New("-once plays the scenario, which runs on the embedded API server only; leave out -kubeconfig and -in-cluster")
	case env.Workers < 1:
		return nil, fmt.Errorf("-workers %d: at least 1 is needed", env.Workers)
	}
	level := slog.LevelInfo
	switch {
	case *verbose:
		level = slog.LevelDebug
	case *kubeconfig == "" && !*inCluster:
		level = slog.LevelWarn // the story says what happens
	}
	env.Log = newLog(stderr, level)
	if *inspect != "" {
		env.inspection = &inspection{address: *inspect}
	}

	var err error
	switch {
	case *inCluster:
		if env.Config, err = rest.InClusterConfig(); err != nil {
			return nil, fmt.Errorf("-in-cluster: %w", err)
		}
	case *kubeconfig != "":
		if env.Config, err = load(*kubeconfig); err != nil {
			return nil, fmt.Errorf("-kubeconfig %s: %w", *kubeconfig, err)
		}
	}
	if env.Config != nil {
		env.Config.UserAgent = "informerkit-example-" + name
		// The API server limits its clients fairly by itself; client-go's default
		// of 5 requests a second would make an example look slow.
		env.Config.QPS = -1
	}
	return env, nil
}

func load(file string) (*rest.Config, error) {
	if _, err := os.Stat(file); err != nil {
		var pathErr *os.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		return nil, err
	}
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: file, WarnIfAllMissing: false}, &clientcmd.ConfigOverrides{},
	).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("names no cluster (is it a kubeconfig, and is current-context set?)")
	}
	return cfg, err
}

// newLog returns a log of short lines: these go to a terminal, beside the story.
func newLog(w io.Writer, level slog.Level) *slog.Logger {
	opts := &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			return slog.String(slog.TimeKey, a.Value.Time().Format("15:04:05.000"))
		}
		return a
	}}
	return slog.New(slog.NewTextHandler(w, opts))
}

func usage(flags *flag.FlagSet, name, about string, w io.Writer) {
	_, _ = fmt.Fprintf(w, "%s\n\nUsage: go run ./examples/%s [flags]\nWithout flags it starts an embedded API server and plays a scenario.\n\n", about, name)
	flags.SetOutput(w)
	flags.PrintDefaults()
}

// oneLine folds the lines of an error message into one.
func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}
