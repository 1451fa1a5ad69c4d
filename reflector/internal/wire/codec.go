package wire

import (
	"fmt"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"reflect"
	"sync/atomic"
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
	// newest connects a list with the watch that follows it: if the list has shown the
	// kind, the events of the watch must have it.
	newest atomic.Pointer[expectation] // of the newest list

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
	plain     bool // json/v2 decodes T
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
	c := &codec[T]{
		elem: typ.Elem(), unstructured: isUnstructured, metadataOnly: isMetadata, apiVersion: apiVersion,
		limit: defaultMaxObject, recursive: recursive(typ.Elem()), plain: isPlain(typ.Elem()),
	}
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

// decode decodes the object of an item, whose bytes it does not retain. The error concerns
// this object alone.
func (c *codec[T]) decode(it item, proto bool, want *expectation) (obj T, err error) {
	if proto {
		obj, err = c.decodeProto(it, want)
	} else {
		obj, err = c.decodeJSON(it.raw)
	}
	if err != nil {
		return obj, err
	}
	return obj, c.check(obj, want)
}

// decodeJSON decodes an object. The reader of the body has seen that the text is valid JSON.
func (c *codec[T]) decodeJSON(raw []byte) (obj T, err error) {
	if tooDeep(raw) {
		return obj, errTooDeep
	}
	obj = reflect.New(c.elem).Interface().(T)
	// Into its map directly: UnmarshalJSON of Unstructured would parse the bytes twice,
	// and refuse an item of a list that has no kind of its own.
	if u, ok := any(obj).(*unstructured.Unstructured); ok {
		u.Object, err = unmarshalDynamic(raw)
	} else {
		err = unmarshalJSON(obj, raw, c.plain)
	}
	return obj, quoteless(err)
}

// decodeProto decodes an object, which is without its envelope.
func (c *codec[T]) decodeProto(it item, want *expectation) (obj T, err error) {
	// Generated decoders recurse, and a Go stack overflow cannot be recovered. Types
	// that are finite by themselves, which is nearly all, skip the check.
	if c.recursive && protoTooDeep(it.raw, maxDepth) {
		return obj, errTooDeep
	}
	// Before decoding: bytes of another kind often decode without an error, into
	// nonsense, because protobuf identifies fields by number only.
	if err := checkType(it.kind, want.typ(), c.metadataOnly); err != nil {
		return obj, err
	}
	obj = reflect.New(c.elem).Interface().(T)
	if err := unmarshalProto(any(obj).(protoMessage), it.raw); err != nil {
		return obj, quoteless(err)
	}
	if t, ok := obj.GetObjectKind().(*metav1.TypeMeta); ok {
		// protobuf has the type only in the envelope, never in the object.
		t.APIVersion, t.Kind = it.kind.apiVersion, it.kind.kind
	} else if it.kind.kind != "" {
		obj.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(it.kind.apiVersion, it.kind.kind))
	}
	return obj, nil
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
