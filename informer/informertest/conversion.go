package informertest

import (
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Objects are stored in one form, the first version of their resource, and most
// resources show them in no other. Events have a second form: they may be written
// and read as v1 and as events.k8s.io/v1.

// conversion turns the content of an object into the stored form and back. It may
// change its argument, but only at the top level and where it has made copies.
type conversion struct{ store, show func(map[string]any) }

// conversions are the forms that differ from the stored one by more than their
// apiVersion.
var conversions = map[schema.GroupVersionKind]conversion{
	{Group: "events.k8s.io", Version: "v1", Kind: "Event"}: eventConversion,
}

// stored is the resource as whose objects those of r are stored: r itself, but
// for a resource that shows another one in a form of its own.
func (r Resource) stored() Resource {
	if r.storage != nil {
		return *r.storage
	}
	return r
}

// storedVersion is the kind in which objects are stored.
func (r Resource) storedVersion() schema.GroupVersionKind {
	s := r.stored()
	return s.gvk(s.Versions[0])
}

// converted reports whether a version of the resource is not the form in which its
// objects are stored.
func (r Resource) converted(version string) bool {
	_, ok := conversions[r.gvk(version)]
	return ok
}

// toStored returns an object of a version of the resource in the stored form.
func (r Resource) toStored(obj *unstructured.Unstructured, version string) *unstructured.Unstructured {
	if c, ok := conversions[r.gvk(version)]; ok {
		obj = &unstructured.Unstructured{Object: maps.Clone(obj.Object)}
		c.store(obj.Object)
		obj.SetGroupVersionKind(r.storedVersion())
	}
	return obj
}

// fromStored returns a stored object in a version of the resource.
func (r Resource) fromStored(obj *unstructured.Unstructured, version string) *unstructured.Unstructured {
	if c, ok := conversions[r.gvk(version)]; ok {
		obj = &unstructured.Unstructured{Object: maps.Clone(obj.Object)}
		c.show(obj.Object)
	}
	obj.SetGroupVersionKind(r.gvk(version))
	return obj
}

// inVersion lets a function that works on one version of an object work on the
// stored form.
func (r Resource) inVersion(version string, modify func(*unstructured.Unstructured) (*unstructured.Unstructured, error)) func(*unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return func(old *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if old != nil {
			old = r.fromStored(old, version)
		}
		obj, err := modify(old)
		if err != nil {
			return nil, err
		}
		return r.toStored(obj, version), nil
	}
}

// convertVersion returns an object in another version of a custom resource. These
// differ in their apiVersion alone, as with the conversion strategy "None". The
// result shares its content with the argument.
func convertVersion(in *unstructured.Unstructured, want schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	if have := in.GroupVersionKind(); have.GroupKind() != want.GroupKind() {
		return nil, fmt.Errorf("informertest: %s cannot be converted to %s", have, want)
	}
	obj := &unstructured.Unstructured{Object: maps.Clone(in.Object)}
	obj.SetGroupVersionKind(want)
	return obj, nil
}

// named turns an error about a stored object into one about the resource that the
// client knows it by.
func (r Resource) named(err error) error {
	status, ok := err.(apierrors.APIStatus)
	if !ok || r.storage == nil || status.Status().Details == nil {
		return err
	}
	s := status.Status()
	details := *s.Details
	details.Group, s.Details = r.Group, &details
	return &apierrors.StatusError{ErrStatus: s}
}
