package wire

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/informerkit/informerkit/internal/apijson"
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
	// newest connects a list with what follows it: the events of its watch must have its
	// kind, and an empty list without a version is believed if it is of its kind.
	newest atomic.Pointer[listKinds]

	// A new object is made by reflect.New(elem): T is a pointer type, and Go has no way
	// to allocate what a type parameter points to. Or T is an interface that *elem
	// implements.
	elem         reflect.Type // objects are of type *elem
	metadataOnly bool
	apiVersion   string // of the resource
	kind         string // of the resource, if T or the options say it
	byOption     bool   // the options say it
	limit        int    // bytes of one object
	protobuf     bool   // the objects can be decoded from protobuf
}

// listKinds are the kinds of a list that was accepted, and of its objects.
type listKinds struct{ list, object string }

// protoMessage is what generated API types implement.
type protoMessage interface {
	Reset()
	Unmarshal([]byte) error
}

// newCodec looks at the type of the objects once, so that nothing about it is worked out per
// object. It is T, or what the options say if T is an interface. What cannot be decoded into is
// refused, and so is a Kind that contradicts the type: one of the two is a mistake.
func newCodec[T Object](apiVersion string, opts Options) (*codec[T], error) {
	t := reflect.TypeFor[T]()
	typ := cmp.Or(opts.Type, t)
	switch {
	case opts.MaxObjectSize < 0, opts.MaxObjects < 0, opts.MaxBytes < 0:
		return nil, errors.New("reflector: MaxObjectSize, MaxObjects or MaxBytes of ResourceOptions is negative")
	case t.Kind() != reflect.Interface && t != typ:
		return nil, fmt.Errorf("reflector: ResourceOptions.Type is %s, but the objects are to be of type %s; leave it unset", typ, t)
	case t.Kind() == reflect.Interface && !typ.Implements(t):
		return nil, fmt.Errorf("reflector: ResourceOptions.Type is %s, which does not implement %s", typ, t)
	case typ.Kind() == reflect.Interface:
		return nil, fmt.Errorf("reflector: cannot decode into %s: it is an interface; set ResourceOptions.Type to the type of the objects", typ)
	case typ.Kind() != reflect.Pointer || typ.Elem().Kind() != reflect.Struct:
		return nil, fmt.Errorf("reflector: cannot decode into %s: it is not a pointer to a struct such as *corev1.Pod", typ)
	}
	c := &codec[T]{
		elem: typ.Elem(), apiVersion: apiVersion, limit: cmp.Or(opts.MaxObjectSize, defaultMaxObject),
		metadataOnly: typ == reflect.TypeFor[*metav1.PartialObjectMetadata](),
	}
	// A generated decoder recurses without a bound, and a stack that overflows ends the
	// process. So types that can be nested without end, such as a CustomResourceDefinition
	// with its schemas, are read as JSON, whose depth is known before it is decoded.
	c.protobuf = typ.Implements(reflect.TypeFor[protoMessage]()) && !apijson.IsRecursive(c.elem)
	// These two types can hold objects of any kind, so the type says nothing about it.
	if typ != reflect.TypeFor[*unstructured.Unstructured]() && !c.metadataOnly {
		c.kind = kindOf(c.elem)
	}
	if opts.Kind != "" && c.kind != "" && opts.Kind != c.kind {
		return nil, fmt.Errorf("reflector: ResourceOptions.Kind is %q, but *%s is for objects of the kind %s", opts.Kind, c.elem, c.kind)
	}
	// Remembered for the message of WrongKindError, which names what to correct.
	c.byOption = c.kind == "" && opts.Kind != ""
	c.kind = cmp.Or(c.kind, opts.Kind)
	return c, nil
}

// expected returns the kind that the objects of a watch must have which follows a list.
func (c *codec[T]) expected() string {
	if newest := c.newest.Load(); newest != nil {
		return newest.object
	}
	return ""
}

// decodeJSON decodes an object. The error is one of this object.
func (c *codec[T]) decodeJSON(raw []byte) (obj T, err error) {
	obj = reflect.New(c.elem).Interface().(T)
	// Into its map directly: UnmarshalJSON of Unstructured would parse the bytes twice,
	// and refuse an item of a list that has no kind of its own.
	u, ok := any(obj).(*unstructured.Unstructured)
	if ok {
		u.Object, err = unmarshalDynamic(raw)
	} else {
		err = unmarshalJSON(obj, raw)
	}
	if err == nil && ok {
		err = checkUnstructured(u)
	}
	return obj, quoteless(err)
}

// decodeProto decodes an object, which is without its envelope. If typ, what the envelope says,
// is another kind, it is not decoded: bytes of another kind often decode without an error, into
// nonsense, because protobuf identifies fields by number only.
func (c *codec[T]) decodeProto(raw []byte, typ typeMeta) (obj T, err error) {
	if err := c.compare(typ, typeMeta{c.apiVersion, c.kind}); err != nil {
		return obj, err
	}
	obj = reflect.New(c.elem).Interface().(T)
	if err := unmarshalProto(any(obj).(protoMessage), raw); err != nil {
		return obj, quoteless(err)
	}
	// protobuf has the type only in the envelope, never in the object.
	setType(obj.GetObjectKind(), typeMeta{}, typ)
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
