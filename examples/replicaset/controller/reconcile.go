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
//
// What it has written is the condition for the next round, also if it has failed
// halfway: until the cache shows it, another look at the cache would repeat it.
func (c *Controller) reconcile(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
	c.reconciling(key)
	var w writes
	again, err := c.round(ctx, &w, key)
	return workqueue.Result{RequeueAfter: again, Until: w.seen()}, err
}

// writes are the conditions that the caches have seen what a round has written.
type writes struct{ conditions []workqueue.Condition }

func (w *writes) add(seen workqueue.Condition) { w.conditions = append(w.conditions, seen) }

// seen is nil if nothing was written.
func (w *writes) seen() workqueue.Condition { return workqueue.All(w.conditions...) }

// round is one reconcile. It returns after how long another one is due, 0 for none.
func (c *Controller) round(ctx context.Context, w *writes, key types.NamespacedName) (again time.Duration, err error) {
	set, err := c.sets.Lister().Get(key)
	if apierrors.IsNotFound(err) {
		c.doomed.Forget(key)
		return 0, nil // deleted; the cluster's garbage collector deletes its pods
	}
	if err != nil {
		return 0, err
	}
	selector, err := selectorOf(set)
	if err != nil {
		// Trying again cannot help before the set is edited, and the edit is
		// an event of its own.
		return 0, workqueue.Terminal(err)
	}

	owned, err := c.claim(ctx, w, set, selector)
	if err != nil {
		return 0, err
	}
	active := make([]*corev1.Pod, 0, len(owned))
	for _, pod := range c.doomed.Without(key, owned) {
		if isActive(pod) {
			active = append(active, pod)
		}
	}

	// The status reports what was found, not the creations and deletions of this
	// reconcile: the events of those pods start the next one.
	status, again := statusOf(set, active, time.Now())
	var scaleErr error
	if set.DeletionTimestamp == nil {
		scaleErr = c.scale(ctx, w, set, active)
	}
	if err := errors.Join(scaleErr, c.writeStatus(ctx, w, set, status)); err != nil {
		return 0, err
	}
	return again, nil
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
