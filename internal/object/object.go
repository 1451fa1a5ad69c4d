// Package object holds the few words that every Kubernetes-facing package of
// this module shares: what an object is, what its key is, and when two
// received copies state the same thing.
//
// The public packages re-export [Object] as an alias, so that none of them has
// to import another one for it.
package object

import (
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Object is what an API server stores and an informer caches: a value with
// type information and object metadata. Every generated API type satisfies it
// as a pointer (*corev1.Pod), and so do *unstructured.Unstructured and
// *metav1.PartialObjectMetadata.
type Object interface {
	runtime.Object
	metav1.Object
}

// KeyOf returns the identity of an object within its resource: namespace and
// name. The namespace of a cluster-scoped object is empty.
func KeyOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// SameVersion reports whether a and b are copies of one stored version of one
// object: the UID and the resourceVersion are equal, and the resourceVersion is
// not empty. The API server changes the resourceVersion on every write, so two
// such copies have the same content. Another source may use a version twice. Then b, the
// one received later, says so by a method Unversioned() bool.
func SameVersion(a, b metav1.Object) bool {
	rv := a.GetResourceVersion()
	if rv == "" || rv != b.GetResourceVersion() || a.GetUID() != b.GetUID() {
		return false
	}
	// A definition may have moved to another version: the object is the same, its form is not.
	if x, ok := a.(runtime.Object); ok {
		if y, ok := b.(runtime.Object); ok && !sameForm(x.GetObjectKind().GroupVersionKind().Version, y.GetObjectKind().GroupVersionKind().Version) {
			return false
		}
	}
	u, ok := b.(interface{ Unversioned() bool })
	return !ok || !u.Unversioned()
}

// sameForm reports whether two API versions are equal, as far as the objects say theirs.
func sameForm(a, b string) bool { return a == b || a == "" || b == "" }

// IsNil reports whether o holds no object: a nil interface or a nil pointer of
// one of the pointer types that satisfy [Object]. Comparing with the zero value
// of T finds nil pointers, which comparing with nil does not.
func IsNil[T Object](o T) bool {
	var zero T
	return any(o) == any(zero)
}

// IsNilPointer reports whether v, whatever its type, is nil or holds a nil pointer, as a
// variable that was never set does when it is passed as an interface.
func IsNilPointer(v any) bool {
	r := reflect.ValueOf(v)
	return !r.IsValid() || r.Kind() == reflect.Pointer && r.IsNil()
}

// Check returns an error if the metadata of o cannot be read, because a method of its type
// panics: that of an embedded *metav1.ObjectMeta does if the object had no metadata.
func Check(o Object) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("its metadata cannot be read: %T panicked: %v", o, p)
		}
	}()
	_, _, _ = KeyOf(o), o.GetUID(), o.GetResourceVersion()
	if kind := o.GetObjectKind(); kind == nil || IsNilPointer(kind) {
		return errors.New("its type cannot be read: GetObjectKind returned nil")
	}
	return nil
}
