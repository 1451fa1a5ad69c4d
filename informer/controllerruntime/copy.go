package controllerruntime

import (
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// copyInto makes dst, a pointer of the same type as src, a deep copy of src. It saves the
// intermediate object of DeepCopyObject where the type has a DeepCopyInto, as all
// generated types do.
func copyInto(dst, src client.Object) {
	switch src := src.(type) {
	case *unstructured.Unstructured:
		src.DeepCopyInto(dst.(*unstructured.Unstructured)) //nolint:forcetypeassert // the types are equal
		return
	case *metav1.PartialObjectMetadata:
		src.DeepCopyInto(dst.(*metav1.PartialObjectMetadata)) //nolint:forcetypeassert // the types are equal
		return
	}
	d, s := reflect.ValueOf(dst), reflect.ValueOf(src)
	if method := deepCopyInto(s.Type()); method.IsValid() {
		method.Call([]reflect.Value{s, d})
		return
	}
	d.Elem().Set(reflect.ValueOf(src.DeepCopyObject()).Elem())
}

// copiers has the methods by type.
var copiers sync.Map // of reflect.Value, by reflect.Type

// deepCopyInto returns the method of a pointer type, or an invalid value if it has none
// that takes the same type. One that is promoted from an embedded type does not.
func deepCopyInto(typ reflect.Type) reflect.Value {
	if found, ok := copiers.Load(typ); ok {
		return found.(reflect.Value) //nolint:forcetypeassert // as stored
	}
	var found reflect.Value
	if m, ok := typ.MethodByName("DeepCopyInto"); ok && m.Type.NumIn() == 2 && m.Type.In(1) == typ && m.Type.NumOut() == 0 {
		found = m.Func
	}
	copiers.Store(typ, found)
	return found
}

// isNilPointer reports whether v is nil, or a nil pointer in an interface.
func isNilPointer(v any) bool {
	r := reflect.ValueOf(v)
	return !r.IsValid() || r.Kind() == reflect.Pointer && r.IsNil()
}
