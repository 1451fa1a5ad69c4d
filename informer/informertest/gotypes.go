package informertest

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/informer/informertest/internal/builtin"
)

// goTypes are the Go types that a test gives through [Options].Scheme. The server reads
// and describes the built-in kinds by types that package builtin makes for it; those have
// no protobuf, which needs generated code.
type goTypes struct{ scheme *runtime.Scheme }

// types returns the Go types that the test gave.
func (s *Server) types() goTypes { return goTypes{s.opts.Scheme} }

// new returns an empty object of a kind, or false if no Go type is known for it.
func (g goTypes) new(gvk schema.GroupVersionKind) (runtime.Object, bool) {
	if g.scheme == nil || !g.scheme.Recognizes(gvk) {
		return nil, false
	}
	obj, err := g.scheme.New(gvk)
	return obj, err == nil
}

// describing returns the type by which a kind is described: that of the test, which has
// documentation, or else the one that the server reads it by.
func (g goTypes) describing(gvk schema.GroupVersionKind) reflect.Type {
	if obj, ok := g.new(gvk); ok {
		return reflect.TypeOf(obj).Elem()
	}
	t, _ := builtin.TypeOf(gvk)
	return t
}

// kindOf returns the kind of a Go object.
func (g goTypes) kindOf(obj runtime.Object) (schema.GroupVersionKind, bool) {
	if g.scheme != nil {
		if kinds, _, err := g.scheme.ObjectKinds(obj); err == nil {
			return kinds[0], true
		}
	}
	return builtin.KindOf(reflect.Indirect(reflect.ValueOf(obj)).Type())
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
func typed(gvk schema.GroupVersionKind) bool { return builtin.Served(gvk) }
