package script

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/examples/workqueue/controller"
	"github.com/informerkit/informerkit/workqueue"
)

// first are the pods that are there before the controller is.
var first = []string{"old-1", "old-2", "old-3"}

// last are those that it gets just before it is stopped.
var last = []string{"last-1", "last-2", "last-3"}

func (s *script) createFirst(ctx context.Context) error {
	s.Say("you", "create pods old-1, old-2 and old-3; then start the controller, with one worker")
	s.receiver.hold()
	for _, name := range first {
		if err := s.create(ctx, name, nil); err != nil {
			return err
		}
	}
	return nil
}

func (s *script) play(ctx context.Context) error {
	defer s.receiver.release() // else the end of an interrupted demo would wait for a held worker
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"news goes first", s.newsGoesFirst},
		{"a failure is retried", s.failureIsRetried},
		{"a poison pod is given up", s.poisonIsGivenUp},
		{"a mistake is not retried", s.mistakeIsNotRetried},
		{"time passes", s.timePasses},
		{"a change is reported", s.changeIsReported},
	} {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	if s.Stay != nil {
		s.Stay()
		<-ctx.Done()
		<-s.stopped
		s.look()
		s.Say("queue", "in all: %s", s.metrics)
		return nil
	}
	if err := s.stopDrains(ctx); err != nil {
		return fmt.Errorf("stopping drains the queue: %w", err)
	}
	return nil
}

// newsGoesFirst creates a pod while those of the first list wait.
func (s *script) newsGoesFirst(ctx context.Context) error {
	if err := s.until(ctx, "the first list", func() bool {
		in := s.controller.Inspect()
		return len(in.Running) == 1 && len(in.Queued) == len(first)-1
	}); err != nil {
		return err
	}
	s.Say("receiver", "is busy, so the worker has to wait")
	s.look()

	s.Say("you", "create pod news")
	if err := s.create(ctx, "news", nil); err != nil {
		return err
	}
	if err := s.until(ctx, "pod news to be queued", func() bool {
		return slices.ContainsFunc(s.controller.Inspect().Queued, func(i workqueue.Item[key]) bool { return i.Item.Name == "news" })
	}); err != nil {
		return err
	}
	s.look()
	s.Say("receiver", "is free again")
	s.receiver.release()
	for _, name := range append([]string{"news"}, first...) {
		if err := s.untilReported(ctx, name, corev1.PodPending); err != nil {
			return err
		}
	}
	if n := s.receiver.position(about("news", corev1.PodPending)); n != 1 {
		return fmt.Errorf("pod news was number %d, not right behind the one being reported", n+1)
	}
	s.Say("demo", "as it should be: the news did not wait behind the first list")
	return nil
}

// failureIsRetried creates a pod whose report succeeds at the third attempt.
func (s *script) failureIsRetried(ctx context.Context) error {
	s.Say("you", "create pod flaky; the receiver will not answer at first")
	if err := s.create(ctx, "flaky", nil); err != nil {
		return err
	}
	if err := s.untilReported(ctx, "flaky", corev1.PodPending); err != nil {
		return err
	}
	waits, err := s.receiver.waits("flaky", 3)
	if err != nil {
		return err
	}
	s.Say("demo", "as it should be: the third attempt succeeded; the waits between were %v", waits)
	return nil
}

// poisonIsGivenUp creates a pod whose report fails at every attempt.
func (s *script) poisonIsGivenUp(ctx context.Context) error {
	s.Say("you", "create pod poison; the receiver will never answer")
	if err := s.create(ctx, "poison", nil); err != nil {
		return err
	}
	if err := s.untilEnded(ctx, "poison", workqueue.Dropped, 1); err != nil {
		return err
	}
	waits, err := s.receiver.waits("poison", controller.MaxAttempts)
	if err != nil {
		return err
	}
	s.Say("demo", "as it should be: dropped after %d attempts; the waits between were %v", controller.MaxAttempts, waits)
	return nil
}

// mistakeIsNotRetried has a pod with which only its owner can do something.
func (s *script) mistakeIsNotRetried(ctx context.Context) error {
	s.Say("you", "create pod slow with the patience \"soon\", which is no duration")
	if err := s.create(ctx, "slow", map[string]string{controller.PatienceAnnotation: "soon"}); err != nil {
		return err
	}
	if err := s.untilEnded(ctx, "slow", workqueue.Dropped, 1); err != nil {
		return err
	}
	if s.ended("slow", workqueue.Retried) > 0 {
		return errors.New("pod slow was tried again, although that is pointless")
	}
	s.Say("demo", "as it should be: one attempt, and no other before you change something")
	return nil
}

// timePasses fixes the pod, and lets its patience end without any event.
func (s *script) timePasses(ctx context.Context) error {
	s.Say("you", "set the patience of pod slow to 2s")
	began := time.Now()
	_, err := s.client.Patch(ctx, types.NamespacedName{Namespace: s.Namespace, Name: "slow"}, types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"2s"}}}`, controller.PatienceAnnotation))
	if err != nil {
		return err
	}
	if err := s.until(ctx, "pod slow to be overdue", func() bool {
		return s.receiver.position(func(r controller.Report) bool { return r.Pod.Name == "slow" && r.Overdue }) >= 0
	}); err != nil {
		return err
	}
	s.Say("demo", "as it should be: looked at again after %v, by itself", time.Since(began).Round(10*time.Millisecond))
	return nil
}

func (s *script) changeIsReported(ctx context.Context) error {
	s.Say("you", "let pod slow run")
	pod, err := s.client.Get(ctx, types.NamespacedName{Namespace: s.Namespace, Name: "slow"})
	if err != nil {
		return err
	}
	pod.Status.Phase = corev1.PodRunning
	if _, err := s.client.Status().Update(ctx, pod); err != nil {
		return err
	}
	return s.untilReported(ctx, "slow", corev1.PodRunning)
}

// stopDrains stops the controller while there is something in the queue.
func (s *script) stopDrains(ctx context.Context) error {
	s.Say("you", "create pods last-1, last-2 and last-3, and stop the controller at once")
	s.receiver.hold()
	for _, name := range last {
		if err := s.create(ctx, name, nil); err != nil {
			return err
		}
	}
	if err := s.until(ctx, "the pods to be queued", func() bool {
		in := s.controller.Inspect()
		// By name, since the worker may still have the key of the step before.
		return len(in.Running) == 1 && in.Running[0].Item.Name == last[0] && len(in.Queued) == len(last)-1
	}); err != nil {
		return err
	}
	before := s.look()
	s.stop()
	s.receiver.release()
	select {
	case <-s.stopped:
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, name := range last {
		if s.receiver.position(about(name, corev1.PodPending)) < 0 {
			return fmt.Errorf("pod %s was in the queue, and no report of it arrived", name)
		}
	}
	after := s.look()
	if !after.ShuttingDown || len(after.Queued)+len(after.Running)+len(after.Delayed) > 0 {
		return errors.New("there is something left in the queue")
	}
	// What was delayed, and what asked to be looked at again during the stop.
	if want, lost := len(before.Delayed)+len(last), after.Stats.ShutdownLosses; lost != uint64(want) {
		return fmt.Errorf("the stop dropped %d keys; it should be the %d that were delayed", lost, want)
	}
	s.Say("queue", "in all: %s", s.metrics)
	s.Say("demo", "as it should be: what was queued was worked off; %d keys were delayed, and the next start will find their pods", after.Stats.ShutdownLosses)
	return nil
}

// about returns what matches reports of a pod's phase.
func about(pod string, phase corev1.PodPhase) func(controller.Report) bool {
	return func(r controller.Report) bool { return r.Pod.Name == pod && r.Phase == phase }
}

// untilReported waits until the phase of a pod is delivered and the attempt has ended.
func (s *script) untilReported(ctx context.Context, pod string, phase corev1.PodPhase) error {
	return s.until(ctx, fmt.Sprintf("pod %s to be reported as %s", pod, phase), func() bool {
		if s.receiver.position(about(pod, phase)) < 0 {
			return false
		}
		if phase == corev1.PodPending {
			return s.ended(pod, workqueue.Requeued) > 0
		}
		return s.ended(pod, workqueue.Succeeded) > 0
	})
}

// untilEnded waits until n attempts for a pod have ended with the action.
func (s *script) untilEnded(ctx context.Context, pod string, action workqueue.Action, n int) error {
	return s.until(ctx, fmt.Sprintf("an attempt for pod %s to be %s", pod, action), func() bool { return s.ended(pod, action) >= n })
}
