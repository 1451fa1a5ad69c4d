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

	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/exampleapp"
	"github.com/informerkit/informerkit/examples/replicaset/controller"
	"github.com/informerkit/informerkit/examples/replicaset/script"
)

func main() {
	exampleapp.Main(app)
}

var app = exampleapp.App{Name: "replicaset", About: "A ReplicaSet controller: keeps the wanted number of pods running.", Takes: exampleapp.TakesAll, Run: run}

func run(ctx context.Context, env *exampleapp.Env) error {
	if !env.Embedded() {
		return serve(ctx, env)
	}
	return env.Play(ctx, []string{
		"apply -f examples/replicaset/replicaset.yaml",
		"get pods",
		`patch replicasets.examples.informerkit.dev web --type merge -p '{"spec":{"replicas":5}}'`,
		"delete replicasets.examples.informerkit.dev web",
	}, func(ctx context.Context, cfg *rest.Config, opts script.Options) error {
		if err := script.Install(ctx, cfg); err != nil {
			return err
		}
		return script.Run(ctx, cfg, opts)
	})
}

// serve runs the controller on a cluster, where the sets are the user's.
func serve(ctx context.Context, env *exampleapp.Env) error {
	c, err := controller.New(env.Config, controller.Options{
		Namespace: env.Namespace, Log: env.Log, History: env.History,
		Trace: func(step controller.Step) {
			env.Log.Info("the controller has acted on a pod", "action", step.Action, "object", step.Pod, "owner", step.Set)
		},
	})
	if err != nil {
		return err
	}
	if err := env.Inspect(c.Parts()...); err != nil {
		return err
	}
	env.Log.Info("serving replicasets.examples.informerkit.dev (the kind is defined in examples/replicaset/api/crd.yaml)",
		"server", env.Config.Host, "workers", env.Workers)
	if err := env.ReadyWhen(c.Pods(), c.Sets()); err != nil {
		return err
	}
	return c.Run(ctx, env.Workers)
}
