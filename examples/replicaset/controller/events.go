package controller

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/examples/replicaset/api"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/internal/object"
)

// addHandlers says which keys an event puts into the queue. A handler does no
// work itself: it is called in the order of events, so it must return fast, and
// the queue folds many events about one set into one reconcile.
func (c *Controller) addHandlers() error {
	_, errSets := c.sets.AddHandler(informer.HandlerFuncs[*api.ReplicaSet]{
		AddFunc:    func(set *api.ReplicaSet) { c.queue.Add(object.KeyOf(set)) },
		UpdateFunc: c.setUpdated,
		DeleteFunc: func(set *api.ReplicaSet) { c.queue.Add(object.KeyOf(set)) },
	}, informer.HandlerOptions{Name: "replicasets"})

	_, errPods := c.pods.AddHandler(informer.HandlerFuncs[*corev1.Pod]{
		AddFunc:    c.podAdded,
		UpdateFunc: c.podUpdated,
		DeleteFunc: c.podDeleted,
	}, informer.HandlerOptions{Name: "pods"})
	return errors.Join(errSets, errPods)
}

func (c *Controller) setUpdated(old, set *api.ReplicaSet) {
	if old.ResourceVersion != set.ResourceVersion { // equal: a resync or a relist, nothing has changed
		c.queue.Add(object.KeyOf(set))
	}
}

func (c *Controller) podAdded(pod *corev1.Pod) {
	if metav1.GetControllerOf(pod) != nil {
		c.enqueueOwner(pod)
	} else {
		c.enqueueMatching(pod) // an orphan: some set may adopt it
	}
}

func (c *Controller) podUpdated(old, pod *corev1.Pod) {
	if old.ResourceVersion == pod.ResourceVersion {
		return
	}
	before, now := ownerUID(old), ownerUID(pod)
	if before != now {
		c.enqueueOwner(old) // it has one pod fewer
	}
	switch {
	case now != "":
		c.enqueueOwner(pod)
	case before != now || !labels.Equals(old.Labels, pod.Labels):
		c.enqueueMatching(pod) // a new orphan, or one that other sets match now
	}
}

func (c *Controller) podDeleted(pod *corev1.Pod) {
	c.doomed.remove(pod.UID)
	c.enqueueOwner(pod)
}

// enqueueOwner enqueues the set that controls pod, if one does.
func (c *Controller) enqueueOwner(pod *corev1.Pod) {
	ref := metav1.GetControllerOf(pod)
	if ref == nil || ref.Kind != api.Kind || ref.APIVersion != api.GroupVersion.String() {
		return
	}
	c.queue.Add(types.NamespacedName{Namespace: pod.Namespace, Name: ref.Name})
}

// enqueueMatching enqueues all sets whose selector matches pod.
func (c *Controller) enqueueMatching(pod *corev1.Pod) {
	for set := range c.sets.Snapshot().ByNamespace(pod.Namespace) {
		selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
		if err == nil && !selector.Empty() && selector.Matches(labels.Set(pod.Labels)) {
			c.queue.Add(object.KeyOf(set))
		}
	}
}

func ownerUID(pod *corev1.Pod) types.UID {
	if ref := metav1.GetControllerOf(pod); ref != nil {
		return ref.UID
	}
	return ""
}
