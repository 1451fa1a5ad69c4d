package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/informer"
)

// The classes of the queue. After a start there may be thousands of pods to look
// at; a pod that changes in the meantime is news, and does not wait behind them.
const (
	Changed = iota // something happened to the pod
	Known          // the pod was there already when the controller started
)

// budgets says how long a pod of each class may be made to wait by the other. It
// is what keeps a flood of changes from starving the first list.
var budgets = []time.Duration{Changed: 0, Known: 30 * time.Second}

// enqueue returns the handler. All it does is to put the key of the pod into the
// queue, whatever happened: what there is to do follows from the state that a
// worker will find, and a pod that is in the queue already stays there once. If
// it waits there as one that is known, a change makes it go first.
func (c *Controller) enqueue() informer.Handler[*corev1.Pod] {
	return informer.WhenElse(informer.Background[*corev1.Pod](),
		informer.EnqueueKey[*corev1.Pod](c.queue.Class(Known)),
		informer.EnqueueKey[*corev1.Pod](c.queue))
}
