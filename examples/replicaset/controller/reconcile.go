package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/examples/replicaset/api"
	"github.com/informerkit/informerkit/workqueue"
)

// reconcile brings the pods of one set closer to what the set asks for. It looks
// at the whole state, never at the event that made it run: events may have been
// folded, or missed while the controller was down.
func (c *Controller) reconcile(ctx context.Context, key types.NamespacedName) error {
	c.reconciling(key)
	set, err := c.sets.Lister().Get(key.Namespace, key.Name)
	if apierrors.IsNotFound(err) {
		return nil // deleted; the cluster's garbage collector deletes its pods
	}
	if err != nil {
		return err
	}
	selector, err := selectorOf(set)
	if err != nil {
		// Trying again cannot help before somebody edits the set, and the edit is
		// an event of its own.
		return workqueue.Terminal(err)
	}

	owned, err := c.claim(ctx, set, selector)
	if err != nil {
		return err
	}
	active := make([]*corev1.Pod, 0, len(owned))
	for _, pod := range owned {
		if isActive(pod) && !c.doomed.has(pod.UID) {
			active = append(active, pod)
		}
	}

	// The status tells of what was found, not of what is done about it now: the
	// new pods' own events bring the next round.
	status, again := statusOf(set, active, time.Now())
	var scaleErr error
	if set.DeletionTimestamp == nil {
		scaleErr = c.scale(ctx, set, active)
	}
	if err := errors.Join(scaleErr, c.writeStatus(ctx, set, status)); err != nil {
		return err
	}
	if again > 0 {
		return workqueue.RequeueAfter(again)
	}
	return nil
}

// selectorOf returns the selector of set, or why it cannot be served. The server
// checks the same of the built-in kind; a custom resource it takes as it is.
func selectorOf(set *api.ReplicaSet) (labels.Selector, error) {
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
