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
	// PatienceAnnotation on a pod is how long it may be pending before it is
	// reported as overdue, such as "90s".
	PatienceAnnotation = "examples.informerkit.dev/patience"
	// DefaultPatience is that of a pod without the annotation.
	DefaultPatience = time.Minute
)

// sync reports the state of one pod if it has changed. Its result determines what
// happens to the key:
//
//	Result{}, nil        done, until something happens to the pod
//	RequeueAfter, nil    done for now; look again at that time even if nothing happens
//	Terminal             failed, and trying again is pointless
//	another error        failed; tried again, later each time, MaxAttempts times at most
func (c *Controller) sync(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
	pod, err := c.pods.Lister().Get(key)
	if apierrors.IsNotFound(err) {
		if _, known := c.sent.Load(key); !known {
			return workqueue.Result{}, nil // created and deleted before it was reported
		}
		return workqueue.Result{}, c.say(ctx, Report{Pod: key})
	}
	if err != nil {
		return workqueue.Result{}, err
	}
	patience, err := patienceOf(pod)
	if err != nil {
		// Only an edit can fix that, and the edit causes an event.
		return workqueue.Result{}, workqueue.Terminal(err)
	}

	report := Report{Pod: key, UID: pod.UID, Phase: pod.Status.Phase}
	if report.Phase == "" {
		report.Phase = corev1.PodPending // no status has been written yet
	}
	var wait time.Duration
	if report.Phase == corev1.PodPending {
		wait = patience - time.Since(pod.CreationTimestamp.Time)
		report.Overdue = wait <= 0
	}
	if err := c.say(ctx, report); err != nil {
		return workqueue.Result{}, err
	}
	if wait > 0 {
		// No event is delivered when the patience ends. If one is delivered earlier,
		// its key replaces the delayed one.
		return workqueue.Result{RequeueAfter: wait}, nil
	}
	return workqueue.Result{}, nil
}

// say delivers r unless it equals the last delivered report. A report whose
// delivery failed is not stored, so the next attempt delivers it again.
func (c *Controller) say(ctx context.Context, r Report) error {
	if last, _ := c.sent.Load(r.Pod); last == r {
		return nil
	}
	if err := c.send(ctx, r); err != nil {
		return fmt.Errorf("report not delivered: %w", err)
	}
	if r.Phase == "" {
		c.sent.Delete(r.Pod)
	} else {
		c.sent.Store(r.Pod, r)
	}
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

// Report is what the controller reports about a pod. It is comparable, so that a
// report equal to the previous one can be skipped.
type Report struct {
	Pod types.NamespacedName
	// UID distinguishes a pod from an earlier one of the same name.
	UID types.UID
	// Phase is the pod's phase; empty if the pod was deleted.
	Phase corev1.PodPhase
	// Overdue is set if the pod has been pending for longer than its patience.
	Overdue bool
}

// State returns the reported state of the pod.
func (r Report) State() string {
	switch {
	case r.Phase == "":
		return "gone"
	case r.Overdue:
		return string(r.Phase) + " for too long"
	default:
		return string(r.Phase)
	}
}

// String returns the report as a sentence.
func (r Report) String() string { return fmt.Sprintf("pod %s is %s", r.Pod, r.State()) }
