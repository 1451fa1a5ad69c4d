package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/exampleapp"
)

// script is what you do beside the chain. On a cluster you do it by hand.
func script(env *exampleapp.Env, server *exampleapp.Server, c *chain) (demo.Step, error) {
	transcript := env.Transcript
	switch {
	case !env.Embedded() && env.Once:
		return transcript.Sees("the whole list"), nil
	case !env.Embedded():
		return demo.Steps(), nil
	}
	namespace := env.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	you, err := demo.NewConfigMaps(server.Config, transcript, namespace)
	return demo.Steps(
		transcript.Sees("the whole list"),
		you.Create("colours", nil), transcript.Sees("Added colours"),
		transcript.Do("you", "fill the disk", func() { c.full.Store(true) }),
		you.Label("colours", map[string]string{"sky": "blue"}), transcript.Sees("is put back", "Updated colours"),
		transcript.Do("you", "ask for a resync", func() {}),
		func(ctx context.Context) error { return c.queue.Resync(ctx) },
		transcript.Sees("Sync colours"),
		// The deletion is not seen. The next list lacks the object, so the queue makes it up.
		transcript.Do("server", "is away; until it is back, colours is deleted, shapes created, and the history forgotten", func() {
			_ = server.Embedded.Pause()
			_ = server.Embedded.Delete(corev1.SchemeGroupVersion.WithResource("configmaps"), namespace, "colours")
			_ = server.Embedded.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shapes"}})
			server.Embedded.Compact()
			_ = server.Embedded.Resume()
		}),
		transcript.Sees("Deleted colours", "Replaced shapes"),
	), err
}
