package informertest

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// update replaces the stored state by what modify makes of it. modify is called
// with the lock held, gets a copy of its own, and may return that copy; it gets nil
// if opts.replaces says that it does not look at the present state. A write
// that changes nothing keeps the resourceVersion and raises no event.
func (s *store) update(c *collection, namespace, name string, opts writeOptions, modify func(*unstructured.Unstructured) (*unstructured.Unstructured, error)) (*version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	res := c.res
	old, ok := c.items[res.key(namespace, name)]
	if !ok {
		return nil, apierrors.NewNotFound(res.groupResource(), name)
	}
	oldObj, err := old.object(res, res.Versions[0])
	if err != nil {
		return nil, err
	}
	var present *unstructured.Unstructured
	if !opts.replaces {
		present = oldObj.DeepCopy()
	}
	oldManagers := takeManagers(oldObj)
	obj, err := modify(present)
	if err != nil {
		return nil, err
	}
	if err := checkPreconditions(res, old, obj, opts); err != nil {
		return nil, err
	}
	errs := s.completeLocked(c, oldObj, obj)
	managers := managersOf(obj)
	obj = prepareUpdate(res, oldObj, obj, opts)
	if opts.owners != nil {
		*opts.owners = ownersChange{oldObj.GetOwnerReferences(), obj.GetOwnerReferences()}
	}
	if opts.applied {
		setManagers(obj, managers)
	} else {
		trackUpdate(res, oldObj, oldManagers, obj, opts)
	}
	if errs = append(validateUpdate(res, oldObj, obj, opts), errs...); len(errs) > 0 {
		return nil, apierrors.NewInvalid(res.gvk("").GroupKind(), name, errs)
	}
	if err := s.beforeUpdateLocked(res, obj); err != nil {
		return nil, err
	}
	obj.SetResourceVersion(formatRV(old.rv))
	// A write that changes nothing but the times in managedFields changes nothing.
	written := managersOf(obj)
	dated := sameButTimes(oldManagers, written)
	if dated {
		setManagers(obj, oldManagers)
	}
	same, err := newVersion(res, obj, old.rv)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(same.bare, old.bare) {
		return old, nil
	}
	if dated {
		setManagers(obj, written)
		if same, err = newVersion(res, obj, old.rv); err != nil {
			return nil, err
		}
	}
	if same.finished() {
		// The last finalizer has gone: the update is carried out as the deletion.
		return same, s.removeLocked(c, old, opts)
	}
	if opts.dryRun {
		return same, nil
	}
	next := same.at(s.rv + 1)
	obj.SetResourceVersion(formatRV(next.rv))
	s.storeLocked(c, old, next, obj)
	return next, nil
}

// checkPreconditions compares what the new object says about the one it is to
// replace.
func checkPreconditions(res Resource, old *version, obj *unstructured.Unstructured, opts writeOptions) error {
	if uid := string(obj.GetUID()); uid != "" && uid != old.uid && !opts.patches { // in a patch it is an immutable field
		where := ""
		if opts.replaces {
			where = fmt.Sprintf("StorageError: invalid object, Code: 4, Key: /registry/%s/%s, ResourceVersion: 0, AdditionalErrorMsg: ", res.Plural, old.key)
		}
		return errPrecondition(res.groupResource(), old.name, where, uid, old.uid)
	}
	switch rv := obj.GetResourceVersion(); {
	case rv == "" || rv == "0":
		if needsVersion(res) && !opts.trusted {
			return apierrors.NewInvalid(schema.GroupKind{Group: res.Group, Kind: res.Plural}, old.name, field.ErrorList{
				field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update"),
			})
		}
	case rv != formatRV(old.rv):
		return errModified(res.groupResource(), old.name)
	}
	return nil
}

// needsVersion reports whether an update must state which version it replaces.
func needsVersion(res Resource) bool {
	return res.RequireResourceVersion || isCRD(res) || versionedKinds[schema.GroupKind{Group: res.Group, Kind: res.Kind}]
}

// versionedKinds are the built-in kinds that are updated only so.
var versionedKinds = map[schema.GroupKind]bool{
	{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicy"}:          true,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicyBinding"}:   true,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}:     true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"}:        true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"}: true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}:   true,
	{Group: "coordination.k8s.io", Kind: "Lease"}:                                     true,
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:                                      true,
	{Group: "policy", Kind: "PodDisruptionBudget"}:                                    true,
	{Group: "storage.k8s.io", Kind: "CSIDriver"}:                                      true,
	{Group: "storage.k8s.io", Kind: "CSINode"}:                                        true,
	{Group: "storage.k8s.io", Kind: "VolumeAttachment"}:                               true,
}

// prepareUpdate returns what is to be stored: the parts of obj that the endpoint
// may change, over the old state.
func prepareUpdate(res Resource, old, obj *unstructured.Unstructured, opts writeOptions) *unstructured.Unstructured {
	if sub, ok := subresourceOf(res, opts.subresource); ok && sub.copy != nil {
		next := old.DeepCopy()
		sub.copy(res, obj, next)
		if opts.subresource != "status" && !res.NoGeneration && !sameSpec(res, old, next) {
			next.SetGeneration(old.GetGeneration() + 1)
		}
		return next
	}
	// A binding is the scheduler's, and writes status as well.
	trusted := opts.trusted || opts.subresource == "binding"
	if res.StatusSubresource && !trusted {
		copyMember(old, obj, "status")
	}
	keepSystemMetadata(old, obj)
	if res.Group == "certificates.k8s.io" && res.Kind == "CertificateSigningRequest" && !trusted {
		copyMember(old, obj, "spec") // requests are not changed once they are made
	}
	if hasContent(res) && !trusted {
		labelNamespace(obj)
		if list := at(old.Object, "spec", "finalizers"); list != nil { // these are the subresource's
			_ = unstructured.SetNestedField(obj.Object, list, "spec", "finalizers")
		}
	}
	if !res.NoGeneration && opts.subresource != "binding" && !sameSpec(res, old, obj) {
		obj.SetGeneration(old.GetGeneration() + 1)
	}
	return obj
}

// copyMember sets a top-level member of to to that of from, absent or not.
func copyMember(from, to *unstructured.Unstructured, name string) {
	if v, ok := from.Object[name]; ok {
		to.Object[name] = v
	} else {
		delete(to.Object, name)
	}
}

// keepSystemMetadata restores the fields that only the server writes, where a
// client may leave them out or be wrong about them.
func keepSystemMetadata(old, obj *unstructured.Unstructured) {
	if obj.GetUID() == "" {
		obj.SetUID(old.GetUID())
	}
	obj.SetCreationTimestamp(old.GetCreationTimestamp())
	if old.GetDeletionTimestamp() != nil {
		obj.SetDeletionTimestamp(old.GetDeletionTimestamp())
	}
	if obj.GetDeletionGracePeriodSeconds() == nil {
		obj.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	}
	unstructured.RemoveNestedField(obj.Object, "metadata", "selfLink")
	unstructured.RemoveNestedField(obj.Object, "metadata", "generation")
	if g := old.GetGeneration(); g != 0 {
		obj.SetGeneration(g)
	}
	obj.SetResourceVersion(old.GetResourceVersion())
}

// sameSpec reports whether an update leaves the generation alone: whether only
// metadata, and status if that is a subresource, differ.
func sameSpec(res Resource, old, obj *unstructured.Unstructured) bool {
	significant := func(u *unstructured.Unstructured) map[string]any {
		m := map[string]any{}
		for k, v := range u.Object {
			if k != "metadata" && k != "apiVersion" && k != "kind" && (k != "status" || !res.StatusSubresource) {
				m[k] = v
			}
		}
		return m
	}
	if res.Group == "apps" && res.Kind == "Deployment" && !maps.Equal(old.GetAnnotations(), obj.GetAnnotations()) {
		return false // of deployments alone the annotations count
	}
	return reflect.DeepEqual(significant(old), significant(obj))
}

// validateUpdate checks an update. What was wrong before, and only a method of Server can
// have stored, is not held against it.
func validateUpdate(res Resource, old, obj *unstructured.Unstructured, opts writeOptions) field.ErrorList {
	errs := validate(res, obj, opts)
	if len(errs) > 0 {
		before := map[string]bool{}
		for _, err := range validate(res, old, opts) {
			before[err.Error()] = true
		}
		errs = slices.DeleteFunc(errs, func(err *field.Error) bool { return before[err.Error()] })
	}
	errs = append(validation.ValidateObjectMetaAccessorUpdate(obj, old, field.NewPath("metadata")), errs...)
	switch {
	case opts.subresource == "ephemeralcontainers":
		return append(errs, ephemeralUpdate(old.Object, obj.Object)...)
	case opts.trusted || opts.subresource != "": // subresources change only what is theirs
		return errs
	}
	if res.Group == "" && res.Kind == "Service" { // of all kinds this one is checked in the other order
		return append(immutable(res, old, obj), errs...)
	}
	return append(errs, immutable(res, old, obj)...)
}

// copyStatusMetadata copies the metadata that the status endpoint of a kind may
// change: that of custom resources none, those of built-in kinds labels,
// annotations and finalizers, with the few exceptions that their servers make.
func copyStatusMetadata(res Resource, from, to *unstructured.Unstructured) {
	switch {
	case res.RequireResourceVersion, res.Group == "storage.k8s.io" && res.Kind == "VolumeAttachment":
		return
	case res.Group == "apps" && res.Kind == "Deployment":
	default:
		to.SetLabels(from.GetLabels())
	}
	to.SetAnnotations(from.GetAnnotations())
	to.SetFinalizers(from.GetFinalizers())
}
