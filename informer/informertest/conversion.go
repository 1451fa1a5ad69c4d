package informertest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// convertVersion returns an object in another version of its kind. The objects of
// custom resources differ in their apiVersion alone, as with the conversion
// strategy "None". The result shares what did not change with the argument.
func convertVersion(in *unstructured.Unstructured, want schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	have := in.GroupVersionKind()
	if have.Kind != want.Kind {
		return nil, fmt.Errorf("informertest: %s cannot be converted to %s", have, want)
	}
	out := make(map[string]any, len(in.Object))
	for name, value := range in.Object {
		out[name] = value
	}
	obj := &unstructured.Unstructured{Object: out}
	obj.SetGroupVersionKind(want)
	return obj, nil
}
