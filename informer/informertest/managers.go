package informertest

import (
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// managerEntries stand for metadata.managedFields in an object that is on its way
// into the store. As maps they would be converted half a dozen times per write,
// which costs more than to compute them. Such an object must not be deep-copied.
type managerEntries []metav1.ManagedFieldsEntry

// managersOf returns the managers of an object, in either form.
func managersOf(obj *unstructured.Unstructured) []metav1.ManagedFieldsEntry {
	meta, _ := obj.Object["metadata"].(map[string]any)
	switch entries := meta["managedFields"].(type) {
	case nil:
		return nil
	case managerEntries:
		return entries
	}
	return obj.GetManagedFields()
}

// setManagers gives an object managers, or none.
func setManagers(obj *unstructured.Unstructured, entries []metav1.ManagedFieldsEntry) {
	meta, ok := obj.Object["metadata"].(map[string]any)
	switch {
	case ok && len(entries) == 0:
		delete(meta, "managedFields")
	case ok:
		meta["managedFields"] = managerEntries(entries)
	}
}

// sameButTimes reports whether managers differ, and in nothing but their times.
func sameButTimes(a, b []metav1.ManagedFieldsEntry) bool {
	same := true
	return len(a) == len(b) && slices.EqualFunc(a, b, func(x, y metav1.ManagedFieldsEntry) bool {
		same = same && x.Time.Equal(y.Time)
		x.Time, y.Time = nil, nil
		return reflect.DeepEqual(x, y)
	}) && !same
}

// takeManagers removes the managers from an object and returns them.
func takeManagers(obj *unstructured.Unstructured) []metav1.ManagedFieldsEntry {
	entries := managersOf(obj)
	setManagers(obj, nil)
	return entries
}

// canonicalManagers is what is stored of managedFields: the same text for the same
// managers, in whatever form an object carries them.
func canonicalManagers(member any) any {
	list, ok := member.([]any)
	if !ok {
		return member
	}
	entries := (&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"managedFields": list}}}).GetManagedFields()
	if len(entries) != len(list) {
		return member // only a method of Server can store such an object
	}
	return managerEntries(entries)
}

// tracked is an object on its way through a field manager, with its managers beside
// it instead of in its metadata.
type tracked struct {
	*unstructured.Unstructured
	managers []metav1.ManagedFieldsEntry
}

// GetManagedFields implements metav1.Object.
func (t *tracked) GetManagedFields() []metav1.ManagedFieldsEntry { return t.managers }

// SetManagedFields implements metav1.Object.
func (t *tracked) SetManagedFields(entries []metav1.ManagedFieldsEntry) { t.managers = entries }

// DeepCopyObject implements runtime.Object.
func (t *tracked) DeepCopyObject() runtime.Object {
	return &tracked{t.DeepCopy(), t.managers}
}

// untracked returns the object itself.
func untracked(obj runtime.Object) runtime.Object {
	if t, ok := obj.(*tracked); ok {
		return t.Unstructured
	}
	return obj
}

// typeConverter lets a managedfields.TypeConverter see tracked objects as what they
// are. Its type parameters are types of a module that this one does not require
// directly; they are inferred.
type typeConverter[V, O any] struct {
	toTyped  func(runtime.Object, ...O) (*V, error)
	toObject func(*V) (runtime.Object, error)
}

// newTypeConverter exists so that the compiler infers the type parameters from the
// arguments.
func newTypeConverter[V, O any](toTyped func(runtime.Object, ...O) (*V, error), toObject func(*V) (runtime.Object, error)) typeConverter[V, O] {
	return typeConverter[V, O]{toTyped, toObject}
}

// ObjectToTyped implements managedfields.TypeConverter.
func (c typeConverter[V, O]) ObjectToTyped(obj runtime.Object, opts ...O) (*V, error) {
	return c.toTyped(untracked(obj), opts...)
}

// TypedToObject implements managedfields.TypeConverter.
func (c typeConverter[V, O]) TypedToObject(value *V) (runtime.Object, error) {
	return c.toObject(value)
}

// seesTracked lets a converter accept tracked objects.
func seesTracked(c managedfields.TypeConverter) managedfields.TypeConverter {
	return newTypeConverter(c.ObjectToTyped, c.TypedToObject)
}
