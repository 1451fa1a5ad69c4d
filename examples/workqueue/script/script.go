// Package script runs a short scripted demo with some pods, and reports whether
// the queue handled each of them as expected.
package script

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/exampleapp"
	"github.com/informerkit/informerkit/examples/workqueue/controller"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/workqueue"
)

type key = types.NamespacedName

// script is a demo with a receiver of the controller's reports that does not always answer.
type script struct {
	*demo.Transcript
	namespace  string
	controller *controller.Controller
	pods       *client.Client[*corev1.Pod]
	stop       context.CancelFunc // stops the controller
	stopped    chan struct{}      // closed: it has stopped
	busy       atomic.Bool        // the receiver takes no reports, so the worker waits

	mu       sync.Mutex
	failures map[string]int         // by pod: how many reports do not get through; negative: none does
	asked    map[string][]time.Time // by pod: the times of the calls
	received []string               // the pods, in order
}

// Play runs the controller, and does what a user does with pods. It fails if the queue does not handle each of
// them as expected.
func Play(ctx context.Context, env *exampleapp.Env) (err error) {
	s := &script{
		Transcript: env.Transcript, namespace: cmp.Or(env.Namespace, metav1.NamespaceDefault), stopped: make(chan struct{}),
		failures: map[string]int{"flaky": 2, "poison": -1}, asked: map[string][]time.Time{},
		pods: demo.Client[*corev1.Pod](env.Config, corev1.SchemeGroupVersion.WithResource("pods")),
	}
	s.busy.Store(true)
	s.controller, err = controller.New(env.Config, controller.Options{Namespace: s.namespace, Send: s.receive, Outcome: s.observe, History: env.History})
	if err != nil {
		return err
	}
	if err := env.Inspect(s.controller.Parts()...); err != nil {
		return err
	}
	begin := s.create("create pods old-1, old-2 and old-3; then start the controller, with one worker", "", "old-1", "old-2", "old-3")
	if err := begin(ctx); err != nil {
		return err
	}
	steps := s.steps()
	if env.Once {
		steps = demo.Steps(steps, s.end())
	}
	return env.Beside(ctx, steps, s.run)
}

// run runs the controller until it is stopped, or ctx ends.
func (s *script) run(ctx context.Context) error {
	defer close(s.stopped)
	ctx, s.stop = context.WithCancel(ctx)
	defer s.stop()
	defer context.AfterFunc(ctx, func() { s.busy.Store(false) })() // else a worker would wait for the receiver
	return s.controller.Run(ctx, 1)                                // with one worker the order of things shows
}

// receive takes a report of the controller, or fails.
func (s *script) receive(ctx context.Context, r controller.Report) error {
	s.mu.Lock()
	s.asked[r.Pod.Name] = append(s.asked[r.Pod.Name], time.Now())
	s.mu.Unlock()
	if err := demo.Until(ctx, func() bool { return !s.busy.Load() }, func() string { return "the receiver is busy" }); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if left := s.failures[r.Pod.Name]; left != 0 {
		s.failures[r.Pod.Name] = left - 1
		return errors.New("no answer")
	}
	s.received = append(s.received, r.Pod.Name)
	s.Say("receiver", "hears that %s is %s", r.Pod.Name, r.State())
	return nil
}

// observe prints the outcome of an attempt, unless it is clear from the report.
func (s *script) observe(o workqueue.Outcome[key]) {
	switch name := o.Item.Name; o.Action {
	case workqueue.Requeued:
		s.Say("controller", "%s: looks again in %v, if nothing happens before", name, o.Result.RequeueAfter.Round(10*time.Millisecond))
	case workqueue.Retried:
		s.Say("controller", "%s: attempt %d failed, tries again later: %v", name, o.Attempt, o.Err)
	case workqueue.Dropped:
		s.Say("controller", "%s: gives up after attempt %d: %v", name, o.Attempt, o.Err)
	}
}

func (s *script) steps() demo.Step {
	return demo.Steps(
		s.holds("the first list", "old-1", "old-2", "old-3"),
		s.create("create pod news", "", "news"),
		s.holds("pod news to be queued", "old-1", "news", "old-2", "old-3"),
		s.Do("receiver", "is free again", func() { s.busy.Store(false) }), s.Sees("hears that news", "old-3: looks again"),
		s.verdict("the news did not wait behind the first list", func() bool { return s.received[1] == "news" }),

		s.create("create pod flaky; the receiver will not answer at first", "", "flaky"),
		s.Sees("flaky: looks again"), s.waits("the third attempt succeeded", "flaky", 3),
		s.create("create pod poison; the receiver will never answer", "", "poison"),
		s.Sees("poison: gives up after"), s.waits("dropped after 5 attempts", "poison", controller.MaxAttempts),

		// A mistake with which only the owner of the pod can do something is not tried again.
		s.create(`create pod slow with the patience "soon", which is no duration`, "soon", "slow"),
		s.Sees("slow: gives up after attempt 1"),
		s.verdict("one attempt, and no other before you change something", func() bool { return len(s.asked["slow"]) == 0 }),
		s.modify("set the patience of pod slow to 2s", func(pod *corev1.Pod) { pod.Annotations[controller.PatienceAnnotation] = "2s" }),
		s.Sees("slow is Pending for too long"),
		s.verdict("looked at again by itself", func() bool { return true }),
		s.modify("let pod slow run", func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodRunning }), s.Sees("slow is Running"),
	)
}

// end stops the controller while there is something in the queue.
func (s *script) end() demo.Step {
	return demo.Steps(
		func(context.Context) error { s.busy.Store(true); return nil },
		s.create("create pods last-1, last-2 and last-3, and stop the controller at once", "", "last-1", "last-2", "last-3"),
		s.holds("the pods to be queued", "last-1", "last-2", "last-3"),
		func(context.Context) error {
			s.stop()
			<-s.stopped
			s.Say("queue", "%s", describe(s.controller.Inspect()))
			return nil
		},
		s.verdict("what was queued was worked off; the next start will find the pods that were delayed", func() bool {
			in := s.controller.Inspect()
			return in.ShuttingDown && len(in.Queued)+len(in.Running)+len(in.Delayed) == 0 && slices.Contains(s.received, "last-3")
		}),
	)
}

// create returns a step that creates pods that match the controller's selector.
func (s *script) create(says, patience string, names ...string) demo.Step {
	return func(ctx context.Context) error {
		s.Say("you", "%s", says)
		for _, name := range names {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: s.namespace, Name: name, Annotations: map[string]string{},
					Labels: map[string]string{controller.Label: controller.LabelValue},
				},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry.k8s.io/pause:3.10"}}},
			}
			if patience != "" {
				pod.Annotations[controller.PatienceAnnotation] = patience
			}
			if _, err := s.pods.Create(ctx, pod); err != nil {
				return err
			}
		}
		return nil
	}
}

// modify returns a step that changes pod slow, and its status.
func (s *script) modify(says string, change func(pod *corev1.Pod)) demo.Step {
	slow := key{Namespace: s.namespace, Name: "slow"}
	return demo.Steps(s.Do("you", says, func() {}), demo.Modify(s.pods, slow, change), demo.Modify(s.pods.Status(), slow, change))
}

// holds returns a step that waits until the worker has the first of the pods, and the queue the others,
// and prints what the queue holds.
func (s *script) holds(what string, pods ...string) demo.Step {
	return func(ctx context.Context) error {
		var in workqueue.Inspection[key]
		err := demo.Until(ctx, func() bool {
			in = s.controller.Inspect()
			var names []string
			for _, i := range slices.Concat(in.Running, in.Queued) {
				names = append(names, i.Item.Name)
			}
			return slices.Equal(names, pods)
		}, func() string { return "still waiting for " + what })
		if err == nil {
			s.Say("queue", "%s", describe(in))
		}
		return err
	}
}

// verdict returns a step that fails unless ok returns true.
func (s *script) verdict(says string, ok func() bool) demo.Step {
	return func(context.Context) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !ok() {
			return fmt.Errorf("this is not so: %s; the receiver has heard of %q", says, s.received)
		}
		s.Say("demo", "as it should be: %s", says)
		return nil
	}
}

// waits returns a step that prints the times between the attempts to report a pod. It fails if there were not want of them,
// or if the delay has not doubled each time.
func (s *script) waits(says, pod string, want int) demo.Step {
	return func(context.Context) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		asked := s.asked[pod]
		if len(asked) != want {
			return fmt.Errorf("%s took %d attempts, not %d", pod, len(asked), want)
		}
		var waits []time.Duration
		for i := 1; i < len(asked); i++ {
			wait := asked[i].Sub(asked[i-1])
			if least := controller.FirstDelay << (i - 1); wait < least {
				return fmt.Errorf("attempt %d for %s came after %v, not %v", i+1, pod, wait, least)
			}
			waits = append(waits, wait.Round(time.Millisecond))
		}
		s.Say("demo", "as it should be: %s; the waits between were %v", says, waits)
		return nil
	}
}

// describe puts what a queue holds into a line. What is there since the start is in brackets.
func describe(in workqueue.Inspection[key]) string {
	names := func(items []workqueue.Item[key]) string {
		out := []string{}
		for _, i := range items {
			if i.PriorityClass == controller.Known && i.DelayedUntil.IsZero() {
				i.Item.Name = "[" + i.Item.Name + "]"
			}
			out = append(out, i.Item.Name)
		}
		return cmp.Or(strings.Join(out, ", "), "none")
	}
	switch {
	case len(in.Running)+len(in.Queued)+len(in.Delayed) > 0:
		slices.SortFunc(in.Delayed, func(a, b workqueue.Item[key]) int { return cmp.Compare(a.Item.Name, b.Item.Name) })
		return "running: " + names(in.Running) + "; queued: " + names(in.Queued) + "; delayed: " + names(in.Delayed)
	case in.ShuttingDown:
		return "shut down and empty"
	}
	return "empty"
}
