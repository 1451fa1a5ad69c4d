package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/informer"
)

// The priority classes of the queue. After a start there may be thousands of pods
// to check. A pod that changes in the meantime does not wait behind them.
const (
	Changed = iota // something happened to the pod
	Known          // the pod was there already when the controller started
)

// maxWait limits how long a pod of each priority class may wait behind the other
// class. It keeps a flood of changes from starving the first list.
var maxWait = []time.Duration{Changed: 0, Known: 30 * time.Second}

// enqueue returns the handler. It only adds the key of the pod to the queue,
// whatever the event: a worker decides from the state that it finds. A key that is
// queued already is not queued twice. A change moves a key from class Known to
// class Changed.
func (c *Controller) enqueue() informer.Handler[*corev1.Pod] {
	return informer.WhenElse(informer.InitialOrResync[*corev1.Pod](),
		informer.EnqueueKey[*corev1.Pod](c.queue.PriorityClass(Known)),
		informer.EnqueueKey[*corev1.Pod](c.queue))
}
