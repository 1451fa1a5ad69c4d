package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/examples/replicaset/api"
	"github.com/informerkit/informerkit/informer/client"
)

// burst limits how many pods one reconcile creates or deletes. The next reconcile,
// started by the events of this one, continues.
const burst = 500

// scale creates the pods that set lacks or deletes those it has too many of.
//
// The cache that the next round reads from lags behind the server. A controller
// that took it at its word would create the same pods again, and delete others
// than it did before. So the set is parked until the cache shows the new pods, and those
// that were deleted as deleted, or not at all (see Reconcile).
func (c *Controller) scale(ctx context.Context, set *api.ReplicaSet, active []*corev1.Pod) error {
	switch diff := set.Replicas() - len(active); {
	case diff > 0:
		return c.create(ctx, set, min(diff, burst))
	case diff < 0:
		SortForDeletion(active)
		return c.remove(ctx, set, active[:min(-diff, burst)])
	}
	return nil
}

// create makes n pods in batches of 1, 2, 4, …: if the server refuses the first
// (a quota is used up, the template is invalid), it is asked once, not n times.
func (c *Controller) create(ctx context.Context, set *api.ReplicaSet, n int) error {
	if err := c.stillLives(ctx, set); err != nil {
		return client.IgnoreNotFound(err) // it goes, with its pods: its deletion is an event
	}
	for batch := 1; n > 0; batch *= 2 {
		size := min(batch, n)
		err := inParallel(size, func(int) error {
			pod, err := c.pods.Create(ctx, NewPod(set))
			if err == nil {
				c.log(set, created, pod.Name)
			}
			return err
		})
		if err != nil {
			if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
				return nil // nothing can be created there any more, and the set goes too
			}
			return fmt.Errorf("create pods: %w", err)
		}
		n -= size
	}
	return nil
}

func (c *Controller) remove(ctx context.Context, set *api.ReplicaSet, pods []*corev1.Pod) error {
	err := inParallel(len(pods), func(i int) error {
		pod := pods[i]
		err := c.pods.Delete(ctx, client.KeyOf(pod), client.Exactly(pod))
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil // already deleted, or another pod has the name by now
		}
		if err != nil {
			return err
		}
		c.log(set, deleted, pod.Name)
		return nil
	})
	if err != nil {
		return fmt.Errorf("delete surplus pods: %w", err)
	}
	return nil
}

// NewPod returns a pod made from the template of set.
func NewPod(set *api.ReplicaSet) *corev1.Pod {
	template := set.Spec.Template.DeepCopy() // the cached object is shared: never write to it
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName:    set.Name + "-",
			Namespace:       set.Namespace,
			Labels:          map[string]string{},
			Annotations:     template.Annotations,
			Finalizers:      template.Finalizers,
			OwnerReferences: []metav1.OwnerReference{controllerRef(set)},
		},
		Spec: template.Spec,
	}
	maps.Copy(pod.Labels, template.Labels)
	pod.Labels[api.Label] = api.LabelValue
	return pod
}

// inParallel calls f for 0 … n-1 at the same time and joins the errors.
func inParallel(n int, f func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
