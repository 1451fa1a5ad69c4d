package informertest

import (
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// qosClass is the quality of service of a pod, as its containers' requests and
// limits of processor time and memory make it:
//
//	BestEffort  none has any
//	Guaranteed  all have both limits, and request what they are limited to
//	Burstable   all others
func qosClass(pod *unstructured.Unstructured) string {
	best, guaranteed := true, true
	for _, list := range []string{"containers", "initContainers"} {
		containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", list)
		for _, c := range containers {
			content, _ := c.(map[string]any)
			for _, name := range []string{"cpu", "memory"} {
				request := quantity(content, "requests", name)
				limit := quantity(content, "limits", name)
				best = best && request.IsZero() && limit.IsZero()
				guaranteed = guaranteed && !limit.IsZero() && request.Cmp(limit) == 0
			}
		}
	}
	switch {
	case best:
		return "BestEffort"
	case guaranteed:
		return "Guaranteed"
	}
	return "Burstable"
}

// quantity is what a container requests or is limited to; zero if it says nothing.
func quantity(container map[string]any, list, name string) resource.Quantity {
	text, _, _ := unstructured.NestedString(container, "resources", list, name)
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return resource.Quantity{}
	}
	return q
}
