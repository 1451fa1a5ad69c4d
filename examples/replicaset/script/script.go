// Package script runs a short scripted demo with one ReplicaSet and reports
// whether the controller converged at each step.
package script

import (
	"cmp"
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/examples/cluster"
	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/exampleapp"
	"github.com/informerkit/informerkit/examples/replicaset/api"
	"github.com/informerkit/informerkit/examples/replicaset/controller"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/inspect"
)

// script is a demo, and what takes part in it.
type script struct {
	*controller.Controller
	sets *client.Client[*api.ReplicaSet]
	pods *client.Client[*corev1.Pod]
	key  types.NamespacedName
}

// Play runs the controller next to a simulation of the rest of the cluster, and does what a user does with a
// ReplicaSet. It fails if a step does not converge.
func Play(ctx context.Context, env *exampleapp.Env) error {
	if err := demo.Install(ctx, env.Config, api.CRD); err != nil {
		return err
	}
	printed := demo.PrintWrites(env.Config, env.Transcript, "controller", func(w demo.Write) string {
		if w.Subresource != "" {
			return "" // the status is written often, and the demo does not depend on it
		}
		return w.Done()
	})
	deleted := demo.PrintWrites(env.Config, env.Transcript, "server", demo.Write.Done)
	s := &script{
		Controller: controller.New(env.Controller(printed)),
		sets:       demo.Client[*api.ReplicaSet](env.Config, api.GroupVersionResource),
		pods:       demo.Client[*corev1.Pod](deleted, corev1.SchemeGroupVersion.WithResource("pods")),
		key:        types.NamespacedName{Namespace: cmp.Or(env.Namespace, metav1.NamespaceDefault), Name: "web"},
	}
	if err := env.Show(s, inspect.Factory(s), inspect.Queue(s)); err != nil {
		return err
	}
	play := func(ctx context.Context) error { return s.play(ctx, env.Transcript) }
	return env.Beside(ctx, play, s.Run, func(ctx context.Context) error {
		return cluster.RunPods(ctx, env.Config, cluster.Options{
			Namespace: s.key.Namespace, Owners: api.GroupVersionResource, OwnerKind: api.Kind, Transcript: env.Transcript,
		})
	})
}

func (s *script) play(ctx context.Context, transcript *demo.Transcript) error {
	for _, step := range []struct {
		says string
		do   demo.Step
		want int // pods, all of them ready
	}{
		{"create ReplicaSet web with 3 replicas", s.create(), 3},
		{"scale web up to 5", s.scale(5), 5},
		{"delete one of its pods", s.kill, 5},
		{"scale web down to 2", s.scale(2), 2},
		{"delete ReplicaSet web", demo.Delete(s.sets, s.key), 0},
	} {
		transcript.Say("you", "%s", step.says)
		start := time.Now()
		if err := demo.Steps(step.do, s.converge(step.want))(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.says, err)
		}
		what := fmt.Sprintf("%d pods, all ready", step.want)
		if step.want == 0 {
			what = "the set and its pods are gone"
		}
		transcript.Say("demo", "converged after %v: %s", time.Since(start).Round(time.Millisecond), what)
	}
	return nil
}

func (s *script) create() demo.Step {
	labels, replicas := map[string]string{"app": s.key.Name}, int32(3)
	return demo.Create(s.sets, &api.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: s.key.Name},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "registry.k8s.io/pause:3.10"}}},
			},
		},
	})
}

func (s *script) scale(replicas int32) demo.Step {
	return demo.Modify(s.sets, s.key, func(set *api.ReplicaSet) { set.Spec.Replicas = &replicas })
}

// kill deletes a pod of the set, as a node that dies does, and returns when the
// controller has noticed, which shows in the status: the state before looks
// converged, too.
func (s *script) kill(ctx context.Context) error {
	before, err := s.Sets().Lister().Get(s.key)
	if err != nil {
		return err
	}
	pod := s.active()[0]
	if err := s.pods.Delete(ctx, client.KeyOf(pod), metav1.DeleteOptions{}); err != nil {
		return err
	}
	_, err = s.Sets().WaitFor(ctx, s.key, func(set *api.ReplicaSet, exists bool) bool {
		return exists && set.ResourceVersion != before.ResourceVersion
	})
	return err
}

// converge returns a step that waits until the set has want pods, all of them ready, and its status
// reports that; if want is 0, until the set is deleted as well.
func (s *script) converge(want int) demo.Step {
	return func(ctx context.Context) error {
		return demo.Until(ctx, func() bool {
			set, exists := s.Sets().Snapshot().Get(s.key)
			if want == 0 {
				return !exists && len(s.active()) == 0
			}
			return exists && set.Replicas() == want && set.Status.ObservedGeneration == set.Generation &&
				int(set.Status.Replicas) == want && int(set.Status.ReadyReplicas) == want && len(s.active()) == want
		}, func() string { return fmt.Sprintf("wanted %d pods, all ready; there are %d", want, len(s.active())) })
	}
}

// active returns the pods of the set that are not being deleted.
func (s *script) active() (pods []*corev1.Pod) {
	for pod := range s.Pods().Snapshot().ByNamespace(s.key.Namespace) {
		if ref := metav1.GetControllerOf(pod); ref != nil && ref.Name == s.key.Name && pod.DeletionTimestamp == nil {
			pods = append(pods, pod)
		}
	}
	return pods
}
