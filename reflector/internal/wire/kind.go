package wire

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/internal/object"
)

// maxWrongKind is after how many objects of another kind, and none of the right
// one, a collection is taken for one of that kind without reading on.
const maxWrongKind = 100

// kinds compares the types of the objects of one answer, in their order. The kind that they
// must have is that which T or the options state, or else that of the first object that states
// one. An object that states none has that of its list: kube-apiserver writes the kind of
// built-in resources once, for the list.
//
// One object of another kind is that object's error. If all are, the resource or the type is
// wrong, which the user must change, and one error that says so is better than one per object.
type kinds[T Object] struct {
	codec       *codec[T]
	kind        string // "": not known yet
	good, other int
	first       *kindError // is kept for the message; the others say the same
}

// newKinds expects objects of a kind; "" is any, unless T or the options state it.
func (c *codec[T]) newKinds(kind string) *kinds[T] {
	return &kinds[T]{codec: c, kind: cmp.Or(c.kind, kind)}
}

// check finds an object that is not what was asked for, whose event gets an error, and
// completes the type of one that states none: it is of the kind list, if that is not "". The
// error is one of the whole collection, at its end, or earlier if there is no doubt.
func (k *kinds[T]) check(ev Event[T], position int, list string) (Event[T], error) {
	if ev.Err == nil && ev.Known == nil {
		if object.IsNil(ev.Object) {
			return ev, nil // a bookmark
		}
		if err := k.checkObject(ev.Object, list); err != nil {
			ev = refused(ev, position, err)
		}
	}
	if ev.Err == nil {
		k.good++
		return ev, nil
	}
	k.bad(ev.Err)
	return ev, k.verdict(false)
}

// refused returns the event of an object that was decoded, with an error instead.
func refused[T Object](ev Event[T], position int, err error) Event[T] {
	o := ev.Object
	id := identity{namespace: []byte(o.GetNamespace()), name: []byte(o.GetName()), uid: []byte(o.GetUID()), rv: []byte(o.GetResourceVersion())}
	failed := id.failed(position, err)
	return Event[T]{Type: ev.Type, ResourceVersion: failed.ResourceVersion, Err: failed}
}

// bad counts an object of another kind. Other errors say nothing about the collection.
func (k *kinds[T]) bad(err error) {
	var kind *kindError
	if errors.As(err, &kind) {
		if k.other++; k.first == nil {
			k.first = kind
		}
	}
}

// verdict returns an error for a collection of another kind. One object of the right kind
// settles it.
func (k *kinds[T]) verdict(end bool) error {
	if k.codec.kind == "" || k.good > 0 || k.other == 0 || !end && k.other < maxWrongKind {
		return nil
	}
	return k.codec.wrongCollection(k.first.got)
}

// checkObject compares and completes the type. Without a name an object has no key; with a
// resourceVersion that is too long it is not from an API server.
func (k *kinds[T]) checkObject(obj T, list string) error {
	if err := k.checkType(obj.GetObjectKind(), list); err != nil {
		return err
	}
	// Last, so that an object of another kind is reported as one, rather than for what
	// it lacks.
	if obj.GetName() == "" {
		return errors.New("it has no name")
	}
	return CheckVersion(obj.GetResourceVersion())
}

// checkType compares the type that an object states, and sets it: always the same two strings,
// rather than copies.
func (k *kinds[T]) checkType(of schema.ObjectKind, list string) error {
	stated := statedType(of)
	want := typeMeta{k.codec.apiVersion, k.kind}
	if k.codec.metadataOnly && (stated.kind == "" || stated.kind == metadataKind) {
		setType(of, stated, typeMeta{"meta.k8s.io/v1", metadataKind})
		return nil
	}
	got := typeMeta{stated.apiVersion, cmp.Or(stated.kind, list, k.kind)}
	if err := k.codec.compare(got, want); err != nil {
		return err
	}
	if got.kind == "" {
		return errors.New("neither it nor its list states a kind; ResourceOptions.Kind can")
	}
	if !k.codec.metadataOnly {
		k.kind = cmp.Or(k.kind, got.kind)
	}
	setType(of, stated, typeMeta{k.codec.apiVersion, cmp.Or(k.kind, got.kind)})
	return nil
}

// metadataKind is the kind of objects of which the server sends the metadata only.
const metadataKind = "PartialObjectMetadata"

// compare compares a type with the expected one; what is not known is not compared.
func (c *codec[T]) compare(got, want typeMeta) error {
	// Tables are what kubectl asks for. Their rows are not objects.
	if got.kind == "Table" && strings.HasPrefix(got.apiVersion, "meta.k8s.io/") {
		return errors.New("it is a Table for human readers, not an object")
	}
	if c.metadataOnly && got.kind == metadataKind {
		return nil
	}
	if got.apiVersion != "" && want.apiVersion != "" && got.apiVersion != want.apiVersion ||
		got.kind != "" && want.kind != "" && got.kind != want.kind {
		return &kindError{typeMeta{Cut(got.apiVersion), Cut(got.kind)}, want}
	}
	return nil
}

// typeMeta is apiVersion and kind.
type typeMeta struct{ apiVersion, kind string }

// String is apiVersion and kind, for messages.
func (t typeMeta) String() string { return Cut(t.apiVersion + " " + t.kind) }

// statedType returns the type that an object states.
func statedType(of schema.ObjectKind) typeMeta {
	if t, ok := of.(*metav1.TypeMeta); ok { // as in all generated types
		return typeMeta{t.APIVersion, t.Kind}
	}
	apiVersion, kind := of.GroupVersionKind().ToAPIVersionAndKind()
	return typeMeta{apiVersion, kind}
}

// setType sets the type of an object.
func setType(of schema.ObjectKind, stated, typ typeMeta) {
	if t, ok := of.(*metav1.TypeMeta); ok {
		t.APIVersion, t.Kind = typ.apiVersion, typ.kind
	} else if stated != typ {
		of.SetGroupVersionKind(schema.FromAPIVersionAndKind(typ.apiVersion, typ.kind))
	}
}

// kindOf returns the kind that a Go type stands for, or "" if that is not known.
// The Go types that are generated with a protobuf decoder are named after their
// kind; so are structs that embed one, since they decode as it does.
func kindOf(typ reflect.Type) string {
	if !reflect.PointerTo(typ).Implements(reflect.TypeFor[protoMessage]()) || !reflect.PointerTo(typ).Implements(reflect.TypeFor[Object]()) {
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

// kindError says that an object has another type than it must have.
type kindError struct{ got, want typeMeta }

// Error is part of the message for the object, hence "it".
func (e *kindError) Error() string {
	return fmt.Sprintf("it is a %s, not a %s", e.got, e.want)
}

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

// wrongCollection names what has said the kind.
func (c *codec[T]) wrongCollection(got typeMeta) error {
	return &WrongKindError{got: got, want: typeMeta{c.apiVersion, c.kind}, typ: c.elem, option: c.byOption}
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
		if v := meta[field]; v != nil { // null is the same as absent, as for apimachinery
			if _, ok := v.(string); !ok {
				return fmt.Errorf("metadata.%s is a %T, not a string", field, v)
			}
		}
	}
	return nil
}
