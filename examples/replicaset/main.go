// Command replicaset keeps the wanted number of pods running that match a
// selector: the controller that everybody writes first.
//
//	go run ./examples/replicaset                    an embedded API server and a short story
//	go run ./examples/replicaset -once              the same, ends by itself
//	go run ./examples/replicaset -kubeconfig FILE   on a cluster
//
// On a cluster it serves the kind that api/crd.yaml defines, and nothing else.
package main

import (
	"context"
	"fmt"

	"github.com/informerkit/informerkit/examples/internal/exampleapp"
	"github.com/informerkit/informerkit/examples/replicaset/controller"
	"github.com/informerkit/informerkit/examples/replicaset/scenario"
	"github.com/informerkit/informerkit/informer/informertest"
)

func main() {
	exampleapp.Main("replicaset", "A ReplicaSet controller: keeps the wanted number of pods running.", run)
}

func run(ctx context.Context, env *exampleapp.Env) error {
	if !env.Embedded() {
		return serve(ctx, env)
	}
	server, err := informertest.NewServer(informertest.Options{})
	if err != nil {
		return err
	}
	defer server.Close()

	story := exampleapp.NewStory(env.Out)
	story.Say("server", "an embedded API server listens on %s", server.Config().Host)
	if err := scenario.Install(ctx, server.Config()); err != nil {
		return err
	}
	err = scenario.Play(ctx, server.Config(), scenario.Options{
		Namespace: env.Namespace, Say: story.Say, Log: env.Log, Stay: !env.Once,
	})
	if err == nil && env.Once {
		story.Say("story", "the end: every step converged")
	}
	return err
}

// serve runs the controller on a cluster, where the sets are the user's.
func serve(ctx context.Context, env *exampleapp.Env) error {
	c, err := controller.New(env.Config, controller.Options{
		Namespace: env.Namespace, Log: env.Log,
		Trace: func(step controller.Step) {
			env.Log.Info(fmt.Sprintf("%s pod", step.Action), "set", step.Set, "pod", step.Pod)
		},
	})
	if err != nil {
		return err
	}
	env.Log.Info("serving replicasets.examples.informerkit.dev (the kind is defined in examples/replicaset/api/crd.yaml)",
		"server", env.Config.Host, "workers", env.Workers)
	return c.Run(ctx, env.Workers)
}
