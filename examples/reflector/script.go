package main

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/exampleapp"
)

// script is what you do beside the reflector. On a cluster you do it by hand.
func script(env *exampleapp.Env, server *exampleapp.Server) (demo.Step, error) {
	switch {
	case !env.Embedded() && env.Once:
		return env.Transcript.Sees("Replace"), nil
	case !env.Embedded():
		return demo.Steps(), nil
	}
	transcript := env.Transcript
	you, err := demo.NewConfigMaps(server.Config, transcript, env.Namespace)
	return demo.Steps(
		transcript.Sees("Replace"),
		you.Create("colours", nil), transcript.Sees("Add: colours"),
		you.Label("colours", map[string]string{"sky": "blue"}), transcript.Sees("Update: colours"),
		// A watch that breaks is resumed. A version that is forgotten cannot be.
		transcript.Do("server", "is away; until it is back, colours is deleted, shapes created, and the history forgotten", func() {
			_ = server.Embedded.Pause()
			namespace := "default"
			if env.Namespace != "" {
				namespace = env.Namespace
			}
			_ = server.Embedded.Delete(corev1.SchemeGroupVersion.WithResource("configmaps"), namespace, "colours")
			_ = server.Embedded.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shapes"}})
			server.Embedded.Compact()
			_ = server.Embedded.Resume()
		}),
		transcript.Sees("Replace"),
		you.Delete("shapes"), transcript.Sees("Delete: shapes"),
	), err
}
