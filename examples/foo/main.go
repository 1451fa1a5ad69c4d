// Command foo is the sample controller: for each Foo, an object of its own kind,
// it keeps a Deployment. On a cluster apply crd.yaml first.
package main

import (
	"context"
	_ "embed"

	"github.com/informerkit/informerkit/examples/exampleapp"
	"github.com/informerkit/informerkit/examples/foo/controller"
)

//go:embed crd.yaml
var crd []byte

func main() { exampleapp.Main(app) }

var app = exampleapp.App{Name: "foo", About: "The sample controller: keeps a Deployment for each Foo.", Takes: exampleapp.TakesAll, Run: run}

func run(ctx context.Context, env *exampleapp.Env) error {
	if env.Embedded() {
		return play(ctx, env)
	}
	c, err := controller.New(env.Config, controller.Options{Namespace: env.Namespace, Log: env.Log, History: env.History})
	if err != nil {
		return err
	}
	if err := env.Inspect(c.Parts()...); err != nil {
		return err
	}
	if err := env.ReadyWhen(c.Readiness()); err != nil {
		return err
	}
	env.Log.Info("serving foos.samplecontroller.k8s.io (the kind is defined in examples/foo/crd.yaml)", "server", env.Config.Host)
	return c.Run(ctx, env.Workers)
}
