package informertest

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateFinalizers refuses finalizers of built-in kinds that no domain owns,
// except for the few that the server itself knows.
func validateFinalizers(res Resource, obj *unstructured.Unstructured) field.ErrorList {
	if res.RequireResourceVersion {
		return nil // of custom resources any qualified name
	}
	var errs field.ErrorList
	for i, name := range obj.GetFinalizers() {
		switch name {
		case metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents, "kubernetes":
			continue
		}
		if !strings.Contains(name, "/") {
			path := field.NewPath("metadata", "finalizers").Index(i)
			errs = append(errs, field.Invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	return errs
}
