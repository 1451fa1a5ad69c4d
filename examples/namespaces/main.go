// Command namespaces reads some namespaces, which are chosen while it runs, and a
// kind that appears late and goes.
package main

import (
	"context"
	_ "embed"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/exampleapp"
	"github.com/informerkit/informerkit/examples/namespaces/controller"
	"github.com/informerkit/informerkit/informer/client"
)

//go:embed widgets.yaml
var crd []byte

func main() { exampleapp.Main(app) }

var app = exampleapp.App{
	Name: "namespaces", About: "Reads namespaces that are chosen at run time, and a kind that appears late.",
	Takes: exampleapp.TakesInspect | exampleapp.TakesHealth, Run: run,
}

func run(ctx context.Context, env *exampleapp.Env) error {
	server, err := env.Start()
	if err != nil {
		return err
	}
	defer server.Close()
	c, err := controller.New(server.Config, controller.Options{Say: env.Transcript.Say, Log: env.PartLog()})
	if err != nil {
		return err
	}
	if err := env.Inspect(c.Parts()...); err != nil {
		return err
	}
	if err := env.ReadyWhen(c.Readiness()); err != nil {
		return err
	}
	if !env.Embedded() {
		return c.Run(ctx)
	}
	steps, err := script(env, server)
	if err != nil {
		return err
	}
	return env.Beside(ctx, steps, c.Run)
}

func script(env *exampleapp.Env, server *exampleapp.Server) (demo.Step, error) {
	transcript := env.Transcript
	you := demo.PrintWrites(server.Config, transcript, "you", func(w demo.Write) string {
		if w.Resource == "namespaces" {
			return fmt.Sprintf("%s, labels %v", w.Done(), w.Object.Labels)
		}
		return w.Done()
	})
	namespaces, err := client.New[*corev1.Namespace](you, corev1.SchemeGroupVersion.WithResource("namespaces"), client.Options{})
	if err != nil {
		return nil, err
	}
	widgets, err := client.New[*unstructured.Unstructured](you, controller.Widgets, client.Options{})
	if err != nil {
		return nil, err
	}
	east, err := demo.NewConfigMaps(server.Config, transcript, "east")
	if err != nil {
		return nil, err
	}
	west, err := demo.NewConfigMaps(server.Config, transcript, "west")
	create := func(name string) demo.Step {
		return func(ctx context.Context) error {
			_, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
			return err
		}
	}
	label := func(name, value string) demo.Step {
		return func(ctx context.Context) error {
			patch := fmt.Sprintf(`{"metadata":{"labels":{"examples.informerkit.dev/watch":%s}}}`, value)
			_, err := namespaces.Patch(ctx, types.NamespacedName{Name: name}, types.MergePatchType, []byte(patch))
			return err
		}
	}
	return demo.Steps(
		create("east"), create("west"),
		east.Create("colours", nil), west.Create("shapes", nil),
		label("east", `"true"`), transcript.Sees("reads namespace east", "Added east/colours"),
		label("west", `"true"`), transcript.Sees("reads namespace west", "Added west/shapes"),
		label("east", `null`), transcript.Sees("Deleted east/colours"),
		func(ctx context.Context) error { return demo.Install(ctx, you, crd) },
		func(ctx context.Context) error {
			widget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "examples.informerkit.dev/v1", "kind": "Widget"}}
			widget.SetNamespace("west")
			widget.SetName("gear")
			_, err := widgets.Create(ctx, widget)
			return err
		},
		transcript.Sees("Added west/gear"),
		func(ctx context.Context) error { return demo.Uninstall(ctx, you, crd) },
		transcript.Sees("Deleted west/gear"),
	), err
}
