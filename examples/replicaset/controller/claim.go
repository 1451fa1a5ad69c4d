package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/examples/replicaset/api"
	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/informer/client"
)

// claim returns the pods that belong to set. A pod belongs to the one object
// that its controller reference names, and that reference should hold exactly
// for the pods that the selector matches. So claim
//
//   - keeps a pod that refers to set and matches,
//   - releases a pod that refers to set and no longer matches: a user has
//     relabelled it, to look at it in peace for instance,
//   - adopts a pod that matches and refers to no controller.
//
// A pod that refers to another controller is left alone, whatever its labels.
func (c *Controller) claim(ctx context.Context, set *api.ReplicaSet, selector labels.Selector) ([]*corev1.Pod, error) {
	var (
		owned  []*corev1.Pod
		failed []error
		// One look at the server is enough for all pods of this round.
		live = sync.OnceValue(func() error { return c.stillLives(ctx, set) })
	)
	for _, pod := range c.candidates(set) {
		ref := metav1.GetControllerOfNoCopy(pod)
		matches := selector.Matches(labels.Set(pod.Labels))
		switch {
		case ref != nil && ref.UID != set.UID:
			continue
		case ref != nil && matches:
			owned = append(owned, pod)
		case ref != nil && set.DeletionTimestamp == nil:
			if _, err := c.own(ctx, set, pod, released); err != nil {
				failed = append(failed, err)
			}
		case ref == nil && matches && set.DeletionTimestamp == nil && IsActive(pod):
			if err := live(); err != nil {
				return nil, err
			}
			pod, err := c.own(ctx, set, pod, adopted)
			if err != nil {
				failed = append(failed, err)
			} else if pod != nil {
				owned = append(owned, pod)
			}
		}
	}
	return owned, errors.Join(failed...)
}

// byController finds the pods of a controller, and with the empty UID those of a
// namespace that have none. Without the index each round would look at all pods of
// the namespace, and a namespace with many sets would cost the square of them.
func byController() *indexer.Index[*corev1.Pod, podOwner] {
	return indexer.NewSingleIndex("controller", func(pod *corev1.Pod) (podOwner, bool) {
		owner := podOwner{namespace: pod.Namespace}
		if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
			owner.uid = ref.UID
		}
		return owner, true
	})
}

type podOwner struct {
	namespace string
	uid       types.UID
}

// candidates returns the pods of set and the orphans beside them, all of one point
// in time.
func (c *Controller) candidates(set *api.ReplicaSet) []*corev1.Pod {
	pods := c.pods.Cache.Snapshot()
	owned := slices.Collect(indexer.ByIndex(pods, c.byOwner, podOwner{set.Namespace, set.UID}))
	return slices.AppendSeq(owned, indexer.ByIndex(pods, c.byOwner, podOwner{namespace: set.Namespace}))
}

// stillLives asks the API server, not the cache, whether set is still there
// and not being deleted. Without it a stale cache could give an orphan to a
// set that was deleted, and the garbage collector would delete the orphan. And pods
// would be created for such a set, deleted, and created again, until the cache is up to date.
func (c *Controller) stillLives(ctx context.Context, set *api.ReplicaSet) error {
	fresh, err := c.sets.Client.Get(ctx, client.KeyOf(set))
	if err != nil {
		return fmt.Errorf("before adopting or creating pods: %w", err)
	}
	if fresh.UID != set.UID || fresh.DeletionTimestamp != nil {
		return fmt.Errorf("before adopting or creating pods: %s/%s is being deleted or was replaced", set.Namespace, set.Name)
	}
	return nil
}

// own adopts or releases a pod, and returns the pod as it is then; nil if it is gone. Only the reference to set is sent. A
// pod that has changed meanwhile is left to the next reconcile: a new label or another controller may decide otherwise.
func (c *Controller) own(ctx context.Context, set *api.ReplicaSet, pod *corev1.Pod, action string) (*corev1.Pod, error) {
	first := true
	changed, err := c.pods.ModifyFrom(ctx, pod, func(pod *corev1.Pod) error {
		if !first {
			return errors.New("it has changed since the cache has seen it")
		}
		first = false
		pod.OwnerReferences = slices.DeleteFunc(pod.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == set.UID })
		if action == adopted {
			pod.OwnerReferences = append(pod.OwnerReferences, controllerRef(set))
		}
		return nil
	})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil // deleted in the meantime
	case err != nil:
		return nil, fmt.Errorf("pod %s cannot be %s: %w", pod.Name, action, err)
	}
	c.log(set, action, pod.Name)
	return changed, nil
}

func controllerRef(set *api.ReplicaSet) metav1.OwnerReference {
	return *metav1.NewControllerRef(set, api.GroupVersionKind)
}
