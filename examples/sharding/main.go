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
	f := &replicaFlags{}
	return exampleapp.App{
		Name: "sharding", About: "A controller whose replicas share the Foos.",
		Takes: exampleapp.TakesWorkers | exampleapp.TakesInspect | exampleapp.TakesHealth, AddFlags: f.add,
		Try: []string{"get leases"}, Run: f.run,
	}
}

// replicaFlags are the flags of one replica.
type replicaFlags struct {
	identity, leaseNamespace string
	leaseDuration            time.Duration
	untilEOF                 bool
}

func (f *replicaFlags) add(flags *flag.FlagSet) {
	flags.StringVar(&f.identity, "identity", "", "what the replica is called in Leases (default the name of the host, and the process number)")
	flags.StringVar(&f.leaseNamespace, "lease-namespace", "default", "the `namespace` of the Leases")
	flags.DurationVar(&f.leaseDuration, "lease-duration", 15*time.Second, "after how long the parts of a replica that has crashed are taken")
	flags.BoolVar(&f.untilEOF, "until-eof", false, "end at the end of standard input, and so with the program that has started this one")
}

// run is one replica, or the demo.
func (f *replicaFlags) run(ctx context.Context, env *exampleapp.Env) (err error) {
	if env.Embedded() {
		return play(ctx, env)
	}
	if f.identity == "" {
		if f.identity, err = exampleapp.Identity(); err != nil {
			return err
		}
	}
	c, err := controller.New(env.Config, controller.Options{
		Identity: f.identity, LeaseNamespace: f.leaseNamespace, LeaseDuration: f.leaseDuration, Log: env.Log, History: env.History,
		Say: func(format string, args ...any) { env.Transcript.Say(f.identity, format, args...) },
	})
	if err != nil {
		return err
	}
	if err := env.Show(c.Readiness(), c.Sources()...); err != nil {
		return err
	}
	if f.untilEOF {
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
