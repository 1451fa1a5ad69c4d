// Command replicaset keeps the wanted number of pods running that match a
// selector: what the controller of apps/v1 ReplicaSets does, in small.
//
// On a cluster it serves the kind that api/crd.yaml defines, and nothing else.
package main

import (
	"context"

	"github.com/informerkit/informerkit/examples/exampleapp"
	"github.com/informerkit/informerkit/examples/replicaset/controller"
	"github.com/informerkit/informerkit/examples/replicaset/script"
	"github.com/informerkit/informerkit/informer/inspect"
)

func main() { exampleapp.Main(app) }

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
	if env.Embedded() {
		return script.Play(ctx, env)
	}
	c := controller.New(env.Controller(env.Config))
	if err := env.Show(c, inspect.Factory(c), inspect.Queue(c)); err != nil {
		return err
	}
	env.Log.Info("serving replicasets.examples.informerkit.dev (the kind is defined in examples/replicaset/api/crd.yaml)",
		"server", env.Config.Host, "workers", env.Workers)
	return c.Run(ctx)
}
