// Command foo is the sample controller: for each Foo, an object of its own kind,
// it keeps a Deployment. On a cluster apply crd.yaml first.
package main

import (
	"context"
	_ "embed"
	"log/slog"

	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/exampleapp"
	foo "github.com/informerkit/informerkit/examples/foo/controller"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/controller"
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
	c := foo.New(options(env, env.Config, env.Log))
	if err := env.Show(c, inspect.Factory(c), inspect.Queue(c)); err != nil {
		return err
	}
	env.Log.Info("serving foos.samplecontroller.k8s.io (the kind is defined in examples/foo/crd.yaml)", "server", env.Config.Host)
	return c.Run(ctx)
}

// options are those of the controller.
func options(env *exampleapp.Env, cfg *rest.Config, log *slog.Logger) controller.Options {
	return controller.Options{
		Config: cfg, Workers: env.Workers, Logger: log, History: env.History,
		Informers: informer.FactoryOptions{Namespaces: env.Namespaces()},
	}
}
