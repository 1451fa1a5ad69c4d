package controller

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/informerkit/informerkit/examples/replicaset/api"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
)

// addHandlers maps each event to the keys that it adds to the queue. They are always
// keys of sets, because a worker reconciles sets. A handler does no work itself.
// Events are delivered to it in order, so it must return fast. The queue merges
// many events about one set into one reconcile.
func (c *Controller) addHandlers() error {
	_, errSets := informer.EnqueueKeysOf(c.sets, c.queue, informer.HandlerOptions{Name: "replicasets"})

	_, errPods := c.pods.AddHandler(informer.Handlers(
		// The set that controls the pod, and the one that did so before, if it is another.
		informer.EnqueueOwner[*corev1.Pod](c.queue, informer.Owner{Kind: api.GroupVersionKind}),
		// An orphan has no owner to enqueue. Any set that it matches may adopt it.
		informer.When(mayBeAdopted(), informer.HandlerFuncs[*corev1.Pod]{
			AddFunc:    func(pod *corev1.Pod, _ bool) { c.enqueueMatching(pod) },
			UpdateFunc: func(_, pod *corev1.Pod) { c.enqueueMatching(pod) },
		}),
	), informer.HandlerOptions{Name: "pods"})
	return errors.Join(errSets, errPods)
}

// mayBeAdopted selects pods without a controller that are new, have just lost
// their controller, or have got other labels.
func mayBeAdopted() informer.Predicate[*corev1.Pod] {
	orphan := func(e informer.Event[*corev1.Pod]) bool {
		return metav1.GetControllerOfNoCopy(e.Object()) == nil
	}
	released := func(e informer.Event[*corev1.Pod]) bool {
		return e.Type == informer.Updated && metav1.GetControllerOfNoCopy(e.Old) != nil
	}
	return informer.And(orphan, informer.Or(released, informer.LabelsChanged[*corev1.Pod]()))
}

// enqueueMatching enqueues all sets whose selector matches pod.
func (c *Controller) enqueueMatching(pod *corev1.Pod) {
	for set := range c.sets.Snapshot().ByNamespace(pod.Namespace) {
		selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
		if err == nil && !selector.Empty() && selector.Matches(labels.Set(pod.Labels)) {
			c.queue.Add(client.KeyOf(set))
		}
	}
}
