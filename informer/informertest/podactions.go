package informertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// sent reads what is sent to an action.
func (cl *call) sent(kind schema.GroupVersionKind) (*call, *unstructured.Unstructured, metav1.CreateOptions, error) {
	var opts metav1.CreateOptions
	if err := cl.server.params.decode(cl.r.URL.Query(), &opts); err != nil {
		return nil, nil, opts, err
	}
	other, err := cl.as(kind)
	if err != nil {
		return nil, nil, opts, err
	}
	body := *other
	body.target.name = "" // what is sent need not repeat the name
	obj, err := body.object(opts.FieldValidation)
	if err != nil {
		return nil, nil, opts, err
	}
	if name := obj.GetName(); name != "" && name != cl.target.name {
		if kind.Kind == "Eviction" {
			return nil, nil, opts, apierrors.NewBadRequest("name in URL does not match name in Eviction object")
		}
		return nil, nil, opts, apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", name, cl.target.name))
	}
	setManagers(obj, nil)
	return other, obj, opts, nil
}

// bind assigns a pod to a node, as a scheduler does.
func (cl *call) bind() error {
	_, binding, opts, err := cl.sent(schema.GroupVersionKind{Version: "v1", Kind: "Binding"})
	if err != nil {
		return err
	}
	node, _, _ := unstructured.NestedString(binding.Object, "target", "name")
	if node == "" {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Binding"}, cl.target.name, field.ErrorList{field.Required(field.NewPath("target", "name"), "")})
	}
	write := cl.writeOptions(opts.DryRun, opts.FieldManager)
	_, err = cl.server.store.update(cl.c, cl.target.namespace, cl.target.name, write, func(pod *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return assign(cl.res, pod, node, binding.GetAnnotations())
	})
	if err != nil {
		return err
	}
	return cl.succeed()
}

// assign writes a binding into a pod that has no node yet.
func assign(res Resource, pod *unstructured.Unstructured, node string, bound map[string]string) (*unstructured.Unstructured, error) {
	conflict := func(format string, args ...any) error {
		return apierrors.NewConflict(schema.GroupResource{Resource: res.Plural + "/binding"}, pod.GetName(), fmt.Errorf(format, args...))
	}
	if pod.GetDeletionTimestamp() != nil {
		return nil, conflict("pod %s is being deleted, cannot be assigned to a host", pod.GetName())
	}
	if has, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName"); has != "" {
		return nil, conflict("pod %v is already assigned to node %q", pod.GetName(), has)
	}
	if len(objectsAt(pod.Object, "spec", "schedulingGates")) > 0 {
		return nil, conflict("pod %v has non-empty .spec.schedulingGates", pod.GetName())
	}
	if err := unstructured.SetNestedField(pod.Object, node, "spec", "nodeName"); err != nil {
		return nil, err
	}
	annotations := pod.GetAnnotations()
	for k, v := range bound {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[k] = v
	}
	pod.SetAnnotations(annotations)
	conditions, _, _ := unstructured.NestedSlice(pod.Object, "status", "conditions")
	conditions = append(conditions, map[string]any{
		"type": "PodScheduled", "status": "True", "lastProbeTime": nil,
		"lastTransitionTime": now().UTC().Format(time.RFC3339),
	})
	return pod, unstructured.SetNestedSlice(pod.Object, conditions, "status", "conditions")
}

// evict deletes a pod unless its disruption budget forbids that.
func (cl *call) evict() error {
	_, sent, opts, err := cl.sent(schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "Eviction"})
	if err != nil {
		return err
	}
	var eviction struct {
		DeleteOptions metav1.DeleteOptions `json:"deleteOptions"`
	}
	if err := converter.FromUnstructured(sent.Object, &eviction); err != nil {
		return err
	}
	del := eviction.DeleteOptions
	write := writeOptions{dryRun: len(opts.DryRun) > 0 || len(del.DryRun) > 0}
	if err := cl.server.store.evict(cl.c, cl.target.namespace, cl.target.name, del, write); err != nil {
		return err
	}
	return cl.succeed()
}

// evict deletes a pod and counts that against its budget.
func (s *store) evict(c *collection, namespace, name string, del metav1.DeleteOptions, opts writeOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, ok := c.items[c.res.key(namespace, name)]
	if !ok {
		return apierrors.NewNotFound(c.res.groupResource(), name)
	}
	obj, err := old.object(c.res, c.res.Versions[0])
	if err != nil {
		return err
	}
	switch old.fields["status.phase"] {
	case "Succeeded", "Failed", "Pending": // those serve no requests
	default:
		if err := s.spendBudgetLocked(obj, opts); err != nil {
			return err
		}
	}
	if p := del.Preconditions; !opts.dryRun && !old.deleting && p == nil && runs(old) {
		err := s.amendLocked(c, old.key, func(pod *unstructured.Unstructured) {
			setCondition(pod, map[string]any{
				"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting",
				"lastProbeTime": nil, "lastTransitionTime": now().UTC().Format(time.RFC3339),
			})
		})
		if err != nil {
			return err
		}
		old = c.items[old.key]
	}
	_, _, err = s.deleteLocked(c, old, del, opts)
	return err
}

// disruptionBudget is what an eviction reads of a PodDisruptionBudget.
type disruptionBudget struct {
	Metadata struct {
		Name       string `json:"name"`
		Generation int64  `json:"generation"`
	} `json:"metadata"`
	Spec struct {
		UnhealthyPodEvictionPolicy string `json:"unhealthyPodEvictionPolicy"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64 `json:"observedGeneration"`
		DisruptionsAllowed int64 `json:"disruptionsAllowed"`
		CurrentHealthy     int64 `json:"currentHealthy"`
		DesiredHealthy     int64 `json:"desiredHealthy"`
	} `json:"status"`
}

// unguarded reports whether a budget does not keep a pod that is not ready from being
// evicted (KEP-3017).
func unguarded(budget disruptionBudget, pod *unstructured.Unstructured) bool {
	for _, condition := range objectsAt(pod.Object, "status", "conditions") {
		if condition["type"] == "Ready" && condition["status"] == "True" {
			return false
		}
	}
	if budget.Spec.UnhealthyPodEvictionPolicy == "AlwaysAllow" {
		return true
	}
	return budget.Status.CurrentHealthy >= budget.Status.DesiredHealthy && budget.Status.DesiredHealthy > 0
}

// spendBudgetLocked takes one disruption off the budget that covers a pod.
func (s *store) spendBudgetLocked(pod *unstructured.Unstructured, opts writeOptions) error {
	budgets, ok := s.collections[schema.GroupResource{Group: "policy", Resource: "poddisruptionbudgets"}]
	if !ok || pod.GetDeletionTimestamp() != nil {
		return nil
	}
	var covering []*version
	for _, v := range budgets.items {
		if v.namespace == pod.GetNamespace() && covers(v, pod) {
			covering = append(covering, v)
		}
	}
	switch len(covering) {
	case 0:
		return nil
	case 1:
	default:
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
			Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
		}}
	}
	old := covering[0]
	obj, err := old.object(budgets.res, budgets.res.Versions[0])
	if err != nil {
		return err
	}
	var budget disruptionBudget
	if err := converter.FromUnstructured(obj.Object, &budget); err != nil {
		return err
	}
	if unguarded(budget, pod) {
		return nil
	}
	if err := errBudget(budget); err != nil {
		return err
	}
	allowed := budget.Status.DisruptionsAllowed - 1
	if err := unstructured.SetNestedField(obj.Object, allowed, "status", "disruptionsAllowed"); err != nil {
		return err
	}
	if err := unstructured.SetNestedField(obj.Object, now().UTC().Format(time.RFC3339), "status", "disruptedPods", pod.GetName()); err != nil {
		return err
	}
	if allowed == 0 {
		setCondition(obj, map[string]any{
			"type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": "",
			"observedGeneration": budget.Status.ObservedGeneration, "lastTransitionTime": now().UTC().Format(time.RFC3339),
		})
	}
	_, err = s.commitLocked(budgets, old, obj, opts)
	return err
}

// covers reports whether a disruption budget selects a pod.
func covers(budget *version, pod *unstructured.Unstructured) bool {
	var content struct {
		Spec struct {
			Selector *metav1.LabelSelector `json:"selector"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(budget.bare, &content); err != nil {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(content.Spec.Selector)
	return err == nil && selector.Matches(labels.Set(pod.GetLabels()))
}

// errBudget is the refusal of an eviction that the budget does not allow.
func errBudget(budget disruptionBudget) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	cause := ""
	switch {
	case budget.Status.ObservedGeneration < budget.Metadata.Generation:
		err.ErrStatus.Details.RetryAfterSeconds = 10
		cause = fmt.Sprintf("The disruption budget %s is still being processed by the server.", budget.Metadata.Name)
	case budget.Status.DisruptionsAllowed <= 0:
		cause = fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", budget.Metadata.Name, budget.Status.DesiredHealthy, budget.Status.CurrentHealthy)
	default:
		return nil
	}
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: "DisruptionBudget", Message: cause}}
	return err
}
