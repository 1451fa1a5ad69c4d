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
)

//go:embed widgets.yaml
var crd []byte

func main() { exampleapp.Main(app) }

var app = exampleapp.App{
	Name: "namespaces", About: "Reads namespaces that are chosen at run time, and a kind that appears late.",
	Takes: exampleapp.TakesInspect | exampleapp.TakesHealth, Run: run,
}

func run(ctx context.Context, env *exampleapp.Env) error {
	c, err := controller.New(env.Config, env.PartLog(), env.Transcript.Say)
	if err != nil {
		return err
	}
	if err := env.Show(c.Readiness(), c.Source()); err != nil {
		return err
	}
	if !env.Embedded() {
		return c.Run(ctx)
	}
	return env.Beside(ctx, script(env), c.Run)
}

func script(env *exampleapp.Env) demo.Step {
	transcript := env.Transcript
	you := demo.PrintWrites(env.Config, transcript, "you", func(w demo.Write) string {
		if w.Resource == "namespaces" {
			return fmt.Sprintf("%s, labels %v", w.Done(), w.Object.Labels)
		}
		return w.Done()
	})
	namespaces := demo.Client[*corev1.Namespace](you, corev1.SchemeGroupVersion.WithResource("namespaces"))
	create := func(name string) demo.Step {
		return demo.Create(namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	label := func(name, value string) demo.Step {
		return func(ctx context.Context) error {
			patch := fmt.Sprintf(`{"metadata":{"labels":{"examples.informerkit.dev/watch":%s}}}`, value)
			_, err := namespaces.Patch(ctx, types.NamespacedName{Name: name}, types.MergePatchType, []byte(patch))
			return err
		}
	}
	east, west := demo.NewConfigMaps(env.Config, transcript, "east"), demo.NewConfigMaps(env.Config, transcript, "west")
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "examples.informerkit.dev/v1", "kind": "Widget", "metadata": map[string]any{"namespace": "west", "name": "gear"},
	}}
	return demo.Steps(
		create("east"), create("west"),
		east.Create("colours", nil), west.Create("shapes", nil),
		label("east", `"true"`), transcript.Sees("reads namespace east", "Added east/colours"),
		label("west", `"true"`), transcript.Sees("reads namespace west", "Added west/shapes"),
		label("east", `null`), transcript.Sees("Deleted east/colours"),
		func(ctx context.Context) error { return demo.Install(ctx, you, crd) },
		demo.Create(demo.Client[*unstructured.Unstructured](you, controller.Widgets), widget),
		transcript.Sees("Added west/gear"),
		demo.Delete(demo.Client[*unstructured.Unstructured](you, demo.Definitions), types.NamespacedName{Name: controller.Widgets.GroupResource().String()}),
		transcript.Sees("Deleted west/gear"),
	)
}
