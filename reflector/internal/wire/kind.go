package wire

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// maxWrongKind is after how many objects of another kind, and none of the right
// one, a collection is taken for one of that kind without reading on.
const maxWrongKind = 100

// expectation is the type that the objects of one list or stream must have. The
// kind is that which T says, or else that of the list, or of its first object
// that says one. It is not kept for the next list: a resource may have been
// removed, and come back with another kind.
//
// Decoders on several goroutines share it, so the kind is set once and atomically.
type expectation struct {
	apiVersion string
	kind       atomic.Pointer[string] // nil: not known yet
}

// newExpectation knows the kind from the start if it is not "".
func newExpectation(apiVersion, kind string) *expectation {
	e := &expectation{apiVersion: apiVersion}
	e.learn(kind)
	return e
}

// learn notes the kind if none is known.
func (e *expectation) learn(kind string) {
	if kind != "" && e.kind.Load() == nil {
		// The first one wins: later objects are compared with it, and must not change
		// it. The copy is what escapes, so that nothing is allocated once a kind is known.
		first := kind
		e.kind.CompareAndSwap(nil, &first)
	}
}

// typ returns what is known of the type by now.
func (e *expectation) typ() typeMeta {
	if kind := e.kind.Load(); kind != nil {
		return typeMeta{e.apiVersion, *kind}
	}
	return typeMeta{apiVersion: e.apiVersion}
}

// kindOf returns the kind that a Go type stands for, or "" if that is not known.
// The Go types that are generated with a protobuf decoder are named after their
// kind; so are structs that embed one, since they decode as it does.
func kindOf(typ reflect.Type) string {
	if !reflect.PointerTo(typ).Implements(reflect.TypeFor[protoObject]()) {
		return ""
	}
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Anonymous && f.Type.Kind() == reflect.Pointer {
			f.Type = f.Type.Elem()
		}
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			if kind := kindOf(f.Type); kind != "" {
				return kind
			}
		}
	}
	return typ.Name()
}

// protoObject is what generated API types implement.
type protoObject interface {
	Object
	protoMessage
}

// kindError says that an object has another type than it must have.
type kindError struct{ got, want typeMeta }

// Error is part of the message for the object, hence "it".
func (e *kindError) Error() string {
	return fmt.Sprintf("it is a %s, not a %s", e.got, e.want)
}

// String is apiVersion and kind.
func (t typeMeta) String() string { return Cut(t.apiVersion + " " + t.kind) }

// WrongKindError says that a collection is of another kind than T.
type WrongKindError struct {
	got, want typeMeta
	typ       reflect.Type // T is *typ
	option    bool         // the kind is that of Options
}

// Error names what has to be changed: the resource, the Go type, or the option that
// states the kind.
func (e *WrongKindError) Error() string {
	if e.option {
		return fmt.Sprintf("it is a collection of %s objects, but ResourceOptions.Kind says %s: either the resource or the option is the wrong one", e.got, e.want)
	}
	return fmt.Sprintf("it is a collection of %s objects, but *%s is for %s objects: either the resource or the type is the wrong one", e.got, e.typ, e.want)
}

// tally finds out whether a collection is of another kind than T says.
//
// One object of another kind is that object's error. If all are, the resource or the
// type is wrong, which the user must change, and one error that says so is better than
// one per object.
type tally struct {
	good, other int
	first       *kindError
}

// note counts an object, with the error of its event. One that was not decoded has none: the
// sink has it, in this version. Errors other than a wrong kind say nothing about the collection,
// and count for neither.
func (t *tally) note(err error) {
	if err == nil {
		t.good++
		return
	}
	var kind *kindError // here, as it is allocated for errors.As
	if errors.As(err, &kind) {
		// The first is kept for the message; the others say the same.
		if t.other++; t.first == nil {
			t.first = kind
		}
	}
}

// verdict returns an error for a collection of another kind: at its end, or earlier if
// there is no doubt. One object of the right kind settles it.
func (c *codec[T]) verdict(t *tally, end bool) error {
	if c.kind == "" || t.good > 0 || t.other == 0 || !end && t.other < maxWrongKind {
		return nil
	}
	return c.wrongCollection(t.first.got, t.first.want)
}

// wrongCollection names what has said the kind.
func (c *codec[T]) wrongCollection(got, want typeMeta) error {
	return &WrongKindError{got: got, want: want, typ: c.elem, option: c.byOption}
}

// check finds objects that are not what was asked for, and completes the type
// of those that carry none, as the items of lists of built-in resources do. Without
// a name an object has no key; with a resourceVersion that is too long or not
// printable it is not from an API server.
func (c *codec[T]) check(obj T, want *expectation) error {
	if c.unstructured {
		// The accessors of Unstructured hide fields of a wrong type.
		if err := checkUnstructured(any(obj).(*unstructured.Unstructured)); err != nil {
			return err
		}
	}
	var err error
	if tm, ok := obj.GetObjectKind().(*metav1.TypeMeta); ok {
		err = c.checkTypeMeta(tm, want)
	} else {
		err = checkObjectKind(obj.GetObjectKind(), want)
	}
	if err != nil {
		return err
	}
	// Last, so that an object of another kind is reported as one, rather than for what
	// it lacks.
	if obj.GetName() == "" {
		return errors.New("it has no name")
	}
	return CheckVersion(obj.GetResourceVersion())
}

// checkTypeMeta checks and completes the type of an object that embeds
// metav1.TypeMeta, as all generated types do. An object of a list often states none:
// kube-apiserver writes the kind once, for the list.
func (c *codec[T]) checkTypeMeta(tm *metav1.TypeMeta, want *expectation) error {
	if err := checkType(typeMeta{tm.APIVersion, tm.Kind}, want.typ(), c.metadataOnly); err != nil {
		return err
	}
	if c.metadataOnly {
		if tm.Kind == "" {
			tm.APIVersion, tm.Kind = "meta.k8s.io/v1", "PartialObjectMetadata"
		}
		return nil
	}
	want.learn(tm.Kind)
	// The same two strings in all objects, rather than copies.
	if typ := want.typ(); typ.kind != "" {
		tm.APIVersion, tm.Kind = typ.apiVersion, typ.kind
	}
	return nil
}

// checkObjectKind does the same for types that keep their kind in another way: the
// user's own structs, and Unstructured, whose kind is an entry of its map.
func checkObjectKind(o schema.ObjectKind, want *expectation) error {
	gvk, typ := o.GroupVersionKind(), want.typ()
	// As for generated types: an item of a list that states no type has that of the
	// list.
	if gvk.Empty() && typ.kind != "" {
		o.SetGroupVersionKind(schema.FromAPIVersionAndKind(typ.apiVersion, typ.kind))
		return nil
	}
	if err := checkType(typeMeta{gvk.GroupVersion().String(), gvk.Kind}, typ, false); err != nil {
		return err
	}
	want.learn(gvk.Kind)
	return nil
}

// checkUnstructured finds the metadata that the accessors of Unstructured would
// hide: GetName of an object whose name is a number returns "", as if there were no
// name at all.
func checkUnstructured(u *unstructured.Unstructured) error {
	if u.Object == nil {
		return errors.New("it is null")
	}
	meta, ok := u.Object["metadata"].(map[string]any)
	if !ok {
		return errors.New("it has no metadata")
	}
	for _, field := range []string{"name", "namespace", "uid", "resourceVersion"} {
		if v, found := meta[field]; found {
			if _, ok := v.(string); !ok {
				return fmt.Errorf("metadata.%s is a %T, not a string", field, v)
			}
		}
	}
	return nil
}

// checkType compares the type of a received object with the one asked for;
// what is not known is not compared.
func checkType(got, want typeMeta, metadataOnly bool) error {
	// Tables are what kubectl asks for. Their rows are not objects.
	if got.kind == "Table" && strings.HasPrefix(got.apiVersion, "meta.k8s.io/") {
		return errors.New("it is a Table for human readers, not an object")
	}
	if metadataOnly && got.kind == "PartialObjectMetadata" {
		return nil
	}
	if got.apiVersion != "" && want.apiVersion != "" && got.apiVersion != want.apiVersion ||
		got.kind != "" && want.kind != "" && got.kind != want.kind {
		return &kindError{typeMeta{Cut(got.apiVersion), Cut(got.kind)}, want}
	}
	return nil
}
