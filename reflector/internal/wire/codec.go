package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
)

// codec makes values of T out of the bytes of one object. It needs no
// runtime.Scheme: T says how it is decoded, and the request says what it is.
//
//	T                       on the wire       kind of the objects
//	*corev1.Pod, generated  protobuf or JSON  that of the Go type
//	*PartialObjectMetadata  protobuf or JSON  any: the server sends metadata alone
//	*Unstructured           JSON              that of the list
//	a struct of the user    JSON              that of the options, or of the list
type codec[T Object] struct {
	settings[T]

	// newest connects a list with the watch that follows it: if the list has shown the
	// kind, the events of the watch must have it.
	newest atomic.Pointer[expectation] // of the newest list
}

// settings are what does not change after a codec was made.
type settings[T Object] struct {
	// A new object is made by reflect.New(elem): T is a pointer type, and Go has no way
	// to allocate what a type parameter points to. Or T is an interface that *elem
	// implements.
	elem         reflect.Type // objects are of type *elem
	unstructured bool
	metadataOnly bool
	apiVersion   string // of the resource
	kind         string // of the resource, if T or the options say it
	byOption     bool   // the options say it
	limit        int    // bytes of one object
	// JSONSchemaProps of a CustomResourceDefinition is such a type.
	recursive bool // T can be nested without end
}

// protoMessage is what generated API types implement.
type protoMessage interface {
	Reset()
	Unmarshal([]byte) error
}

// newCodec returns a codec of objects of type T.
func newCodec[T Object](apiVersion string) (*codec[T], error) {
	return newCodecOf[T](apiVersion, reflect.TypeFor[T]())
}

// newCodecOf looks at the type of the objects once, so that nothing about it is worked
// out per object. The type is typ: T, or what implements it if T is an interface. It refuses what cannot be
// decoded into: an interface, or a struct that is not behind a pointer.
func newCodecOf[T Object](apiVersion string, typ reflect.Type) (*codec[T], error) {
	t := reflect.TypeFor[T]()
	switch {
	case t.Kind() != reflect.Interface && t != typ:
		return nil, fmt.Errorf("reflector: ResourceOptions.Type is %s, but the objects are to be of type %s; leave it unset", typ, t)
	case t.Kind() == reflect.Interface && !typ.Implements(t):
		return nil, fmt.Errorf("reflector: ResourceOptions.Type is %s, which does not implement %s", typ, t)
	}
	if typ.Kind() == reflect.Interface {
		return nil, fmt.Errorf("reflector: cannot decode into %s: it is an interface; set ResourceOptions.Type to the type of the objects", typ)
	}
	if typ.Kind() != reflect.Pointer || typ.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("reflector: cannot decode into %s: it is not a pointer to a struct such as *corev1.Pod", typ)
	}
	isUnstructured := typ == reflect.TypeFor[*unstructured.Unstructured]()
	isMetadata := typ == reflect.TypeFor[*metav1.PartialObjectMetadata]()
	c := &codec[T]{settings: settings[T]{
		elem: typ.Elem(), unstructured: isUnstructured, metadataOnly: isMetadata, apiVersion: apiVersion,
		limit: defaultMaxObject, recursive: recursive(typ.Elem()),
	}}
	// These two types can hold objects of any kind, so the type says nothing about it.
	if !isUnstructured && !isMetadata {
		c.kind = kindOf(c.elem)
	}
	return c, nil
}

// protobuf reports whether the objects can be decoded from protobuf.
func (c *codec[T]) protobuf() bool {
	return reflect.PointerTo(c.elem).Implements(reflect.TypeFor[protoMessage]()) && !c.unstructured
}

// expect returns what the objects of a new list, or of the initial events of a
// watch, must be.
func (c *codec[T]) expect() *expectation { return newExpectation(c.apiVersion, c.kind) }

// expected returns what the objects of a watch that follows a list must be.
func (c *codec[T]) expected() *expectation {
	if newest := c.newest.Load(); newest != nil {
		return newest
	}
	return c.expect()
}

// decodeJSON decodes an object from raw, which it does not retain. An error that is
// an *ObjectError concerns this object alone; any other one says that the bytes
// are not JSON, hence that the stream is broken.
func (c *codec[T]) decodeJSON(raw []byte, want *expectation, position int) (T, error) {
	obj := reflect.New(c.elem).Interface().(T)
	var err error
	// Into its map directly: UnmarshalJSON of Unstructured would parse the bytes twice,
	// and refuse an item of a list that has no kind of its own.
	if u, ok := any(obj).(*unstructured.Unstructured); ok {
		u.Object, err = unmarshalDynamic(raw)
	} else {
		err = unmarshalJSON(obj, raw)
	}
	// Which of the two it is decides what follows: a field of a wrong type is the
	// problem of one object, bytes that are not JSON mean that the bounds of later
	// objects cannot be trusted. The second pass over the bytes is made for bad objects
	// only.
	if err == nil {
		err = c.check(obj, want)
	} else if err = quoteless(err); !json.Valid(raw) {
		var none T
		return none, fmt.Errorf("invalid JSON: %w", err)
	}
	if err == nil {
		return obj, nil
	}
	var none T
	return none, objectError(identifyJSON(raw), position, err)
}

// decodeProto decodes an object from raw, which is without its envelope and which it
// does not retain. All errors are *ObjectErrors: the envelope has stated the size, so
// the next object is found even if this one is garbage. JSON has no sizes, and
// decodeJSON must therefore end the stream when the bytes are not JSON.
func (c *codec[T]) decodeProto(raw []byte, tm typeMeta, want *expectation, position int) (T, error) {
	var none T
	// Generated decoders recurse, and a Go stack overflow cannot be recovered. Types
	// that are finite by themselves, which is nearly all, skip the check.
	if c.recursive && protoTooDeep(raw, maxDepth) {
		return none, objectError(identifyProto(raw), position, errTooDeep)
	}
	// Before decoding: bytes of another kind often decode without an error, into
	// nonsense, because protobuf identifies fields by number only.
	if err := checkType(tm, want.typ(), c.metadataOnly); err != nil {
		return none, objectError(identifyProto(raw), position, err)
	}
	obj := reflect.New(c.elem).Interface().(T)
	err := unmarshalProto(any(obj).(protoMessage), raw)
	if err != nil {
		err = quoteless(err)
	} else {
		if t, ok := obj.GetObjectKind().(*metav1.TypeMeta); ok {
			// protobuf has the type only in the envelope, never in the object.
			t.APIVersion, t.Kind = tm.apiVersion, tm.kind
		} else if tm.kind != "" {
			obj.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(tm.apiVersion, tm.kind))
		}
		err = c.check(obj, want)
	}
	if err == nil {
		return obj, nil
	}
	return none, objectError(identifyProto(raw), position, err)
}

// unmarshalJSON turns a panic of a method UnmarshalJSON into an error. Objects come
// from other people, and a type of the user may not expect every one of them: that
// costs this one object, not the process.
//
// The decoder is the one that kube-apiserver uses. It matches field names by case and
// keeps integers as int64, which encoding/json does not.
func unmarshalJSON(into any, raw []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	return k8sjson.Unmarshal(raw, into)
}

// unmarshalProto turns a panic of a generated decoder into an error.
func unmarshalProto(m protoMessage, raw []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	return m.Unmarshal(raw)
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
