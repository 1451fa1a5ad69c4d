package clientgo

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/examples/replicaset/api"
)

// addHandlers says which keys an event puts into the queue.
func (c *Controller) addHandlers() error {
	_, errSets := c.sets.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    c.setAdded,
		UpdateFunc: c.setUpdated,
		DeleteFunc: c.setDeleted,
	})
	_, errPods := c.pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    c.podAdded,
		UpdateFunc: c.podUpdated,
		DeleteFunc: c.podDeleted,
	})
	return errors.Join(errSets, errPods)
}

// A handler notes what the cache shows before it enqueues: the reconcile that
// follows must not find its own writes outstanding any more.

func (c *Controller) setAdded(obj any) {
	if set, ok := obj.(*api.ReplicaSet); ok {
		c.writes.seen(set)
		c.enqueue(set)
	}
}

func (c *Controller) setUpdated(old, obj any) {
	before, ok := old.(*api.ReplicaSet)
	set, ok2 := obj.(*api.ReplicaSet)
	if ok && ok2 && before.ResourceVersion != set.ResourceVersion {
		c.writes.seen(set)
		c.enqueue(set)
	}
}

func (c *Controller) setDeleted(obj any) {
	k, err := key(obj)
	if err != nil {
		utilruntime.HandleError(err)
		return
	}
	c.writes.forget(k)
	c.queue.Add(k)
}

func (c *Controller) podAdded(obj any) {
	p, err := pod(obj)
	if err != nil {
		utilruntime.HandleError(err)
		return
	}
	c.writes.seen(p)
	if metav1.GetControllerOf(p) != nil {
		c.enqueueOwner(p)
	} else {
		c.enqueueMatching(p)
	}
}

func (c *Controller) podUpdated(old, obj any) {
	before, err := pod(old)
	now, err2 := pod(obj)
	if err := errors.Join(err, err2); err != nil {
		utilruntime.HandleError(err)
		return
	}
	if before.ResourceVersion == now.ResourceVersion {
		return
	}
	c.writes.seen(now)
	was, is := ownerUID(before), ownerUID(now)
	if was != is {
		c.enqueueOwner(before)
	}
	switch {
	case is != "":
		c.enqueueOwner(now)
	case was != is || !labels.Equals(before.Labels, now.Labels):
		c.enqueueMatching(now)
	}
}

func (c *Controller) podDeleted(obj any) {
	p, err := pod(obj)
	if err != nil {
		utilruntime.HandleError(err)
		return
	}
	c.writes.gone(p.UID)
	c.enqueueOwner(p)
}

func (c *Controller) enqueue(obj metav1.Object) {
	c.queue.Add(types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()})
}

// enqueueOwner enqueues the set that controls p, if one does.
func (c *Controller) enqueueOwner(p *corev1.Pod) {
	ref := metav1.GetControllerOf(p)
	if ref == nil || ref.Kind != api.Kind || ref.APIVersion != api.GroupVersion.String() {
		return
	}
	c.queue.Add(types.NamespacedName{Namespace: p.Namespace, Name: ref.Name})
}

// enqueueMatching enqueues all sets whose selector matches p.
func (c *Controller) enqueueMatching(p *corev1.Pod) {
	sets, err := c.setsOf(p.Namespace).List(labels.Everything())
	if err != nil {
		utilruntime.HandleError(err)
		return
	}
	for _, set := range sets {
		selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
		if err == nil && !selector.Empty() && selector.Matches(labels.Set(p.Labels)) {
			c.enqueue(set)
		}
	}
}

func ownerUID(p *corev1.Pod) types.UID {
	if ref := metav1.GetControllerOf(p); ref != nil {
		return ref.UID
	}
	return ""
}
