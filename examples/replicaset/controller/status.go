package controller

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/informerkit/informerkit/examples/replicaset/api"
)

// Status counts the active pods of set. again is after how long a pod that is
// ready will have been so for spec.minReadySeconds, zero if none is waiting:
// no event is delivered at that time.
func Status(set *api.ReplicaSet, active []*corev1.Pod, now time.Time) (status appsv1.ReplicaSetStatus, again time.Duration) {
	status = *set.Status.DeepCopy() // conditions written by others stay
	status.Replicas = int32(len(active))
	status.ReadyReplicas, status.AvailableReplicas, status.FullyLabeledReplicas = 0, 0, 0
	status.ObservedGeneration = set.Generation

	template := labels.Set(set.Spec.Template.Labels).AsSelectorPreValidated()
	wait := time.Duration(set.Spec.MinReadySeconds) * time.Second
	for _, pod := range active {
		if template.Matches(labels.Set(pod.Labels)) {
			status.FullyLabeledReplicas++
		}
		if !isReady(pod) {
			continue
		}
		status.ReadyReplicas++
		available, after := isAvailable(pod, wait, now)
		if available {
			status.AvailableReplicas++
		} else if again == 0 || after < again {
			again = after
		}
	}
	return status, again
}

// writeStatus writes status if it differs from what the cache has. If another writer was faster,
// the conflict is returned like any error, and the retry works on the newer object.
func (c *Controller) writeStatus(ctx context.Context, set *api.ReplicaSet, status appsv1.ReplicaSetStatus) error {
	if equality.Semantic.DeepEqual(set.Status, status) {
		return nil
	}
	set = set.DeepCopy()
	set.Status = status
	if _, err := c.sets.Status().Update(ctx, set); err != nil {
		return fmt.Errorf("update status: %w", err)
	}
	return nil
}
