package reflector

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
	"k8s.io/apimachinery/pkg/types"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
)

// codec makes values of T out of the bytes of one object. It needs no
// runtime.Scheme: T says how it is decoded, and the request says what it is.
type codec[T Object] struct {
	elem         reflect.Type // T is *elem
	unstructured bool
	metadataOnly bool
	apiVersion   string // of the resource
	kind         string // of the resource, if T or the options say it
	byOption     bool   // the options say it
	limit        int    // bytes of one object
	recursive    bool   // T can be nested without end

	newest atomic.Pointer[expectation] // of the newest list
}

// protoMessage is what generated API types implement.
type protoMessage interface {
	Reset()
	Unmarshal([]byte) error
}

func newCodec[T Object](apiVersion string) (*codec[T], error) {
	typ := reflect.TypeFor[T]()
	if typ.Kind() != reflect.Pointer || typ.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("reflector: cannot decode into %s: it is not a pointer to a struct such as *corev1.Pod", typ)
	}
	var zero T
	_, isUnstructured := any(zero).(*unstructured.Unstructured)
	_, isMetadata := any(zero).(*metav1.PartialObjectMetadata)
	c := &codec[T]{
		elem: typ.Elem(), unstructured: isUnstructured, metadataOnly: isMetadata, apiVersion: apiVersion,
		limit: defaultMaxObject, recursive: recursive(typ.Elem()),
	}
	if !isUnstructured && !isMetadata {
		c.kind = kindOf(c.elem)
	}
	return c, nil
}

// protobuf reports whether T can be decoded from protobuf.
func (c *codec[T]) protobuf() bool {
	var zero T
	_, ok := any(zero).(protoMessage)
	return ok && !c.unstructured
}

// expect returns what the objects of a new list, or of the initial events of a
// watch, must be.
func (c *codec[T]) expect() *expectation { return newExpectation(c.apiVersion, c.kind) }

// expected returns what the objects of a watch must be that goes on after a list.
func (c *codec[T]) expected() *expectation {
	if newest := c.newest.Load(); newest != nil {
		return newest
	}
	return c.expect()
}

// decodeJSON makes an object of raw, which it does not retain. An error that is
// an *ObjectError concerns this object alone; any other one says that the bytes
// are no JSON, hence that the stream is broken.
func (c *codec[T]) decodeJSON(raw []byte, want *expectation, position int) (T, error) {
	obj := reflect.New(c.elem).Interface().(T)
	var err error
	if u, ok := any(obj).(*unstructured.Unstructured); ok {
		err = unmarshalJSON(&u.Object, raw)
	} else {
		err = unmarshalJSON(obj, raw)
	}
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

// decodeProto makes an object of raw, an object without its envelope, which it
// does not retain. All errors are *ObjectErrors.
func (c *codec[T]) decodeProto(raw []byte, tm typeMeta, want *expectation, position int) (T, error) {
	var none T
	if c.recursive && protoTooDeep(raw, maxDepth) {
		return none, objectError(identifyProto(raw), position, errTooDeep)
	}
	if err := checkType(tm, want.typ(), c.metadataOnly); err != nil {
		return none, objectError(identifyProto(raw), position, err)
	}
	obj := reflect.New(c.elem).Interface().(T)
	err := quoteless(unmarshalProto(any(obj).(protoMessage), raw))
	if err == nil {
		if t, ok := obj.GetObjectKind().(*metav1.TypeMeta); ok {
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

// unmarshalJSON turns a panic of a method UnmarshalJSON into an error.
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
// of those that carry none, as the items of lists of built-in resources do.
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
	if obj.GetName() == "" {
		return errors.New("it has no name")
	}
	return checkVersion(obj.GetResourceVersion())
}

// checkTypeMeta is for objects that embed the usual type information.
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

// checkObjectKind is for other ones.
func checkObjectKind(o schema.ObjectKind, want *expectation) error {
	gvk, typ := o.GroupVersionKind(), want.typ()
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
	if got.kind == "Table" && strings.HasPrefix(got.apiVersion, "meta.k8s.io/") {
		return errors.New("it is a Table for human readers, not an object")
	}
	if metadataOnly && got.kind == "PartialObjectMetadata" {
		return nil
	}
	if got.apiVersion != "" && want.apiVersion != "" && got.apiVersion != want.apiVersion ||
		got.kind != "" && want.kind != "" && got.kind != want.kind {
		return &kindError{typeMeta{cut(got.apiVersion), cut(got.kind)}, want}
	}
	return nil
}

// identity is what can be read of an object that cannot be decoded.
type identity struct {
	types.NamespacedName
	uid types.UID
	rv  string
}

// identifyJSON reads metadata field by field, so that one of a wrong type hides
// only itself, and without recursion.
func identifyJSON(raw []byte) (id identity) {
	str := map[string]string{}
	l := lexBytes(raw)
	_ = l.fields(func(name string) error {
		if c, err := l.peek(); name != "metadata" || err != nil || c != '{' {
			_, err := l.value()
			return err
		}
		return l.fields(func(name string) error {
			raw, err := l.value()
			if err != nil {
				return err
			}
			switch name {
			case "name", "namespace", "uid", "resourceVersion":
				var s string
				_ = json.Unmarshal(raw, &s)
				str[name] = identifier(s)
			}
			return nil
		})
	})
	return named(str["namespace"], str["name"], str["uid"], str["resourceVersion"])
}

// identifyProto reads field 1, metadata in all API types: its fields 1 name,
// 3 namespace, 5 uid, 6 resourceVersion.
func identifyProto(raw []byte) identity {
	meta, _ := bytesField(raw, 1)
	str := func(field int) string {
		b, _ := bytesField(meta, field)
		return identifier(b)
	}
	return named(str(3), str(1), str(5), str(6))
}

func objectError(id identity, position int, cause error) *ObjectError {
	return &ObjectError{
		Key: id.NamespacedName, UID: id.uid, ResourceVersion: id.rv,
		Position: position, Class: ClassDecode, Err: cause,
	}
}
