// Package script runs a short scripted demo with some pods, and reports whether
// the queue handled each of them as expected.
package script

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/workqueue/controller"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/workqueue"
)

// Options configures Play; the zero value plays in namespace default, silently.
type Options = demo.Options

type (
	key     = types.NamespacedName
	outcome = workqueue.Outcome[key]
)

// Run runs the controller and the demo on the API server of cfg. It returns nil if
// every step succeeded. It prints the outcome of each key as it happens.
func Run(ctx context.Context, cfg *rest.Config, opts Options) error {
	s, err := newScript(cfg, opts.WithDefaults())
	if err != nil {
		return err
	}
	if err := s.createFirst(ctx); err != nil {
		return err
	}
	// The demo stops the controller before it ends, unless it has stopped already.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	s.stop = stop
	return demo.Beside(ctx, s.play, func(ctx context.Context) error {
		defer context.AfterFunc(ctx, stop)()
		defer close(s.stopped)
		// One worker, so that the order of things shows.
		err := s.controller.Run(serving, 1)
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	})
}

// script is the state of one call of Run.
type script struct {
	Options
	controller *controller.Controller
	client     *client.Client[*corev1.Pod]
	receiver   *receiver
	metrics    *queueMetrics
	changed    demo.Bell // rung when something has happened in the queue

	stop    context.CancelFunc // stops the controller
	stopped chan struct{}      // closed when it has

	mu       sync.Mutex
	outcomes map[string][]outcome // of each attempt, by pod
}

func newScript(cfg *rest.Config, opts Options) (*script, error) {
	changed := demo.NewBell()
	s := &script{
		Options:  opts,
		metrics:  &queueMetrics{bell: changed},
		changed:  changed,
		stopped:  make(chan struct{}),
		outcomes: map[string][]outcome{},
	}
	s.receiver = newReceiver(map[string]int{"flaky": 2, "poison": -1}, func(r controller.Report) {
		s.Say("receiver", "hears that %s is %s", r.Pod.Name, r.State())
	})
	var err error
	if s.client, err = client.New[*corev1.Pod](cfg, corev1.SchemeGroupVersion.WithResource("pods"), client.Options{}); err != nil {
		return nil, err
	}
	s.controller, err = controller.New(cfg, controller.Options{
		Namespace: opts.Namespace, Log: opts.Log, Send: s.receiver.receive, Outcome: s.observe, Metrics: s.metrics, History: opts.History,
	})
	if err != nil {
		return nil, err
	}
	return s, opts.Inspect(s.controller.Parts()...)
}

// observe prints the outcome of an attempt, unless it is clear from the report.
func (s *script) observe(o outcome) {
	switch name := o.Item.Name; o.Action {
	case workqueue.Requeued:
		s.Say("controller", "%s: looks again in %v, if nothing happens before", name, o.Result.RequeueAfter.Round(10*time.Millisecond))
	case workqueue.Retried:
		s.Say("controller", "%s: attempt %d failed, tries again later: %v", name, o.Attempt, o.Err)
	case workqueue.Dropped:
		s.Say("controller", "%s: gives up after attempt %d: %v", name, o.Attempt, o.Err)
	}
	s.mu.Lock()
	s.outcomes[o.Item.Name] = append(s.outcomes[o.Item.Name], o)
	s.mu.Unlock()
	s.changed.Ring()
}

// ended returns how many attempts for a pod ended with the action.
func (s *script) ended(pod string, action workqueue.Action) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.outcomes[pod] {
		if o.Action == action {
			n++
		}
	}
	return n
}

// until waits until done returns true; missing names what it waits for.
func (s *script) until(ctx context.Context, missing string, done func() bool) error {
	return s.changed.Until(ctx, s.Patience, done, func() string { return "still waiting for " + missing })
}

// create creates a pod that matches the controller's selector.
func (s *script) create(ctx context.Context, name string, annotations map[string]string) error {
	_, err := s.client.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: name, Annotations: annotations,
			Labels: map[string]string{controller.Label: controller.LabelValue},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry.k8s.io/pause:3.10"}}},
	})
	if err != nil {
		return fmt.Errorf("create pod %s: %w", name, err)
	}
	return nil
}

// look shows what the queue holds.
func (s *script) look() workqueue.Inspection[key] {
	in := s.controller.Inspect()
	s.Say("queue", "%s", describe(in))
	return in
}
