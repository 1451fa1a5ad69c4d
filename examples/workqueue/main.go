// Command workqueue reports which phase each pod is in, and which pods have been
// pending for too long. It is the classic controller with a work queue, complete.
// It only reads.
//
// On a cluster it looks only at pods with the label
// examples.informerkit.dev/controller=workqueue.
package main

import (
	"context"

	"github.com/informerkit/informerkit/examples/exampleapp"
	"github.com/informerkit/informerkit/examples/workqueue/controller"
	"github.com/informerkit/informerkit/examples/workqueue/script"
)

func main() { exampleapp.Main(app) }

var app = exampleapp.App{
	Name: "workqueue", About: "A controller with a work queue: reports the phases of pods.", Takes: exampleapp.TakesAll, Run: run,
	Try: []string{"get pods", "annotate pod news --overwrite examples.informerkit.dev/patience=5s", "delete pod news"},
}

func run(ctx context.Context, env *exampleapp.Env) error {
	if env.Embedded() {
		return script.Play(ctx, env)
	}
	c, err := controller.New(env.Config, controller.Options{Namespace: env.Namespace, Log: env.Log, History: env.History})
	if err != nil {
		return err
	}
	if err := env.Show(c.Pods(), c.Parts()...); err != nil {
		return err
	}
	env.Log.Info("reporting the pods labelled "+controller.Label+"="+controller.LabelValue,
		"server", env.Config.Host, "workers", env.Workers)
	err = c.Run(ctx, env.Workers)
	stats := c.Inspect().Stats
	env.Log.Info("the queue has stopped; the next start will find these again", "dropped", stats.ShutdownLosses, "running", stats.Running)
	return err
}
