// Command reflector lists and watches ConfigMaps and prints each call that a sink
// gets: the first link of the chain, alone.
package main

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/exampleapp"
	"github.com/informerkit/informerkit/reflector"
)

func main() { exampleapp.Main(app) }

var app = exampleapp.App{Name: "reflector", About: "Lists and watches ConfigMaps.", OnceOnCluster: true, Takes: exampleapp.TakesNamespace, Run: run}

func run(ctx context.Context, env *exampleapp.Env) error {
	source, err := reflector.NewResource[*corev1.ConfigMap](env.Config, corev1.SchemeGroupVersion.WithResource("configmaps"),
		reflector.ResourceOptions{Namespace: env.Namespace})
	if err != nil {
		return err
	}
	r, err := reflector.New(source, sink{env.Transcript.Say}, reflector.Options{
		Logger: env.PartLog(),
		Policy: env.Policy(),
		OnStateChange: func(h reflector.Health) {
			// Health says at any time what it does, and why that is not what it should do.
			if h.State == reflector.StateDegraded && h.LastErrorClass == reflector.ClassExpired {
				env.Transcript.Say("reflector", "%s: %v", h.State, errors.Unwrap(h.LastError))
			}
		},
	})
	if err != nil {
		return err
	}
	return env.Beside(ctx, script(env), r.Run)
}

// sink prints what it is given. A real one stores it: see the next example.
type sink struct {
	say func(who, format string, args ...any)
}

// Replace is the result of a list: these objects exist, and no others.
func (s sink) Replace(_ context.Context, all []*corev1.ConfigMap, version string) error {
	s.say("sink", "Replace: %d objects at version %s", len(all), version)
	return nil
}

// Add, Update and Delete are the events of the watch from that version on.
func (s sink) Add(_ context.Context, c *corev1.ConfigMap) error {
	s.say("sink", "Add: %s at version %s", c.Name, c.ResourceVersion)
	return nil
}

// Update gives the new state. The reflector does not keep the old one.
func (s sink) Update(_ context.Context, c *corev1.ConfigMap) error {
	s.say("sink", "Update: %s at version %s", c.Name, c.ResourceVersion)
	return nil
}

// Delete gives the last state.
func (s sink) Delete(_ context.Context, c *corev1.ConfigMap) error {
	s.say("sink", "Delete: %s at version %s", c.Name, c.ResourceVersion)
	return nil
}

// Bookmark says that nothing else has happened up to this version.
func (s sink) Bookmark(_ context.Context, version string) error {
	s.say("sink", "Bookmark: version %s", version)
	return nil
}

// script is what you do beside the reflector. On a cluster you do it by hand.
func script(env *exampleapp.Env) demo.Step {
	transcript := env.Transcript
	switch {
	case !env.Embedded() && env.Once:
		return transcript.Sees("Replace")
	case !env.Embedded():
		return demo.Steps()
	}
	you := demo.NewConfigMaps(env.Config, transcript, env.Namespace)
	return demo.Steps(
		transcript.Sees("Replace"),
		you.Create("colours", nil), transcript.Sees("Add: colours"),
		you.Label("colours", map[string]string{"sky": "blue"}), transcript.Sees("Update: colours"),
		// A watch that breaks is resumed. A version that is forgotten cannot be.
		env.Forgets(you.Namespace), transcript.Sees("Replace"),
		you.Delete("shapes"), transcript.Sees("Delete: shapes"),
	)
}
