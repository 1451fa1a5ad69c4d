package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
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
	foo "github.com/informerkit/informerkit/examples/foo/controller"
	"github.com/informerkit/informerkit/informer/inspect"
)

// play runs the controller on the embedded server, next to a simulation of the rest
// of the cluster, and does what a user does with Foos.
func play(ctx context.Context, env *exampleapp.Env) error {
	if err := demo.Install(ctx, env.Config, crd); err != nil {
		return err
	}
	printed := demo.PrintWrites(demo.PrintWrites(env.Config, env.Transcript, "controller", describe), env.Transcript, "event", describeEvents())
	c := foo.New(env.Controller(printed))
	if err := env.Show(c, inspect.Factory(c), inspect.Queue(c)); err != nil {
		return err
	}
	return env.Beside(ctx, script(env), c.Run, func(ctx context.Context) error {
		return cluster.RunDeployments(ctx, env.Config, cluster.Options{
			Namespace: env.Namespace, Owners: api.Resource, OwnerKind: api.Kind.Kind, Transcript: env.Transcript, Log: env.Log,
		})
	})
}

// describe returns the line that the demo prints for a write of the controller. A
// status is printed when it matches the spec of the Foo.
func describe(w demo.Write) string {
	switch w.Resource {
	case "foos":
		var f api.Foo
		if json.Unmarshal(w.Body, &f) == nil && f.Status.AvailableReplicas == *f.Spec.Replicas {
			return fmt.Sprintf("%s has %d replicas available", f.Name, f.Status.AvailableReplicas)
		}
	case "deployments":
		return w.Done()
	}
	return ""
}

// describeEvents returns a function that describes each new Event of a Foo. Repeated
// Events are counted.
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

func script(env *exampleapp.Env) demo.Step {
	transcript := env.Transcript
	you := demo.PrintWrites(env.Config, transcript, "you", demo.Write.Done)
	foos := demo.Client[*api.Foo](you, api.Resource)
	deployments := demo.Client[*appsv1.Deployment](you, appsv1.SchemeGroupVersion.WithResource("deployments"))
	key := func(name string) types.NamespacedName {
		return types.NamespacedName{Namespace: cmp.Or(env.Namespace, metav1.NamespaceDefault), Name: name}
	}
	create := func(name, deployment string) demo.Step {
		replicas := int32(1)
		return demo.Create(foos, &api.Foo{
			ObjectMeta: metav1.ObjectMeta{Namespace: key("").Namespace, Name: name},
			Spec:       api.FooSpec{DeploymentName: deployment, Replicas: &replicas},
		})
	}
	scaled := int32(3)
	labels := map[string]string{"app": "taken"}
	return demo.Steps(
		create("example-foo", "example-foo"),
		transcript.Sees("created deployment example-foo", "runs the pods", "example-foo has 1 replicas available", "Synced"),
		demo.Modify(foos, key("example-foo"), func(f *api.Foo) { f.Spec.Replicas = &scaled }),
		transcript.Sees("patched deployment example-foo", "example-foo has 3 replicas available"),
		// A deleted Deployment comes back: what counts is the state, not the event.
		demo.Delete(deployments, key("example-foo")),
		transcript.Sees("created deployment example-foo", "runs the pods", "example-foo has 3 replicas available"),
		// One that is not the controller's is left alone.
		demo.Create(deployments, &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: key("").Namespace, Name: "taken"},
			Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:latest"}}},
			}},
		}),
		transcript.Sees("runs the pods of deployment taken"),
		create("greedy", "taken"), transcript.Sees("ErrResourceExists"),
		create("nameless", ""), transcript.Sees("ErrDeploymentNameEmpty"),
		demo.Delete(foos, key("greedy")), demo.Delete(foos, key("nameless")),
		demo.Delete(foos, key("example-foo")), transcript.Sees("deleted deployment example-foo"),
	)
}
