// Command leaderelection runs a controller of which one replica works at a time.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"net/http"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/exampleapp"
	"github.com/informerkit/informerkit/examples/leaderelection/controller"
	"github.com/informerkit/informerkit/informer/inspect"
	"github.com/informerkit/informerkit/informer/leader"
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
	if env.Embedded() {
		return play(ctx, env)
	}
	identity, err := exampleapp.Identity()
	if err != nil {
		return err
	}
	c, err := newReplica(env, env.Config, leader.Options{
		Identity: identity, Namespace: cmp.Or(env.Namespace, metav1.NamespaceDefault), LeaseDuration: leaseDuration,
	})
	if err != nil {
		return err
	}
	return c.Run(ctx)
}

// newReplica returns a replica, which the page shows.
func newReplica(env *exampleapp.Env, cfg *rest.Config, lease leader.Options) (*controller.Controller, error) {
	c := controller.New(env.Controller(cfg), lease, func(format string, args ...any) { env.Transcript.Say(lease.Identity, format, args...) })
	return c, env.Show(c, inspect.Factory(c), inspect.Queue(c))
}

// replica is a replica of the demo, which can be stopped, or cut off.
type replica struct {
	stop  context.CancelFunc
	cut   atomic.Bool
	ended chan error
}

func start(ctx context.Context, env *exampleapp.Env, namespace, name string) (*replica, error) {
	r := &replica{ended: make(chan error, 1)}
	cfg := demo.PrintWrites(env.Config, env.Transcript, name, func(w demo.Write) string {
		if w.Resource == "leases" {
			return ""
		}
		return "handles " + w.Object.Name
	})
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return demo.Transport(func(request *http.Request) (*http.Response, error) {
			if r.cut.Load() {
				return nil, errors.New("the network is down")
			}
			return next.RoundTrip(request)
		})
	})
	c, err := newReplica(env, cfg, leader.Options{Identity: name, Namespace: namespace, LeaseDuration: 3 * time.Second})
	if err != nil {
		return nil, err
	}
	ctx, r.stop = context.WithCancel(ctx)
	go func() { r.ended <- c.Run(ctx) }()
	return r, nil
}

// play has a leader that is stopped, and one that is cut off.
func play(ctx context.Context, env *exampleapp.Env) error {
	transcript := env.Transcript
	you := demo.NewConfigMaps(env.Config, transcript, env.Namespace)
	ours := map[string]string{"examples.informerkit.dev/controller": "leaderelection"}
	replicas := map[string]*replica{}
	defer func() {
		for name, r := range replicas {
			r.stop()
			if err := <-r.ended; err != nil {
				env.Log.Debug("a replica of the demo has ended", "replica", name, "error", err)
			}
		}
	}()
	run := func(name string) demo.Step {
		return func(ctx context.Context) error {
			transcript.Say("you", "start %s", name)
			r, err := start(ctx, env, you.Namespace, name)
			if err == nil {
				replicas[name] = r
			}
			return err
		}
	}
	return env.Beside(ctx, demo.Steps(
		you.Create("one", ours),
		run("replica-a"), transcript.Sees("leads", "handles one"),
		run("replica-b"), transcript.Sees("follows"),
		you.Create("two", ours), transcript.Sees("handles two"),
		transcript.Do("you", "stop replica-a", func() { replicas["replica-a"].stop() }),
		transcript.Sees("releases the Lease", "leads"),
		you.Create("three", ours), transcript.Sees("handles three"),
		run("replica-c"), transcript.Sees("follows"),
		transcript.Do("you", "cut replica-b off from the network", func() { replicas["replica-b"].cut.Store(true) }),
		transcript.Sees("has lost the Lease", "leads"),
		you.Create("four", ours), transcript.Sees("handles four"),
	))
}
