package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/examples/cluster"
	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/exampleapp"
	"github.com/informerkit/informerkit/examples/foo/api"
	"github.com/informerkit/informerkit/examples/foo/controller"
	"github.com/informerkit/informerkit/informer/client"
)

// play runs the controller on the embedded server, next to a simulation of the rest
// of the cluster, and does what a user does with Foos.
func play(ctx context.Context, env *exampleapp.Env) error {
	server, err := env.Start()
	if err != nil {
		return err
	}
	defer server.Close()
	if err := demo.Install(ctx, server.Config, crd); err != nil {
		return err
	}
	printed := demo.PrintWrites(demo.PrintWrites(server.Config, env.Transcript, "controller", describe), env.Transcript, "event", describeEvents())
	log := slog.New(slog.DiscardHandler) // failures are part of the demo
	if env.Log.Enabled(ctx, slog.LevelDebug) {
		log = env.Log
	}
	c, err := controller.New(printed, controller.Options{
		Namespace: env.Namespace, Log: log,
		History: env.History,
	})
	if err != nil {
		return err
	}
	if err := env.Inspect(c.Parts()...); err != nil {
		return err
	}
	you := demo.PrintWrites(server.Config, env.Transcript, "you", demo.Write.Done)
	foos, err := client.New[*api.Foo](you, api.Resource, client.Options{})
	if err != nil {
		return err
	}
	deployments, err := client.New[*appsv1.Deployment](you, appsv1.SchemeGroupVersion.WithResource("deployments"), client.Options{})
	if err != nil {
		return err
	}
	s := script{foos, deployments, metav1.NamespaceDefault}
	if env.Namespace != "" {
		s.namespace = env.Namespace
	}
	return env.Beside(ctx, s.steps(env.Transcript),
		func(ctx context.Context) error { return c.Run(ctx, env.Workers) },
		func(ctx context.Context) error {
			return cluster.RunDeployments(ctx, server.Config, cluster.Options{
				Namespace: env.Namespace, Owners: api.Resource, OwnerKind: api.Kind.Kind, Transcript: env.Transcript, Log: env.Log,
			})
		})
}

// describe returns the line that the demo prints for a write of the controller. A
// status is printed when it matches the spec of the Foo.
func describe(w demo.Write) string {
	switch w.Resource {
	case "foos":
		var foo api.Foo
		if json.Unmarshal(w.Body, &foo) == nil && foo.Status.AvailableReplicas == *foo.Spec.Replicas {
			return fmt.Sprintf("%s has %d replicas available", foo.Name, foo.Status.AvailableReplicas)
		}
	case "deployments":
		return w.Done()
	}
	return ""
}

// describeEvents returns a function that describes each new Event of a Foo. Repeated
// Events are counted by client-go's recorder.
func describeEvents() func(demo.Write) string {
	var printed sync.Map
	return func(w demo.Write) string {
		var e eventsv1.Event
		if w.Resource != "events" || json.Unmarshal(w.Body, &e) != nil {
			return ""
		}
		if _, known := printed.LoadOrStore(e.Regarding.Name+e.Reason, true); known {
			return ""
		}
		return fmt.Sprintf("%s: %s %s: %s", e.Regarding.Name, e.Type, e.Reason, e.Note)
	}
}

type script struct {
	foos        *client.Client[*api.Foo]
	deployments *client.Client[*appsv1.Deployment]
	namespace   string
}

func (s script) steps(transcript *demo.Transcript) demo.Step {
	return demo.Steps(
		s.create("example-foo", "example-foo"),
		transcript.Sees("created deployment example-foo", "runs the pods", "example-foo has 1 replicas available", "Synced"),
		func(ctx context.Context) error {
			_, err := s.foos.Modify(ctx, s.key("example-foo"), func(foo *api.Foo) error {
				replicas := int32(3)
				foo.Spec.Replicas = &replicas
				return nil
			})
			return err
		},
		transcript.Sees("updated deployment example-foo", "example-foo has 3 replicas available"),
		// A deleted Deployment comes back: what counts is the state, not the event.
		func(ctx context.Context) error {
			return s.deployments.Delete(ctx, s.key("example-foo"), metav1.DeleteOptions{})
		},
		transcript.Sees("created deployment example-foo", "runs the pods", "example-foo has 3 replicas available"),
		// One that is not the controller's is left alone.
		func(ctx context.Context) error {
			labels := map[string]string{"app": "taken"}
			_, err := s.deployments.Create(ctx, &appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "taken"},
				Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:latest"}}},
				}},
			})
			return err
		},
		transcript.Sees("runs the pods of deployment taken"),
		s.create("greedy", "taken"), transcript.Sees("ErrResourceExists"),
		s.create("nameless", ""), transcript.Sees("ErrDeploymentNameEmpty"),
		s.delete("greedy"), s.delete("nameless"),
		s.delete("example-foo"), transcript.Sees("deleted deployment example-foo"),
	)
}

func (s script) create(name, deployment string) demo.Step {
	return func(ctx context.Context) error {
		replicas := int32(1)
		_, err := s.foos.Create(ctx, &api.Foo{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
			Spec:       api.FooSpec{DeploymentName: deployment, Replicas: &replicas},
		})
		return err
	}
}

func (s script) delete(name string) demo.Step {
	return func(ctx context.Context) error { return s.foos.Delete(ctx, s.key(name), metav1.DeleteOptions{}) }
}

func (s script) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: s.namespace, Name: name}
}
