// Command sharding runs a controller whose replicas share the work: each has a part of the
// Foos in its cache, and works on these. On a cluster apply crd.yaml first.
package main

import (
	"context"
	_ "embed"
	"flag"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/exampleapp"
	"github.com/informerkit/informerkit/examples/sharding/controller"
	"github.com/informerkit/informerkit/examples/sharding/scenario"
)

// The kind is that of the example foo.
//
//go:embed crd.yaml
var crd []byte

func main() { exampleapp.Main(app()) }

func app() exampleapp.App {
	r := &replica{}
	return exampleapp.App{
		Name: "sharding", About: "A controller whose replicas share the Foos.",
		Takes: exampleapp.TakesWorkers | exampleapp.TakesInspect | exampleapp.TakesHealth, AddFlags: r.add,
		Try: []string{"get leases"}, Run: r.run,
	}
}

// replica is one replica, as its flags want it.
type replica struct {
	controller.Options
	untilEOF bool
}

func (r *replica) add(flags *flag.FlagSet) {
	flags.StringVar(&r.Identity, "identity", "", "what the replica is called in Leases (default the name of the host, and the process number)")
	flags.StringVar(&r.LeaseNamespace, "lease-namespace", "default", "the `namespace` of the Leases")
	flags.DurationVar(&r.LeaseDuration, "lease-duration", 15*time.Second, "after how long the parts of a replica that has crashed are taken")
	flags.BoolVar(&r.untilEOF, "until-eof", false, "end at the end of standard input, and so with the program that has started this one")
}

// run is one replica, or the demo.
func (r *replica) run(ctx context.Context, env *exampleapp.Env) (err error) {
	if env.Embedded() {
		return play(ctx, env)
	}
	if r.Identity == "" {
		if r.Identity, err = exampleapp.Identity(); err != nil {
			return err
		}
	}
	r.Log, r.History = env.Log, env.History
	r.Say = func(format string, args ...any) { env.Transcript.Say(r.Identity, format, args...) }
	c, err := controller.New(env.Config, r.Options)
	if err != nil {
		return err
	}
	if err := env.Show(c.Readiness(), c.Sources()...); err != nil {
		return err
	}
	if r.untilEOF {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		go func() { // ends with the process: a read cannot be interrupted
			_, _ = io.Copy(io.Discard, env.In)
			cancel()
		}()
	}
	return c.Run(ctx, env.Workers)
}

// play has replicas in processes of their own on the embedded server.
func play(ctx context.Context, env *exampleapp.Env) error {
	if err := demo.Install(ctx, env.Config, crd); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "sharding")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, demo.Kubeconfig(env.Config.Host), 0o600); err != nil {
		return err
	}
	return scenario.Play(ctx, env, scenario.Options{
		Kubeconfig: kubeconfig, Program: program, Namespace: "default", Foos: 3000, Changed: 600, Lease: 3 * time.Second,
		Stderr: io.Discard, // what fails is part of the demo
	})
}
