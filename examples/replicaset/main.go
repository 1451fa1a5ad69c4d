// Command replicaset keeps the wanted number of pods running that match a
// selector: what the controller of apps/v1 ReplicaSets does, in small.
//
//	go run ./examples/replicaset                    an embedded API server and a short demo
//	go run ./examples/replicaset -once              the same, ends by itself
//	go run ./examples/replicaset -kubeconfig FILE   on a cluster
//
// On a cluster it serves the kind that api/crd.yaml defines, and nothing else.
package main

import (
	"context"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/exampleapp"
	"github.com/informerkit/informerkit/examples/replicaset/api"
	"github.com/informerkit/informerkit/examples/replicaset/controller"
	"github.com/informerkit/informerkit/examples/replicaset/script"
	"github.com/informerkit/informerkit/informer/inspect"
)

func main() {
	exampleapp.Main(app)
}

var app = exampleapp.App{
	Name: "replicaset", About: "A ReplicaSet controller: keeps the wanted number of pods running.", Takes: exampleapp.TakesAll, Run: run,
	Try: []string{
		"apply -f examples/replicaset/replicaset.yaml",
		"get pods",
		`patch replicasets.examples.informerkit.dev web --type merge -p '{"spec":{"replicas":5}}'`,
		"delete replicasets.examples.informerkit.dev web",
	},
}

func run(ctx context.Context, env *exampleapp.Env) error {
	if !env.Embedded() {
		return serve(ctx, env)
	}
	if err := demo.Install(ctx, env.Config, api.CRD); err != nil {
		return err
	}
	s := script.New(env.Config, script.Options{Namespace: env.Namespace, Transcript: env.Transcript, History: env.History})
	if err := env.Inspect(inspect.Factory(s.Controller), inspect.Queue(s.Controller)); err != nil {
		return err
	}
	return env.Beside(ctx, s.Play, s.Cluster, s.Controller.Run)
}

// serve runs the controller on a cluster, where the sets are the user's.
func serve(ctx context.Context, env *exampleapp.Env) error {
	c := controller.New(env.Config, controller.Options{
		Namespace: env.Namespace, Workers: env.Workers, Log: env.Log, History: env.History,
	})
	if err := env.Show(c, inspect.Factory(c), inspect.Queue(c)); err != nil {
		return err
	}
	env.Log.Info("serving replicasets.examples.informerkit.dev (the kind is defined in examples/replicaset/api/crd.yaml)",
		"server", env.Config.Host, "workers", env.Workers)
	return c.Run(ctx)
}
