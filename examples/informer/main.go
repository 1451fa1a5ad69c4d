// Command informer keeps a cache of ConfigMaps, calls two handlers, and reads
// the cache: a reflector, a queue and an indexer in one.
package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/exampleapp"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/inspect"
	"github.com/informerkit/informerkit/reflector"
)

func main() { exampleapp.Main(app) }

var app = exampleapp.App{
	Name: "informer", About: "Keeps a cache of ConfigMaps and calls handlers.", OnceOnCluster: true,
	Takes: exampleapp.TakesNamespace | exampleapp.TakesInspect | exampleapp.TakesHealth, Run: run,
}

func run(ctx context.Context, env *exampleapp.Env) error {
	source, err := reflector.NewResource[*corev1.ConfigMap](env.Config, corev1.SchemeGroupVersion.WithResource("configmaps"),
		reflector.ResourceOptions{Namespace: env.Namespace})
	if err != nil {
		return err
	}
	configMaps, err := informer.New(source, informer.Options[*corev1.ConfigMap]{
		Name: "configmaps", Logger: env.PartLog(), Reflector: reflector.Options{Policy: env.Policy()},
	})
	if err != nil {
		return err
	}
	// As in client-go: a function for each type of event.
	if _, err := configMaps.AddHandler(informer.HandlerFuncs[*corev1.ConfigMap]{
		AddFunc: func(obj *corev1.ConfigMap, _ bool) { env.Transcript.Say("handler 1", "added %s", obj.Name) },
		UpdateFunc: func(old, obj *corev1.ConfigMap) {
			env.Transcript.Say("handler 1", "%s: %v is now %v", obj.Name, old.Labels, obj.Labels)
		},
		DeleteFunc: func(obj *corev1.ConfigMap) { env.Transcript.Say("handler 1", "deleted %s", obj.Name) },
	}, informer.HandlerOptions{Name: "1"}); err != nil {
		return err
	}
	if err := env.Show(configMaps, inspect.Informer(configMaps)); err != nil {
		return err
	}
	return env.Beside(ctx, script(env, configMaps), configMaps.Run)
}

func script(env *exampleapp.Env, configMaps *informer.Informer[*corev1.ConfigMap]) demo.Step {
	transcript := env.Transcript
	synced := func(ctx context.Context) error {
		if err := informer.WaitForSync(ctx, configMaps); err != nil {
			return err // it names what is not synced, and why
		}
		transcript.Say("cache", "is synced, with %d objects", configMaps.Snapshot().Len())
		return nil
	}
	if !env.Embedded() {
		return synced
	}
	you := demo.NewConfigMaps(env.Config, transcript, env.Namespace)
	return demo.Steps(
		synced,
		you.Create("colours", nil), transcript.Sees("added colours"),
		you.Label("colours", map[string]string{"sky": "blue"}), transcript.Sees("colours: map[] is now map[sky:blue]"),
		// A second handler joins late. It is given what is there, and then follows.
		func(context.Context) error {
			_, err := configMaps.AddHandler(informer.HandlerFunc[*corev1.ConfigMap](func(e informer.Event[*corev1.ConfigMap]) {
				transcript.Say("handler 2", "%s %s, from %s", e.Type, e.Key.Name, e.Origin)
			}), informer.HandlerOptions{Name: "2"})
			return err
		},
		transcript.Sees("Added colours, from InitialList"),
		you.Delete("colours"), transcript.Sees("deleted colours", "Deleted colours, from Watch"),
		// The cache is always at least as new as what a handler was given.
		func(context.Context) error {
			_, err := configMaps.Lister().Namespace(you.Namespace).Get("colours")
			transcript.Say("cache", "%v", err)
			return nil
		},
	)
}
