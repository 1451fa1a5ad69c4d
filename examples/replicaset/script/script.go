// Package script runs a short scripted demo with one ReplicaSet and reports
// whether the controller converged at each step.
package script

import (
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
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
)

// Options configures Play; the zero value plays in namespace default, silently.
type Options = demo.Options

// Run runs the controller and the demo on the API server of cfg, on which the
// kind must be installed. It returns nil if every step converged. It prints the
// controller's actions as they happen.
func Run(ctx context.Context, cfg *rest.Config, opts Options) error {
	s, err := newScript(cfg, opts.WithDefaults())
	if err != nil {
		return err
	}

	// The controller and the rest of the cluster run concurrently with the demo. If
	// one of the three fails, the other two stop.
	return demo.Beside(ctx, func(ctx context.Context) error {
		if err := s.play(ctx); err != nil {
			return err
		}
		if opts.Stay != nil {
			s.Stay()
			<-ctx.Done()
		}
		return nil
	}, s.cluster.Run, func(ctx context.Context) error { return s.controller.Run(ctx, 4) })
}

type script struct {
	Options
	controller *controller.Controller
	cluster    *cluster.Cluster
	sets       *client.Client[*api.ReplicaSet]
	pods       *client.Client[*corev1.Pod]
	key        types.NamespacedName
	changed    demo.Bell // rung when one of the two caches has changed
}

func newScript(cfg *rest.Config, opts Options) (*script, error) {
	s := &script{
		Options: opts,
		key:     types.NamespacedName{Namespace: opts.Namespace, Name: "web"},
		changed: demo.NewBell(),
	}
	var err error
	if s.sets, err = client.New[*api.ReplicaSet](cfg, api.GroupVersionResource, client.Options{}); err != nil {
		return nil, err
	}
	if s.pods, err = client.New[*corev1.Pod](demo.PrintWrites(cfg, opts.Transcript, "server", demo.Write.Done), corev1.SchemeGroupVersion.WithResource("pods"), client.Options{}); err != nil {
		return nil, err
	}
	if s.cluster, err = cluster.New(cfg, cluster.Options{
		Namespace: opts.Namespace, Owners: api.GroupVersionResource, OwnerKind: api.Kind, Log: opts.Log, Transcript: opts.Transcript,
	}); err != nil {
		return nil, err
	}
	printed := demo.PrintWrites(cfg, opts.Transcript, "controller", func(w demo.Write) string {
		if w.Subresource != "" {
			return "" // the status is written often, and the demo does not depend on it
		}
		return w.Done()
	})
	s.controller, err = controller.New(printed, controller.Options{Namespace: opts.Namespace, Log: opts.Log, History: opts.History})
	if err != nil {
		return nil, err
	}
	_, errSets := s.controller.Sets().AddHandler(informer.HandlerFunc[*api.ReplicaSet](func(informer.Event[*api.ReplicaSet]) {
		s.changed.Ring()
	}), informer.HandlerOptions{Name: "demo"})
	_, errPods := s.controller.Pods().AddHandler(informer.HandlerFunc[*corev1.Pod](func(informer.Event[*corev1.Pod]) {
		s.changed.Ring()
	}), informer.HandlerOptions{Name: "demo"})
	return s, errors.Join(errSets, errPods, opts.Inspect(s.controller.Parts()...))
}

func (s *script) play(ctx context.Context) error {
	for _, step := range []struct {
		says string
		do   func(context.Context) error
		want int // pods, all of them ready
	}{
		{"create ReplicaSet web with 3 replicas", s.create(3), 3},
		{"scale web up to 5", s.scale(5), 5},
		{"delete one of its pods", s.kill, 5},
		{"scale web down to 2", s.scale(2), 2},
		{"delete ReplicaSet web", s.delete, 0},
	} {
		s.Say("you", "%s", step.says)
		start := time.Now()
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.says, err)
		}
		if err := s.converge(ctx, step.want); err != nil {
			return fmt.Errorf("%s: %w", step.says, err)
		}
		took := time.Since(start).Round(time.Millisecond)
		if step.want == 0 {
			s.Say("demo", "converged after %v: the set and its pods are gone", took)
		} else {
			s.Say("demo", "converged after %v: %d pods, all ready", took, step.want)
		}
	}
	return nil
}

func (s *script) create(replicas int32) func(context.Context) error {
	return func(ctx context.Context) error {
		labels := map[string]string{"app": s.key.Name}
		_, err := s.sets.Create(ctx, &api.ReplicaSet{
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
		return err
	}
}

func (s *script) scale(replicas int) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := s.sets.Patch(ctx, s.key, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
		return err
	}
}

// kill deletes a pod of the set, as a node that dies does, and returns when the
// controller has noticed, which shows in the status: the state before looks
// converged, too.
func (s *script) kill(ctx context.Context) error {
	before, err := s.controller.Sets().Lister().Get(s.key)
	if err != nil {
		return err
	}
	pods := s.active()
	if len(pods) == 0 {
		return errors.New("there is none")
	}
	victim := pods[0]
	if err := s.pods.Delete(ctx, client.KeyOf(victim), metav1.DeleteOptions{}); err != nil {
		return err
	}
	return s.until(ctx, func() bool {
		set, err := s.controller.Sets().Lister().Get(s.key)
		return err == nil && set.ResourceVersion != before.ResourceVersion
	}, func() string { return fmt.Sprintf("the status still counts pod %s", victim.Name) })
}

func (s *script) delete(ctx context.Context) error {
	return s.sets.Delete(ctx, s.key, metav1.DeleteOptions{})
}

// converge waits until the set has want pods, all of them ready, and its status
// reports that; if want is 0, until the set is deleted as well.
func (s *script) converge(ctx context.Context, want int) error {
	return s.until(ctx, func() bool {
		set, err := s.controller.Sets().Lister().Get(s.key)
		if want == 0 {
			return apierrors.IsNotFound(err) && len(s.active()) == 0
		}
		return err == nil && set.Replicas() == want && set.Status.ObservedGeneration == set.Generation &&
			int(set.Status.Replicas) == want && int(set.Status.ReadyReplicas) == want &&
			len(s.active()) == want && ready(s.active()) == want
	}, func() string {
		return fmt.Sprintf("wanted %d pods, all ready; there are %d, of which %d are ready", want, len(s.active()), ready(s.active()))
	})
}

func ready(pods []*corev1.Pod) (n int) {
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodRunning {
			n++
		}
	}
	return n
}

func (s *script) until(ctx context.Context, done func() bool, problem func() string) error {
	return s.changed.Until(ctx, s.Patience, done, problem)
}

// active returns the pods of the set that are not being deleted.
func (s *script) active() []*corev1.Pod {
	var pods []*corev1.Pod
	for pod := range s.controller.Pods().Snapshot().ByNamespace(s.key.Namespace) {
		if ref := metav1.GetControllerOf(pod); ref != nil && ref.Name == s.key.Name && pod.DeletionTimestamp == nil {
			pods = append(pods, pod)
		}
	}
	return pods
}
