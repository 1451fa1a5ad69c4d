// Command leaderelection runs a controller of which one replica works at a time.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/exampleapp"
	"github.com/informerkit/informerkit/examples/leaderelection/controller"
)

func main() { exampleapp.Main(app()) }

func app() exampleapp.App {
	var leaseDuration time.Duration
	return exampleapp.App{
		Name: "leaderelection", About: "A controller of which several replicas run, and one works.",
		Takes: exampleapp.TakesNamespace | exampleapp.TakesInspect | exampleapp.TakesHealth,
		AddFlags: func(flags *flag.FlagSet) {
			flags.DurationVar(&leaseDuration, "lease-duration", 15*time.Second, "after how long a leader that has crashed is succeeded, on a cluster")
		},
		Run: func(ctx context.Context, env *exampleapp.Env) error { return run(ctx, env, leaseDuration) },
	}
}

func run(ctx context.Context, env *exampleapp.Env, leaseDuration time.Duration) error {
	namespace := env.Namespace
	if namespace == "" {
		namespace = "default"
	}
	if env.Embedded() {
		return play(ctx, env, namespace)
	}
	host, err := os.Hostname() // in a pod its name
	if err != nil {
		return err
	}
	// On one machine, the process number distinguishes them.
	identity := strings.ToLower(fmt.Sprintf("%s-%d", host, os.Getpid()))
	c, err := controller.New(env.Config, controller.Options{
		Identity: identity, Namespace: namespace, LeaseDuration: leaseDuration, Log: env.Log, History: env.History,
		Say: func(format string, args ...any) { env.Transcript.Say(identity, format, args...) },
	})
	if err != nil {
		return err
	}
	if err := env.Inspect(c.Parts()...); err != nil {
		return err
	}
	if err := env.ReadyWhen(c.Readiness()); err != nil {
		return err
	}
	return c.Run(ctx)
}

// replica is a replica of the demo, which can be stopped, or cut off.
type replica struct {
	name  string
	stop  context.CancelFunc
	cut   atomic.Bool
	ended chan error
}

func start(ctx context.Context, env *exampleapp.Env, cfg *rest.Config, namespace, name string) (*replica, error) {
	r := &replica{name: name, ended: make(chan error, 1)}
	cfg = demo.PrintWrites(cfg, env.Transcript, name, func(w demo.Write) string {
		if w.Resource == "leases" || w.Resource == "events" {
			return ""
		}
		return "handles " + w.Object.Name
	})
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transport(func(request *http.Request) (*http.Response, error) {
			if r.cut.Load() {
				return nil, errors.New("the network is down")
			}
			return next.RoundTrip(request)
		})
	})
	c, err := controller.New(cfg, controller.Options{
		Identity: name, Namespace: namespace, LeaseDuration: 3 * time.Second, Log: slog.New(slog.DiscardHandler), History: env.History,
		Say: func(format string, args ...any) { env.Transcript.Say(name, format, args...) },
	})
	if err != nil {
		return nil, err
	}
	if err := env.Inspect(c.Parts()...); err != nil {
		return nil, err
	}
	ctx, r.stop = context.WithCancel(ctx)
	go func() { r.ended <- c.Run(ctx) }()
	return r, nil
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// play has a leader that is stopped, and one that is cut off.
func play(ctx context.Context, env *exampleapp.Env, namespace string) error {
	server, err := env.Start()
	if err != nil {
		return err
	}
	defer server.Close()
	transcript := env.Transcript
	you, err := demo.NewConfigMaps(server.Config, transcript, namespace)
	if err != nil {
		return err
	}
	ours := map[string]string{"examples.informerkit.dev/controller": "leaderelection"}
	replicas := map[string]*replica{}
	defer func() {
		for _, r := range replicas {
			r.stop()
			if err := <-r.ended; err != nil {
				env.Log.Debug("a replica of the demo has ended", "replica", r.name, "error", err)
			}
		}
	}()
	run := func(name string) demo.Step {
		return func(ctx context.Context) (err error) {
			transcript.Say("you", "start %s", name)
			replicas[name], err = start(ctx, env, server.Config, namespace, name)
			return err
		}
	}
	return env.Beside(ctx, demo.Steps(
		you.Create("one", ours),
		run("replica-a"), transcript.Sees("leads", "handles one"),
		run("replica-b"), transcript.Sees("follows"),
		you.Create("two", ours), transcript.Sees("handles two"),
		func(context.Context) error {
			transcript.Say("you", "stop replica-a")
			replicas["replica-a"].stop()
			return nil
		},
		transcript.Sees("releases the Lease", "leads"),
		you.Create("three", ours), transcript.Sees("handles three"),
		run("replica-c"), transcript.Sees("follows"),
		func(context.Context) error {
			transcript.Say("you", "cut replica-b off from the network")
			replicas["replica-b"].cut.Store(true)
			return nil
		},
		transcript.Sees("has lost the Lease", "leads"),
		you.Create("four", ours), transcript.Sees("handles four"),
	))
}
