package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/workqueue"
)

const (
	// PatienceAnnotation on a pod says how long it may be pending before that is
	// worth a report, such as "90s".
	PatienceAnnotation = "examples.informerkit.dev/patience"
	// DefaultPatience is that of a pod without the annotation.
	DefaultPatience = time.Minute
)

// sync tells about one pod what there is to tell. Its result says what becomes
// of the key:
//
//	nil            done, until something happens to the pod
//	RequeueAfter   done for now; look again at that time even if nothing happens
//	Terminal       failed, and trying again is pointless
//	other errors   failed; tried again, later each time, MaxAttempts times at most
func (c *Controller) sync(ctx context.Context, key types.NamespacedName) error {
	pod, err := c.pods.Lister().Get(key.Namespace, key.Name)
	if apierrors.IsNotFound(err) {
		if _, known := c.told.get(key); !known {
			return nil // came and went before anybody was told
		}
		return c.say(ctx, Report{Pod: key})
	}
	if err != nil {
		return err
	}
	patience, err := patienceOf(pod)
	if err != nil {
		// Only an edit can mend that, and the edit is an event of its own.
		return workqueue.Terminal(err)
	}

	report := Report{Pod: key, UID: pod.UID, Phase: pod.Status.Phase}
	if report.Phase == "" {
		report.Phase = corev1.PodPending // nobody has said anything yet
	}
	var wait time.Duration
	if report.Phase == corev1.PodPending {
		wait = patience - time.Since(pod.CreationTimestamp.Time)
		report.Overdue = wait <= 0
	}
	if err := c.say(ctx, report); err != nil {
		return err
	}
	if wait > 0 {
		// No event will tell of the moment when the patience ends. If one comes
		// earlier, its key takes the place of the delayed one.
		return workqueue.RequeueAfter(wait)
	}
	return nil
}

// say tells what has not been told before. What did not get through is not
// remembered, so the next attempt tells it again.
func (c *Controller) say(ctx context.Context, r Report) error {
	if last, ok := c.told.get(r.Pod); ok && last == r {
		return nil
	}
	if err := c.tell(ctx, r); err != nil {
		return fmt.Errorf("report not delivered: %w", err)
	}
	c.told.set(r)
	return nil
}

func patienceOf(pod *corev1.Pod) (time.Duration, error) {
	text, ok := pod.Annotations[PatienceAnnotation]
	if !ok {
		return DefaultPatience, nil
	}
	patience, err := time.ParseDuration(text)
	if err != nil || patience <= 0 {
		return 0, fmt.Errorf("annotation %s is %q; it must be a positive duration such as 90s", PatienceAnnotation, text)
	}
	return patience, nil
}
