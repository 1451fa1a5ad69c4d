package controller

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Report is what the controller reports about a pod. It is comparable, so that a
// report equal to the previous one can be skipped.
type Report struct {
	Pod types.NamespacedName
	// UID distinguishes a pod from an earlier one of the same name.
	UID types.UID
	// Phase is the pod's phase; empty if the pod was deleted.
	Phase corev1.PodPhase
	// Overdue is set if the pod has been pending for longer than its patience.
	Overdue bool
}

// State returns the reported state of the pod.
func (r Report) State() string {
	switch {
	case r.Phase == "":
		return "gone"
	case r.Overdue:
		return string(r.Phase) + " for too long"
	default:
		return string(r.Phase)
	}
}

// String returns the report as a sentence.
func (r Report) String() string { return fmt.Sprintf("pod %s is %s", r.Pod, r.State()) }
