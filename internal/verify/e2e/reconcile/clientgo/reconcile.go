package clientgo

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/listers"

	"github.com/informerkit/informerkit/examples/replicaset/api"
	"github.com/informerkit/informerkit/examples/replicaset/controller"
)

// reconcile brings the pods of one set closer to what the set asks for. again, if
// not zero, is after how long it wants to be called once more.
func (c *Controller) reconcile(ctx context.Context, key types.NamespacedName) (again time.Duration, err error) {
	c.reconciling(key)
	// The caches do not show yet what an earlier round has written. The event that
	// shows it enqueues the set once more.
	if wait := c.writes.outstanding(key); wait > 0 {
		return wait, nil
	}
	set, err := c.setsOf(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		c.doomed.Forget(key)
		return 0, nil // deleted; the cluster's garbage collector deletes its pods
	}
	if err != nil {
		return 0, err
	}
	selector, err := controller.Selector(set)
	if err != nil {
		return 0, errors.Join(errTerminal, err)
	}

	owned, err := c.claim(ctx, set, selector)
	if err != nil {
		return 0, err
	}
	active := make([]*corev1.Pod, 0, len(owned))
	for _, p := range c.doomed.Without(key, owned) {
		if controller.IsActive(p) {
			active = append(active, p)
		}
	}
	status, again := controller.Status(set, active, time.Now())
	var scaleErr error
	if set.DeletionTimestamp == nil {
		scaleErr = c.scale(ctx, set, active)
	}
	return again, errors.Join(scaleErr, c.writeStatus(ctx, set, status))
}

// writeStatus writes status if it differs from what the cache has.
func (c *Controller) writeStatus(ctx context.Context, set *api.ReplicaSet, status appsv1.ReplicaSetStatus) error {
	if equality.Semantic.DeepEqual(set.Status, status) {
		return nil
	}
	set = set.DeepCopy()
	set.Status = status
	written, err := c.setClient(set.Namespace).UpdateStatus(ctx, set, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("update status: %w", err)
	}
	expect(&c.writes, keyOf(set), written, func() (*api.ReplicaSet, error) { return c.setsOf(set.Namespace).Get(set.Name) })
	return nil
}

func keyOf(set *api.ReplicaSet) types.NamespacedName {
	return types.NamespacedName{Namespace: set.Namespace, Name: set.Name}
}

// setsOf lists the sets of a namespace that the cache has.
func (c *Controller) setsOf(namespace string) listers.ResourceIndexer[*api.ReplicaSet] {
	return listers.NewNamespaced(c.setLister, namespace)
}
