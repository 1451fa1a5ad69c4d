// Command sharding runs a controller whose replicas share the work: each has a part of the
// Foos in its cache, and works on these. On a cluster apply crd.yaml first.
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

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
		Takes: exampleapp.TakesWorkers | exampleapp.TakesInspect | exampleapp.TakesHealth, InspectOnCluster: true, AddFlags: f.add,
		Run: func(ctx context.Context, env *exampleapp.Env) error {
			if env.Embedded() {
				return play(ctx, env)
			}
			return f.run(ctx, env)
		},
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

// run is one replica.
func (f *replicaFlags) run(ctx context.Context, env *exampleapp.Env) error {
	if f.identity == "" {
		host, err := os.Hostname() // in a pod its name
		if err != nil {
			return err
		}
		// On one machine, the process number distinguishes them.
		f.identity = strings.ToLower(fmt.Sprintf("%s-%d", host, os.Getpid()))
	}
	c, err := controller.New(env.Config, controller.Options{
		Identity: f.identity, LeaseNamespace: f.leaseNamespace, LeaseDuration: f.leaseDuration, Log: env.Log, History: env.History,
		Say: func(format string, args ...any) { env.Transcript.Say(f.identity, format, args...) },
	})
	if err != nil {
		return err
	}
	if err := env.Inspect(c.Sources()...); err != nil {
		return err
	}
	if err := env.ReadyWhen(c.Readiness()); err != nil {
		return err
	}
	if f.untilEOF {
		if url := env.InspectURL(); url != "" { // the log has it, which the demo does not show
			env.Transcript.Say(f.identity, "is shown at %s", url)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		go func() { // ends with the process: a read cannot be interrupted
			_, _ = io.Copy(io.Discard, env.In)
			cancel()
		}()
		err := c.Run(ctx, env.Workers)
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	return c.Run(ctx, env.Workers)
}

// play has replicas in processes of their own on the embedded server.
func play(ctx context.Context, env *exampleapp.Env) error {
	server, err := env.Start()
	if err != nil {
		return err
	}
	defer server.Close()
	if err := demo.Install(ctx, server.Config, crd); err != nil {
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
	if err := writeKubeconfig(kubeconfig, server.Config.Host); err != nil {
		return err
	}
	opts := scenario.Options{
		Config: server.Config, Kubeconfig: kubeconfig, Program: program, Namespace: "default",
		Foos: 3000, Changed: 600, Lease: 3 * time.Second, Workers: env.Workers, Patience: time.Minute, Inspect: !env.Once,
		Transcript: env.Transcript, Stderr: io.Discard, // what fails is part of the demo
	}
	return scenario.Play(ctx, opts, func(ctx context.Context) error {
		if !env.Once {
			env.Transcript.Say("demo", "goes on until you press Ctrl-C; kubectl --server %s get leases", server.Config.Host)
			<-ctx.Done()
		}
		return nil
	})
}

// writeKubeconfig writes a file that leads to the embedded server.
func writeKubeconfig(file, host string) error {
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["embedded"] = &clientcmdapi.Cluster{Server: host}
	cfg.Contexts["embedded"] = &clientcmdapi.Context{Cluster: "embedded"}
	cfg.CurrentContext = "embedded"
	return clientcmd.WriteToFile(*cfg, file)
}
