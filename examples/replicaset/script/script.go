// Package script runs a short scripted demo with one ReplicaSet and reports
// whether the controller converged at each step.
package script

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/cluster"
	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/replicaset/api"
	"github.com/informerkit/informerkit/examples/replicaset/controller"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/workqueue/history"
)

// Options configures New; Transcript is required.
type Options struct {
	// Namespace in which it takes place; it must exist. Empty is "default".
	Namespace string
	// Patience is how long one step may take to converge; zero means a minute.
	Patience time.Duration
	// Transcript prints what happens.
	Transcript *demo.Transcript
	// History, if set, records what happens to each key.
	History *history.Recorder
}

// Script is a demo, and what takes part in it.
type Script struct {
	Options
	Controller *controller.Controller

	cfg  *rest.Config
	sets *client.Client[*api.ReplicaSet]
	pods *client.Client[*corev1.Pod]
	key  types.NamespacedName
}

// New returns a demo on the API server of cfg, which must serve the kind. It makes no request yet.
func New(cfg *rest.Config, opts Options) *Script {
	opts.Namespace = cmp.Or(opts.Namespace, metav1.NamespaceDefault)
	printed := demo.PrintWrites(cfg, opts.Transcript, "controller", func(w demo.Write) string {
		if w.Subresource != "" {
			return "" // the status is written often, and the demo does not depend on it
		}
		return w.Done()
	})
	return &Script{
		Options: opts, cfg: cfg, key: types.NamespacedName{Namespace: opts.Namespace, Name: "web"},
		Controller: controller.New(printed, controller.Options{Namespace: opts.Namespace, Workers: 4, History: opts.History}),
		sets:       demo.Client[*api.ReplicaSet](cfg, api.GroupVersionResource),
		pods:       demo.Client[*corev1.Pod](demo.PrintWrites(cfg, opts.Transcript, "server", demo.Write.Done), corev1.SchemeGroupVersion.WithResource("pods")),
	}
}

// Cluster plays the rest of a cluster until ctx ends.
func (s *Script) Cluster(ctx context.Context) error {
	return cluster.RunPods(ctx, s.cfg, cluster.Options{
		Namespace: s.Namespace, Owners: api.GroupVersionResource, OwnerKind: api.Kind, Transcript: s.Transcript,
	})
}

// Play plays the demo while the Controller and the Cluster run. It returns nil if every step converged.
func (s *Script) Play(ctx context.Context) error {
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
		s.Transcript.Say("you", "%s", step.says)
		start := time.Now()
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.says, err)
		}
		if err := s.converge(ctx, step.want); err != nil {
			return fmt.Errorf("%s: %w", step.says, err)
		}
		what := fmt.Sprintf("%d pods, all ready", step.want)
		if step.want == 0 {
			what = "the set and its pods are gone"
		}
		s.Transcript.Say("demo", "converged after %v: %s", time.Since(start).Round(time.Millisecond), what)
	}
	return nil
}

func (s *Script) create() demo.Step {
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

func (s *Script) scale(replicas int32) demo.Step {
	return demo.Modify(s.sets, s.key, func(set *api.ReplicaSet) { set.Spec.Replicas = &replicas })
}

// kill deletes a pod of the set, as a node that dies does, and returns when the
// controller has noticed, which shows in the status: the state before looks
// converged, too.
func (s *Script) kill(ctx context.Context) error {
	before, err := s.Controller.Sets().Lister().Get(s.key)
	if err != nil {
		return err
	}
	pods := s.active()
	if len(pods) == 0 {
		return errors.New("there is none")
	}
	if err := s.pods.Delete(ctx, client.KeyOf(pods[0]), metav1.DeleteOptions{}); err != nil {
		return err
	}
	return demo.Until(ctx, s.Patience, func() bool {
		set, err := s.Controller.Sets().Lister().Get(s.key)
		return err == nil && set.ResourceVersion != before.ResourceVersion
	}, func() string { return fmt.Sprintf("the status still counts pod %s", pods[0].Name) })
}

// converge waits until the set has want pods, all of them ready, and its status
// reports that; if want is 0, until the set is deleted as well.
func (s *Script) converge(ctx context.Context, want int) error {
	return demo.Until(ctx, s.Patience, func() bool {
		set, err := s.Controller.Sets().Lister().Get(s.key)
		if want == 0 {
			return apierrors.IsNotFound(err) && len(s.active()) == 0
		}
		return err == nil && set.Replicas() == want && set.Status.ObservedGeneration == set.Generation &&
			int(set.Status.Replicas) == want && int(set.Status.ReadyReplicas) == want && len(s.active()) == want
	}, func() string { return fmt.Sprintf("wanted %d pods, all ready; there are %d", want, len(s.active())) })
}

// active returns the pods of the set that are not being deleted.
func (s *Script) active() (pods []*corev1.Pod) {
	for pod := range s.Controller.Pods().Snapshot().ByNamespace(s.key.Namespace) {
		if ref := metav1.GetControllerOf(pod); ref != nil && ref.Name == s.key.Name && pod.DeletionTimestamp == nil {
			pods = append(pods, pod)
		}
	}
	return pods
}
