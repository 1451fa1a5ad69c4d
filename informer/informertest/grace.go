package informertest

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A pod that a node runs is not gone when it is deleted. It is marked, its containers
// end, and then the kubelet deletes it a second time, with a grace period of 0:
//
//	DELETE ──▶ deletionTimestamp = now + grace period ──▶ DELETE, gracePeriodSeconds: 0 ──▶ gone
//
// Further deletions can only shorten the period. A pod without a node, and one that has
// ended, is gone at once.

// isPod reports whether objects of the resource run on nodes.
func isPod(res Resource) bool { return res.Group == "" && res.Kind == "Pod" }

// runs reports whether a pod has a node and has not ended.
func runs(v *version) bool {
	phase := v.fields["status.phase"]
	return v.fields["spec.nodeName"] != "" && phase != "Succeeded" && phase != "Failed"
}

// terminate marks a pod as being deleted, or shortens the time that it has left, which it
// returns. pending reports that the deletion changes nothing.
func terminate(old *version, pod *unstructured.Unstructured, del metav1.DeleteOptions) (grace int64, pending bool) {
	had := pod.GetDeletionGracePeriodSeconds()
	switch {
	case old.deleting && (had == nil || *had == 0):
		return 0, false // only finalizers hold it
	case old.deleting && (del.GracePeriodSeconds == nil || atLeastOne(*del.GracePeriodSeconds) >= *had):
		return *had, true
	case old.deleting:
		grace = atLeastOne(*del.GracePeriodSeconds)
		end := pod.GetDeletionTimestamp().Add(time.Duration(grace-*had) * time.Second)
		if t := now(); end.Before(t.Time) {
			end = t.Time
			grace = min(grace, 1) // it still takes another deletion
		}
		pod.SetDeletionTimestamp(&metav1.Time{Time: end})
		pod.SetDeletionGracePeriodSeconds(&grace)
		return grace, false
	case !runs(old):
	case del.GracePeriodSeconds != nil:
		grace = atLeastOne(*del.GracePeriodSeconds)
	default:
		seconds, _, _ := unstructured.NestedInt64(pod.Object, "spec", "terminationGracePeriodSeconds")
		grace = atLeastOne(seconds)
	}
	end := metav1.Time{Time: now().Add(time.Duration(grace) * time.Second)}
	pod.SetDeletionTimestamp(&end)
	pod.SetDeletionGracePeriodSeconds(&grace)
	if g := pod.GetGeneration(); g != 0 {
		pod.SetGeneration(g + 1)
	}
	return grace, false
}

// atLeastOne is a grace period; negative ones count as one second.
func atLeastOne(seconds int64) int64 {
	if seconds < 0 {
		return 1
	}
	return seconds
}
