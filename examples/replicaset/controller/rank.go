package controller

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// deletionCost is the annotation by which a user selects the pods to keep: the
// pod with the lower number is deleted first.
const deletionCost = "controller.kubernetes.io/pod-deletion-cost"

// SortForDeletion orders pods so that those whose loss costs least come first.
// The criteria, first difference wins, are the documented ones of the built-in
// ReplicaSet (https://kubernetes.io/docs/concepts/workloads/controllers/replicaset/#scaling-down-a-replicaset):
//
//  1. not yet on a node before on a node
//  2. Pending before Unknown before Running
//  3. not ready before ready
//  4. the lower deletion cost first
//  5. the pod that shares its node with more pods of the set first
//  6. ready for a shorter time first
//  7. more container restarts first
//  8. created later first
//
// The last resort is the name, so that the order is total and a test can state it.
func SortForDeletion(pods []*corev1.Pod) {
	perNode := map[string]int{}
	for _, p := range pods {
		if p.Spec.NodeName != "" {
			perNode[p.Spec.NodeName]++
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(
			falseFirst(a.Spec.NodeName != "", b.Spec.NodeName != ""),
			cmp.Compare(phaseRank(a), phaseRank(b)),
			falseFirst(isReady(a), isReady(b)),
			cmp.Compare(cost(a), cost(b)),
			cmp.Compare(perNode[b.Spec.NodeName], perNode[a.Spec.NodeName]),
			readySince(b).Compare(readySince(a)),
			cmp.Compare(restarts(b), restarts(a)),
			b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
			cmp.Compare(a.Name, b.Name),
		)
	})
}

func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

func phaseRank(p *corev1.Pod) int {
	switch p.Status.Phase {
	case corev1.PodRunning:
		return 2
	case corev1.PodUnknown:
		return 1
	default:
		return 0
	}
}

func cost(p *corev1.Pod) int32 {
	n, err := strconv.ParseInt(p.Annotations[deletionCost], 10, 32)
	if err != nil {
		return 0 // absent or not a number: the default cost
	}
	return int32(n)
}

func restarts(p *corev1.Pod) (most int32) {
	for i := range p.Status.ContainerStatuses {
		most = max(most, p.Status.ContainerStatuses[i].RestartCount)
	}
	return most
}

// IsActive reports whether a pod counts towards the desired number: it has not
// finished and is not being deleted.
func IsActive(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
}

func isReady(p *corev1.Pod) bool {
	c := readyCondition(p)
	return c != nil && c.Status == corev1.ConditionTrue
}

// isAvailable reports whether p has been ready for at least wait, and if not
// yet, after how long it will have been.
func isAvailable(p *corev1.Pod, wait time.Duration, now time.Time) (available bool, after time.Duration) {
	if !isReady(p) {
		return false, 0
	}
	left := wait - now.Sub(readyCondition(p).LastTransitionTime.Time)
	if wait <= 0 || left <= 0 {
		return true, 0
	}
	return false, left
}

// readySince returns when p became ready; the zero time if it is not.
func readySince(p *corev1.Pod) time.Time {
	if !isReady(p) {
		return time.Time{}
	}
	return readyCondition(p).LastTransitionTime.Time
}

func readyCondition(p *corev1.Pod) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == corev1.PodReady {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}
