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
	"k8s.io/apimachinery/pkg/types"

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
	set, err := c.setLister.get(key.Namespace, key.Name)
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
	written, err := c.setClient.updateStatus(ctx, set)
	if err != nil {
		return fmt.Errorf("update status: %w", err)
	}
	expect(&c.writes, keyOf(set), written, func() (*api.ReplicaSet, error) {
		return c.setLister.get(set.Namespace, set.Name)
	})
	return nil
}

func keyOf(set *api.ReplicaSet) types.NamespacedName {
	return types.NamespacedName{Namespace: set.Namespace, Name: set.Name}
}
