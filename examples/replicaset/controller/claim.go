package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
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
func (c *Controller) claim(ctx context.Context, w *writes, set *api.ReplicaSet, selector labels.Selector) ([]*corev1.Pod, error) {
	var (
		owned  []*corev1.Pod
		failed []error
		// One look at the server is enough for all pods of this round.
		live = sync.OnceValue(func() error { return c.stillLives(ctx, set) })
	)
	for pod := range c.candidates(set) {
		ref := metav1.GetControllerOfNoCopy(pod)
		matches := selector.Matches(labels.Set(pod.Labels))
		switch {
		case ref != nil && ref.UID != set.UID:
			continue
		case ref != nil && matches:
			owned = append(owned, pod)
		case ref != nil && set.DeletionTimestamp == nil:
			if err := c.release(ctx, w, set, pod); err != nil {
				failed = append(failed, err)
			}
		case ref == nil && matches && set.DeletionTimestamp == nil && isActive(pod):
			if err := live(); err != nil {
				return nil, err
			}
			adopted, err := c.adopt(ctx, w, set, pod)
			if err != nil {
				failed = append(failed, err)
			} else if adopted != nil {
				owned = append(owned, adopted)
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

// candidates yields the pods of set and the orphans beside them, all of one point
// in time.
func (c *Controller) candidates(set *api.ReplicaSet) iter.Seq[*corev1.Pod] {
	pods := c.pods.Snapshot()
	owned := indexer.ByIndex(pods, c.byOwner, podOwner{set.Namespace, set.UID})
	orphans := indexer.ByIndex(pods, c.byOwner, podOwner{namespace: set.Namespace})
	return func(yield func(*corev1.Pod) bool) {
		for _, some := range []iter.Seq[*corev1.Pod]{owned, orphans} {
			for pod := range some {
				if !yield(pod) {
					return
				}
			}
		}
	}
}

// stillLives asks the API server, not the cache, whether set is still there
// and not being deleted. Without it a stale cache could give an orphan to a
// set that was deleted, and the garbage collector would delete the orphan.
func (c *Controller) stillLives(ctx context.Context, set *api.ReplicaSet) error {
	fresh, err := c.setClient.Get(ctx, client.KeyOf(set))
	if err != nil {
		return fmt.Errorf("before adopting pods: %w", err)
	}
	if fresh.UID != set.UID || fresh.DeletionTimestamp != nil {
		return fmt.Errorf("before adopting pods: %s/%s is being deleted or was replaced", set.Namespace, set.Name)
	}
	return nil
}

func (c *Controller) adopt(ctx context.Context, w *writes, set *api.ReplicaSet, pod *corev1.Pod) (*corev1.Pod, error) {
	patch, err := AdoptionPatch(set, pod)
	if err != nil {
		return nil, err
	}
	adopted, err := c.podClient.Patch(ctx, client.KeyOf(pod), types.MergePatchType, patch)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil // deleted in the meantime: nothing to adopt
	case err != nil:
		return nil, fmt.Errorf("adopt pod %s: %w", pod.Name, err)
	}
	c.trace(set, Adopted, pod.Name)
	w.add(c.pods.Seen(adopted))
	return adopted, nil
}

func (c *Controller) release(ctx context.Context, w *writes, set *api.ReplicaSet, pod *corev1.Pod) error {
	patch, err := ReleasePatch(set, pod)
	if err != nil {
		return err
	}
	released, err := c.podClient.Patch(ctx, client.KeyOf(pod), types.MergePatchType, patch)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("release pod %s: %w", pod.Name, err)
	}
	c.trace(set, Released, pod.Name)
	w.add(c.pods.Seen(released))
	return nil
}

// ownersPatch replaces the owner references of a pod. The UID in the patch is a
// precondition: the server refuses to apply it to a later pod of the same name.
// So is the resourceVersion: a merge patch replaces the list as a whole, and
// must not undo what another client has just written to it.
func ownersPatch(pod *corev1.Pod, owners []metav1.OwnerReference) ([]byte, error) {
	return json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "resourceVersion": pod.ResourceVersion, "ownerReferences": owners,
	}})
}

func controllerRef(set *api.ReplicaSet) metav1.OwnerReference {
	return *metav1.NewControllerRef(set, api.GroupVersionKind)
}

func withoutOwner(refs []metav1.OwnerReference, uid types.UID) []metav1.OwnerReference {
	kept := []metav1.OwnerReference{} // not nil: in a merge patch, null would mean something else
	for _, ref := range refs {
		if ref.UID != uid {
			kept = append(kept, ref)
		}
	}
	return kept
}
