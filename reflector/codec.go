package reflector

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

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

	mu   sync.Mutex
	kind string // of the resource, once learned from an answer
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
	return &codec[T]{elem: typ.Elem(), unstructured: isUnstructured, metadataOnly: isMetadata, apiVersion: apiVersion}, nil
}

// protobuf reports whether T can be decoded from protobuf.
func (c *codec[T]) protobuf() bool {
	var zero T
	_, ok := any(zero).(protoMessage)
	return ok && !c.unstructured
}

// learn notes the kind of the resource, so that objects of another kind are
// recognised and objects without one are completed.
func (c *codec[T]) learn(kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kind == "" {
		c.kind = kind
	}
}

func (c *codec[T]) learned() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kind
}

// expected is the type that objects of the resource carry.
func (c *codec[T]) expected() typeMeta {
	return typeMeta{apiVersion: c.apiVersion, kind: c.learned()}
}

// decodeJSON makes an object of raw, which it does not retain. An error that is
// an *ObjectError concerns this object alone; any other one says that the bytes
// are no JSON, hence that the stream is broken.
func (c *codec[T]) decodeJSON(raw []byte, want typeMeta, position int) (T, error) {
	obj := reflect.New(c.elem).Interface().(T)
	var err error
	if u, ok := any(obj).(*unstructured.Unstructured); ok {
		err = unmarshalJSON(&u.Object, raw)
	} else {
		err = unmarshalJSON(obj, raw)
	}
	if err == nil {
		err = c.check(obj, want)
	} else if !json.Valid(raw) {
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
func (c *codec[T]) decodeProto(raw []byte, tm, want typeMeta, position int) (T, error) {
	obj := reflect.New(c.elem).Interface().(T)
	err := unmarshalProto(any(obj).(protoMessage), raw)
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
	var none T
	return none, objectError(identifyProto(raw), position, err)
}

// unmarshalJSON turns a panic of a method UnmarshalJSON into an error.
func unmarshalJSON(into any, raw []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return k8sjson.Unmarshal(raw, into)
}

// unmarshalProto turns a panic of a generated decoder into an error.
func unmarshalProto(m protoMessage, raw []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return m.Unmarshal(raw)
}

// check finds objects that are not what was asked for, and completes the type
// of those that carry none, as the items of lists of built-in resources do.
func (c *codec[T]) check(obj T, want typeMeta) error {
	if u, ok := any(obj).(*unstructured.Unstructured); ok && u.Object == nil {
		return errors.New("it is null")
	}
	if c.unstructured {
		// The accessors of Unstructured hide fields of a wrong type.
		if err := checkUnstructured(any(obj).(*unstructured.Unstructured)); err != nil {
			return err
		}
	}
	if tm, ok := obj.GetObjectKind().(*metav1.TypeMeta); ok {
		if err := checkType(typeMeta{tm.APIVersion, tm.Kind}, want, c.metadataOnly); err != nil {
			return err
		}
		if c.metadataOnly {
			if tm.Kind == "" {
				tm.APIVersion, tm.Kind = "meta.k8s.io/v1", "PartialObjectMetadata"
			}
		} else {
			if want.kind == "" {
				want.kind = tm.Kind
				if want.kind != "" {
					c.learn(want.kind)
				}
			}
			// The same two strings in all objects, rather than copies.
			if want.kind != "" {
				tm.APIVersion, tm.Kind = want.apiVersion, want.kind
			}
		}
	} else {
		gvk := obj.GetObjectKind().GroupVersionKind()
		got := typeMeta{gvk.GroupVersion().String(), gvk.Kind}
		if got.kind == "" && got.apiVersion == "" && want.kind != "" {
			obj.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(want.apiVersion, want.kind))
			got = want
		}
		if err := checkType(got, want, false); err != nil {
			return err
		}
		if want.kind == "" && got.kind != "" {
			c.learn(got.kind)
		}
	}
	if obj.GetName() == "" {
		return errors.New("it has no name")
	}
	return nil
}

func checkUnstructured(u *unstructured.Unstructured) error {
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
		return fmt.Errorf("it is a %s %s, not a %s %s", got.apiVersion, got.kind, want.apiVersion, want.kind)
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
// only itself.
func identifyJSON(raw []byte) identity {
	var obj struct {
		Metadata map[string]json.RawMessage `json:"metadata"`
	}
	if json.Unmarshal(raw, &obj) != nil {
		return identity{}
	}
	str := func(field string) (s string) {
		_ = json.Unmarshal(obj.Metadata[field], &s)
		return s
	}
	return identity{
		NamespacedName: types.NamespacedName{Namespace: str("namespace"), Name: str("name")},
		uid:            types.UID(str("uid")),
		rv:             str("resourceVersion"),
	}
}

// identifyProto reads field 1, metadata in all API types: its fields 1 name,
// 3 namespace, 5 uid, 6 resourceVersion.
func identifyProto(raw []byte) identity {
	meta, _ := bytesField(raw, 1)
	str := func(field int) string {
		b, _ := bytesField(meta, field)
		return string(b)
	}
	return identity{
		NamespacedName: types.NamespacedName{Namespace: str(3), Name: str(1)},
		uid:            types.UID(str(5)),
		rv:             str(6),
	}
}

func objectError(id identity, position int, cause error) *ObjectError {
	return &ObjectError{
		Key: id.NamespacedName, UID: id.uid, ResourceVersion: id.rv,
		Position: position, Class: ClassDecode, Err: cause,
	}
}
