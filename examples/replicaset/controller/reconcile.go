package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/examples/replicaset/api"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/workqueue"
)

// Reconcile brings the pods of one set closer to what the set asks for. It looks
// at the whole state, never at the event that made it run: events may have been
// folded, or missed while the controller was down.
//
// What it writes is the condition for the next call, also if it fails halfway: until the cache
// shows it, another look at the cache would repeat it. The package keeps account of that.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
	set, err := c.sets.Get(key)
	if err != nil {
		return workqueue.Result{}, client.IgnoreNotFound(err) // deleted: the cluster's garbage collector deletes its pods
	}
	selector, err := Selector(set)
	if err != nil {
		// Trying again cannot help before the set is edited, and the edit is
		// an event of its own.
		return workqueue.Result{}, workqueue.Terminal(err)
	}

	owned, err := c.claim(ctx, set, selector)
	if err != nil {
		return workqueue.Result{}, err
	}
	active := make([]*corev1.Pod, 0, len(owned))
	for _, pod := range owned {
		if IsActive(pod) {
			active = append(active, pod)
		}
	}

	// The status reports what was found, not the creations and deletions of this
	// reconcile: the events of those pods start the next one.
	status, again := Status(set, active, time.Now())
	var scaleErr error
	if set.DeletionTimestamp == nil {
		scaleErr = c.scale(ctx, set, active)
	}
	if err := errors.Join(scaleErr, c.writeStatus(ctx, set, status)); err != nil {
		return workqueue.Result{}, err
	}
	return workqueue.Result{RequeueAfter: again}, nil
}

// Selector returns the selector of set, or why it cannot be served. The server
// checks the same of the built-in kind; a custom resource it takes as it is.
func Selector(set *api.ReplicaSet) (labels.Selector, error) {
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	switch {
	case err != nil:
		return nil, fmt.Errorf("spec.selector: %w", err)
	case selector.Empty():
		return nil, errors.New("spec.selector is empty: it would match every pod of the namespace")
	case !selector.Matches(labels.Set(set.Spec.Template.Labels)):
		return nil, fmt.Errorf("spec.selector %q does not match the labels of spec.template: pods would be made without end", selector)
	}
	return selector, nil
}

// Status counts the active pods of set. again is after how long a pod that is
// ready will have been so for spec.minReadySeconds, zero if none is waiting:
// no event is delivered at that time.
func Status(set *api.ReplicaSet, active []*corev1.Pod, now time.Time) (status appsv1.ReplicaSetStatus, again time.Duration) {
	status = *set.Status.DeepCopy() // conditions written by others stay
	status.Replicas = int32(len(active))
	status.ReadyReplicas, status.AvailableReplicas, status.FullyLabeledReplicas = 0, 0, 0
	status.ObservedGeneration = set.Generation

	template := labels.Set(set.Spec.Template.Labels).AsSelectorPreValidated()
	wait := time.Duration(set.Spec.MinReadySeconds) * time.Second
	for _, pod := range active {
		if template.Matches(labels.Set(pod.Labels)) {
			status.FullyLabeledReplicas++
		}
		if !isReady(pod) {
			continue
		}
		status.ReadyReplicas++
		available, after := isAvailable(pod, wait, now)
		if available {
			status.AvailableReplicas++
		} else if again == 0 || after < again {
			again = after
		}
	}
	return status, again
}

// writeStatus sends what differs between status and the cache.
func (c *Controller) writeStatus(ctx context.Context, set *api.ReplicaSet, status appsv1.ReplicaSetStatus) error {
	_, err := c.sets.Status().ModifyFrom(ctx, set, func(set *api.ReplicaSet) error { set.Status = status; return nil })
	if err != nil {
		return fmt.Errorf("update status: %w", err)
	}
	return nil
}
