package informertest

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// builtinTypes holds the Go types of the built-in kinds. A real API server reads
// every body into such a type, and so does this one: it is what makes protobuf,
// typed patches and refused field types possible.
var builtinTypes = scheme.Scheme

// goTypes are the Go types that the server knows: those of the built-in kinds,
// and those that a test adds through [Options].Scheme.
type goTypes struct{ extra *runtime.Scheme }

// types returns the Go types that the server knows.
func (s *Server) types() goTypes { return goTypes{s.opts.Scheme} }

// new returns an empty object of a kind, or false if no Go type is known for it.
func (g goTypes) new(gvk schema.GroupVersionKind) (runtime.Object, bool) {
	for _, s := range []*runtime.Scheme{builtinTypes, g.extra} {
		if s != nil && s.Recognizes(gvk) {
			obj, err := s.New(gvk)
			return obj, err == nil
		}
	}
	return nil, false
}

// kindOf returns the kind that a Go object is registered as.
func (g goTypes) kindOf(obj runtime.Object) (schema.GroupVersionKind, bool) {
	for _, s := range []*runtime.Scheme{g.extra, builtinTypes} {
		if s == nil {
			continue
		}
		if kinds, _, err := s.ObjectKinds(obj); err == nil {
			return kinds[0], true
		}
	}
	return schema.GroupVersionKind{}, false
}

// canProto reports whether objects of a kind have a protobuf form.
func (g goTypes) canProto(gvk schema.GroupVersionKind) bool {
	obj, ok := g.new(gvk)
	if !ok {
		return false
	}
	_, ok = obj.(protoMessage)
	return ok
}

// typed reports whether a kind is a built-in one with a Go type: the server
// stores of it what that type has fields for.
func typed(gvk schema.GroupVersionKind) bool { return builtinTypes.Recognizes(gvk) }
