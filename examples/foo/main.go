// Command foo is the sample controller: for each Foo, an object of its own kind,
// it keeps a Deployment. On a cluster apply crd.yaml first.
package main

import (
	"context"
	_ "embed"

	"github.com/informerkit/informerkit/examples/exampleapp"
	foo "github.com/informerkit/informerkit/examples/foo/controller"
	"github.com/informerkit/informerkit/informer/inspect"
)

//go:embed crd.yaml
var crd []byte

func main() { exampleapp.Main(app) }

var app = exampleapp.App{Name: "foo", About: "The sample controller: keeps a Deployment for each Foo.", Takes: exampleapp.TakesAll, Run: run}

func run(ctx context.Context, env *exampleapp.Env) error {
	if env.Embedded() {
		return play(ctx, env)
	}
	c := foo.New(env.Controller(env.Config))
	if err := env.Show(c, inspect.Factory(c), inspect.Queue(c)); err != nil {
		return err
	}
	env.Log.Info("serving foos.samplecontroller.k8s.io (the kind is defined in examples/foo/crd.yaml)", "server", env.Config.Host)
	return c.Run(ctx)
}
