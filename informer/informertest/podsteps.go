package informertest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// PodStep is what [Server.StepPods] lets happen to pods.
type PodStep string

// The steps of pods.
const (
	// PodsReady assigns pods to the node "node" unless they have one, runs them and
	// makes them ready. Pods that are being deleted, or have ended, are left alone.
	PodsReady PodStep = "Ready"
	// PodsTerminate ends the pods that are being deleted: they are removed, unless
	// finalizers hold them. All others are left alone.
	PodsTerminate PodStep = "Terminate"
	// PodsSucceed and PodsFail end the containers of running pods, with exit code 0 and 1.
	PodsSucceed PodStep = "Succeed"
	PodsFail    PodStep = "Fail"
)

// StepPods does what a scheduler and kubelets do in a cluster: it lets the pods that the
// selector matches become ready, or end. An empty namespace means all, a nil selector any.
// All happens at once, in the order of namespaces and names. It returns how many pods
// changed.
func (s *Server) StepPods(step PodStep, namespace string, selector labels.Selector) (int, error) {
	k, err := s.collection(schema.GroupVersionResource{Version: "v1", Resource: "pods"})
	if err != nil {
		return 0, err
	}
	var change func(pod *unstructured.Unstructured)
	switch step {
	case PodsReady:
		change = runPod
	case PodsSucceed:
		change = func(pod *unstructured.Unstructured) { endPod(pod, "Succeeded", 0) }
	case PodsFail:
		change = func(pod *unstructured.Unstructured) { endPod(pod, "Failed", 1) }
	case PodsTerminate:
		change = func(pod *unstructured.Unstructured) {
			if pod.GetDeletionTimestamp() != nil {
				none := int64(0)
				pod.SetDeletionGracePeriodSeconds(&none)
			}
		}
	default:
		return 0, fmt.Errorf("informertest: unknown step of pods %q", step)
	}
	sel := selectEverything()
	sel.namespace = namespace
	if selector != nil {
		sel.labels = selector
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	changed := 0
	for _, v := range k.c.selectLocked(sel) {
		before := s.store.rv
		if err := s.store.amendLocked(k.c, v.key, change); err != nil {
			return changed, err
		}
		if s.store.rv != before {
			changed++
		}
	}
	return changed, nil
}

// runPod makes the status of a pod that of a ready one.
func runPod(pod *unstructured.Unstructured) {
	if pod.GetDeletionTimestamp() != nil || podEnded(pod) {
		return
	}
	stamp := now().UTC().Format("2006-01-02T15:04:05Z")
	if at(pod.Object, "spec", "nodeName") == nil {
		_ = unstructured.SetNestedField(pod.Object, "node", "spec", "nodeName")
	}
	for path, value := range map[string]string{"phase": "Running", "startTime": stamp, "hostIP": "10.0.0.1", "podIP": "10.244.0.1"} {
		if path == "phase" || at(pod.Object, "status", path) == nil {
			_ = unstructured.SetNestedField(pod.Object, value, "status", path)
		}
	}
	for _, condition := range []string{"PodScheduled", "Initialized", "ContainersReady", "Ready"} {
		setCondition(pod, map[string]any{"type": condition, "status": "True", "lastProbeTime": nil, "lastTransitionTime": stamp})
	}
	setContainers(pod, true, map[string]any{"running": map[string]any{"startedAt": stamp}})
	_ = unstructured.SetNestedField(pod.Object, pod.GetGeneration(), "status", "observedGeneration")
}

// endPod makes the status of a running pod that of one whose containers have ended.
func endPod(pod *unstructured.Unstructured, phase string, code int64) {
	if at(pod.Object, "spec", "nodeName") == nil || podEnded(pod) {
		return
	}
	stamp := now().UTC().Format("2006-01-02T15:04:05Z")
	_ = unstructured.SetNestedField(pod.Object, phase, "status", "phase")
	for _, condition := range []string{"ContainersReady", "Ready"} {
		setCondition(pod, map[string]any{"type": condition, "status": "False", "reason": "Pod" + phase, "lastProbeTime": nil, "lastTransitionTime": stamp})
	}
	reason := map[int64]string{0: "Completed", 1: "Error"}[code]
	setContainers(pod, false, map[string]any{"terminated": map[string]any{"exitCode": code, "reason": reason, "startedAt": stamp, "finishedAt": stamp}})
}

// podEnded reports whether all containers of a pod have ended.
func podEnded(pod *unstructured.Unstructured) bool {
	phase := at(pod.Object, "status", "phase")
	return phase == "Succeeded" || phase == "Failed"
}

// setContainers writes the status of all containers of a pod.
func setContainers(pod *unstructured.Unstructured, ready bool, state map[string]any) {
	var list []any
	for _, c := range objectsAt(pod.Object, "spec", "containers") {
		list = append(list, map[string]any{
			"name": c["name"], "image": c["image"], "imageID": "", "ready": ready, "started": ready, "restartCount": int64(0), "state": state, "lastState": map[string]any{},
		})
	}
	if was := at(pod.Object, "status", "containerStatuses"); ready && was != nil {
		return // they run already
	}
	_ = unstructured.SetNestedSlice(pod.Object, list, "status", "containerStatuses")
}

// setCondition adds a condition, or replaces one whose status differs.
func setCondition(obj *unstructured.Unstructured, condition map[string]any) {
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for i, have := range list {
		have, _ := have.(map[string]any)
		if have["type"] != condition["type"] {
			continue
		}
		if have["status"] != condition["status"] {
			list[i] = condition
		}
		_ = unstructured.SetNestedSlice(obj.Object, list, "status", "conditions")
		return
	}
	_ = unstructured.SetNestedSlice(obj.Object, append(list, condition), "status", "conditions")
}
