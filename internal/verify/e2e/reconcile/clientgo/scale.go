package clientgo

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/examples/replicaset/api"
	"github.com/informerkit/informerkit/examples/replicaset/controller"
)

// burst bounds how many pods one round creates or deletes.
const burst = 500

// scale creates the pods that set lacks or deletes those it has too many of.
func (c *Controller) scale(ctx context.Context, set *api.ReplicaSet, active []*corev1.Pod) error {
	switch diff := set.Replicas() - len(active); {
	case diff > 0:
		return c.create(ctx, set, min(diff, burst))
	case diff < 0:
		controller.SortForDeletion(active)
		return c.remove(ctx, keyOf(set), active[:min(-diff, burst)])
	}
	return nil
}

// create makes n pods in batches of 1, 2, 4, …
func (c *Controller) create(ctx context.Context, set *api.ReplicaSet, n int) error {
	if err := c.stillLives(ctx, set); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	for batch := 1; n > 0; batch *= 2 {
		size := min(batch, n)
		err := inParallel(size, func(int) error {
			made, err := c.podClient.CoreV1().Pods(set.Namespace).Create(ctx, controller.NewPod(set), metav1.CreateOptions{})
			if err != nil {
				return err
			}
			c.expectPod(set, made)
			return nil
		})
		if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("create pods: %w", err)
		}
		n -= size
	}
	return nil
}

func (c *Controller) remove(ctx context.Context, key types.NamespacedName, pods []*corev1.Pod) error {
	err := inParallel(len(pods), func(i int) error {
		p := pods[i]
		c.doomed.Add(key, p.UID)
		err := c.podClient.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &p.UID},
		})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			c.doomed.Remove(key, p.UID)
			return err
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("delete surplus pods: %w", err)
	}
	return nil
}

func (c *Controller) expectPod(set *api.ReplicaSet, p *corev1.Pod) {
	expect(&c.writes, keyOf(set), p, func() (*corev1.Pod, error) { return c.podLister.Pods(p.Namespace).Get(p.Name) })
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
