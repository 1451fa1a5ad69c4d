package informertest

import (
	"maps"
	"reflect"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/informerkit/informerkit/informer/informertest/internal/defaults"
)

// completeLocked fills in the fields of a built-in kind that the API server
// fills in when a client leaves them out. old is nil for a new object.
func (s *store) completeLocked(c *collection, old, obj *unstructured.Unstructured) field.ErrorList {
	kind := schema.GroupKind{Group: c.res.Group, Kind: c.res.Kind}
	defaults.Apply(kind, obj.Object)
	if old == nil {
		defaults.Created(kind, obj.Object)
	}
	switch kind {
	case schema.GroupKind{Kind: "Service"}:
		return s.addresses.assign(c, old, obj)
	case schema.GroupKind{Kind: "Pod"}:
		setIfAbsent(obj, qosClass(obj), "status", "qosClass")
		if old == nil && len(objectsAt(obj.Object, "spec", "schedulingGates")) > 0 {
			setIfAbsent(obj, []any{map[string]any{
				"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "lastProbeTime": nil,
				"message": "Scheduling is blocked due to non-empty scheduling gates", "lastTransitionTime": now().UTC().Format(time.RFC3339),
			}}, "status", "conditions")
		}
	case schema.GroupKind{Kind: "PersistentVolume"}:
		setIfAbsent(obj, now().UTC().Format(time.RFC3339), "status", "lastPhaseTransitionTime")
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		if old == nil {
			generateSelector(obj)
		}
	case daemonSets:
		if old != nil {
			countTemplates(old, obj)
		}
	case schema.GroupKind{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest"}:
		if old == nil {
			signRequester(obj)
		}
	}
	return nil
}

// generateSelector gives the pods of a job labels that no other job's have, and
// selects them by these, unless the job brings a selector of its own.
func generateSelector(job *unstructured.Unstructured) {
	uid, name := string(job.GetUID()), job.GetName()
	labels, _, _ := unstructured.NestedStringMap(job.Object, "spec", "template", "metadata", "labels")
	if manual, _, _ := unstructured.NestedBool(job.Object, "spec", "manualSelector"); manual {
		if len(job.GetLabels()) == 0 && len(labels) > 0 {
			job.SetLabels(labels)
		}
		return
	}
	labels = maps.Clone(labels)
	if labels == nil {
		labels = map[string]string{}
	}
	for key, value := range map[string]string{"batch.kubernetes.io/job-name": name, "job-name": name, "batch.kubernetes.io/controller-uid": uid, "controller-uid": uid} {
		labels[key] = value
	}
	// A body of another shape has nothing to select.
	if err := unstructured.SetNestedStringMap(job.Object, labels, "spec", "template", "metadata", "labels"); err != nil {
		return
	}
	_ = unstructured.SetNestedField(job.Object, uid, "spec", "selector", "matchLabels", "batch.kubernetes.io/controller-uid")
	if len(job.GetLabels()) == 0 {
		job.SetLabels(labels)
	}
}

// daemonSets count the changes of their template.
var daemonSets = schema.GroupKind{Group: "apps", Kind: "DaemonSet"}

// templateGeneration is the annotation in which a daemon set counts the changes
// of its template.
const templateGeneration = "deprecated.daemonset.template.generation"

// countTemplates keeps that count.
func countTemplates(old, obj *unstructured.Unstructured) {
	count, _ := strconv.ParseUint(old.GetAnnotations()[templateGeneration], 10, 64)
	before, _, _ := unstructured.NestedFieldNoCopy(old.Object, "spec", "template")
	after, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "spec", "template")
	if !reflect.DeepEqual(before, after) {
		count++
	}
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[templateGeneration] = formatRV(count)
	obj.SetAnnotations(annotations)
}

// requester is the user of all requests: there is no authentication, and
// everything is allowed.
var requester = struct {
	name   string
	groups []string
}{"system:admin", []string{"system:masters", "system:authenticated"}}

// signRequester writes the requester into a certificate signing request.
func signRequester(csr *unstructured.Unstructured) {
	_ = unstructured.SetNestedField(csr.Object, requester.name, "spec", "username")
	_ = unstructured.SetNestedStringSlice(csr.Object, requester.groups, "spec", "groups")
}
