package controller

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/informerkit/informerkit/examples/replicaset/api"
)

// The decisions of the loop that need neither cache nor server have names that
// others can use, too: the same controller on other machinery (internal/verify/e2e has
// one on client-go) then differs from this one in its machinery alone.

// Selector returns the selector of set, or why the set cannot be served.
func Selector(set *api.ReplicaSet) (labels.Selector, error) { return selectorOf(set) }

// IsActive reports whether pod counts: it has not ended and is not being deleted.
func IsActive(pod *corev1.Pod) bool { return isActive(pod) }

// Status returns the status of set with these active pods, and after how long it
// will be another one by itself; zero if it will not.
func Status(set *api.ReplicaSet, active []*corev1.Pod, now time.Time) (status appsv1.ReplicaSetStatus, again time.Duration) {
	return statusOf(set, active, now)
}

// NewPod returns a pod made from the template of set.
func NewPod(set *api.ReplicaSet) *corev1.Pod { return newPod(set) }

// SortForDeletion orders pods so that those whose loss costs least come first.
func SortForDeletion(pods []*corev1.Pod) { sortForDeletion(pods) }

// AdoptionPatch returns the merge patch that makes set the controller of pod.
func AdoptionPatch(set *api.ReplicaSet, pod *corev1.Pod) ([]byte, error) {
	return ownersPatch(pod, append(withoutOwner(pod.OwnerReferences, set.UID), controllerRef(set)))
}

// ReleasePatch returns the merge patch after which set has no part in pod.
func ReleasePatch(set *api.ReplicaSet, pod *corev1.Pod) ([]byte, error) {
	return ownersPatch(pod, withoutOwner(pod.OwnerReferences, set.UID))
}
