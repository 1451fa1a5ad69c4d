package clientgo

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/examples/replicaset/api"
	"github.com/informerkit/informerkit/examples/replicaset/controller"
)

// claim returns the pods that belong to set, and adopts and releases pods so that
// exactly those that the selector matches do.
func (c *Controller) claim(ctx context.Context, set *api.ReplicaSet, selector labels.Selector) ([]*corev1.Pod, error) {
	pods, err := c.candidates(set)
	if err != nil {
		return nil, err
	}
	var (
		owned  []*corev1.Pod
		failed []error
		live   = func() error { return c.stillLives(ctx, set) }
	)
	for _, p := range pods {
		ref := metav1.GetControllerOfNoCopy(p)
		matches := selector.Matches(labels.Set(p.Labels))
		switch {
		case ref != nil && ref.UID != set.UID:
			continue
		case ref != nil && matches:
			owned = append(owned, p)
		case ref != nil && set.DeletionTimestamp == nil:
			if err := c.release(ctx, set, p); err != nil {
				failed = append(failed, err)
			}
		case ref == nil && matches && set.DeletionTimestamp == nil && controller.IsActive(p):
			if err := live(); err != nil {
				return nil, err
			}
			live = func() error { return nil }
			adopted, err := c.adopt(ctx, set, p)
			if err != nil {
				failed = append(failed, err)
			} else if adopted != nil {
				owned = append(owned, adopted)
			}
		}
	}
	return owned, errors.Join(failed...)
}

// controllerIndex is the name of the index by [controllerOf].
const controllerIndex = "controller"

// controllerOf finds the pods of a controller, and those of a namespace that have
// none.
func controllerOf(obj any) ([]string, error) {
	p, err := pod(obj)
	if err != nil {
		return nil, err
	}
	return []string{indexKey(p.Namespace, ownerUID(p))}, nil
}

func indexKey(namespace string, controller types.UID) string {
	return namespace + "/" + string(controller)
}

// candidates returns the pods of set and the orphans beside them. The index cannot
// be asked for both at one point in time: the orphans come first, so that a pod
// which is being adopted is seen twice rather than not at all.
func (c *Controller) candidates(set *api.ReplicaSet) ([]*corev1.Pod, error) {
	var (
		pods []*corev1.Pod
		at   = map[types.UID]int{}
	)
	for _, key := range []string{indexKey(set.Namespace, ""), indexKey(set.Namespace, set.UID)} {
		found, err := c.pods.GetIndexer().ByIndex(controllerIndex, key)
		if err != nil {
			return nil, err
		}
		for _, obj := range found {
			p, err := pod(obj)
			if err != nil {
				return nil, err
			}
			if i, twice := at[p.UID]; twice {
				pods[i] = p
				continue
			}
			at[p.UID] = len(pods)
			pods = append(pods, p)
		}
	}
	return pods, nil
}

// stillLives asks the API server, not the cache, whether set is still there.
func (c *Controller) stillLives(ctx context.Context, set *api.ReplicaSet) error {
	fresh, err := c.setClient(set.Namespace).Get(ctx, set.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("before adopting or creating pods: %w", err)
	}
	if fresh.UID != set.UID || fresh.DeletionTimestamp != nil {
		return fmt.Errorf("before adopting or creating pods: %s/%s is being deleted or was replaced", set.Namespace, set.Name)
	}
	return nil
}

func (c *Controller) adopt(ctx context.Context, set *api.ReplicaSet, p *corev1.Pod) (*corev1.Pod, error) {
	patch, err := controller.AdoptionPatch(set, p)
	if err != nil {
		return nil, err
	}
	return c.patch(ctx, set, p, patch)
}

func (c *Controller) release(ctx context.Context, set *api.ReplicaSet, p *corev1.Pod) error {
	patch, err := controller.ReleasePatch(set, p)
	if err != nil {
		return err
	}
	_, err = c.patch(ctx, set, p, patch)
	return err
}

// patch returns the patched pod, or nil if it is gone in the meantime.
func (c *Controller) patch(ctx context.Context, set *api.ReplicaSet, p *corev1.Pod, patch []byte) (*corev1.Pod, error) {
	patched, err := c.podClient.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("change the owner of pod %s: %w", p.Name, err)
	}
	c.expectPod(set, patched)
	return patched, nil
}
