package client

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"mime"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8sjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/informerkit/informerkit/internal/apijson"
)

// message is what generated types with a protobuf form implement.
type message interface {
	Reset()
	Unmarshal(data []byte) error
	runtime.ProtobufMarshaller
}

// accept is the Accept header. JSON stays acceptable with protobuf, as aggregated servers may have
// nothing else. Lists are read as JSON, item by item.
func (c *Client[T]) accept(list bool) string {
	if c.protobuf && !list {
		return mimeProtobuf + ", " + mimeJSON
	}
	return mimeJSON
}

// protoMagic is what every protobuf body begins with; the message runtime.Unknown follows
// (API concepts, "Kubernetes Protobuf encoding").
var protoMagic = []byte("k8s\x00")

// encode returns the body of a request that writes obj.
func (c *Client[T]) encode(obj T) (body []byte, contentType string, err error) {
	m, ok := any(obj).(message)
	if c.protobuf && ok && !c.jsonOnly.Load() {
		body, err = marshalProtobuf(m, c.kind)
		return body, mimeProtobuf, err
	}
	// Generated types do not say their kind. It is written into a copy: obj is the caller's,
	// and may be in a cache.
	if kind := obj.GetObjectKind().GroupVersionKind(); kind.Kind == "" || kind.Version == "" {
		if c.isUnstructured() {
			return nil, "", fmt.Errorf("the object has the apiVersion %q and the kind %q; set both", kind.GroupVersion(), kind.Kind)
		}
		named := reflect.New(c.elem)
		named.Elem().Set(reflect.ValueOf(obj).Elem())
		obj = named.Interface().(T)
		obj.GetObjectKind().SetGroupVersionKind(c.kind)
	}
	body, err = marshalJSON(obj)
	return body, mimeJSON, err
}

// marshalProtobuf writes the envelope and the object into one slice.
func marshalProtobuf(m message, kind schema.GroupVersionKind) (body []byte, err error) {
	defer recovered(&err)
	envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind}}
	size := uint64(m.Size())
	// Room for the envelope: its Size is that of an empty object, whose length grows with it.
	body = make([]byte, len(protoMagic)+envelope.Size()+int(size)+16)
	copy(body, protoMagic)
	n, err := envelope.NestedMarshalTo(body[len(protoMagic):], m, size)
	return body[:len(protoMagic)+n], err
}

// marshalJSON is json/v2 with the rules of encoding/json, which wrote the tags of API types.
func marshalJSON(v any) (body []byte, err error) {
	defer recovered(&err)
	if u, ok := v.(*unstructured.Unstructured); ok {
		return stdjson.Marshal(u.Object)
	}
	if apijson.IsPlain(reflect.TypeOf(v)) {
		if body, err = json.Marshal(v, jsonv1.DefaultOptionsV1()); err == nil {
			return body, nil
		}
	}
	return stdjson.Marshal(v) // its verdict and its error count
}

// unmarshalJSON reads as apimachinery's decoder does.
func unmarshalJSON(body []byte, into any) (err error) {
	defer recovered(&err)
	if u, ok := into.(*unstructured.Unstructured); ok {
		return k8sjson.Unmarshal(body, &u.Object)
	}
	return apijson.Unmarshal(body, into)
}

// recovered turns a panic of a method of the object's type into an error: what the server sends is not
// in the hands of who wrote the type.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v", p)
	}
}

// decode returns the object of an answer, with its kind.
func (c *Client[T]) decode(got answer) (T, error) {
	obj := reflect.New(c.elem).Interface().(T)
	err := decodeInto(got, obj, "")
	if kind := obj.GetObjectKind(); err == nil && !c.isUnstructured() && kind.GroupVersionKind().Kind == "" {
		kind.SetGroupVersionKind(c.kind)
	}
	if kind := obj.GetObjectKind().GroupVersionKind(); err == nil && (obj.GetName() == "" || kind.Kind == "Status" && kind.Group == "") {
		err = fmt.Errorf("it is a %s without a name", kind.Kind)
	}
	return obj, err
}

// decodeInto decodes an answer of either encoding. With want, an object of another kind is an error.
func decodeInto(got answer, into runtime.Object, want string) (err error) {
	format := mediaType(got.contentType)
	switch {
	case format == mimeJSON:
		if err = unmarshalJSON(got.body, into); err == nil && want != "" && into.GetObjectKind().GroupVersionKind().Kind != want {
			return fmt.Errorf("it is a %q", into.GetObjectKind().GroupVersionKind().Kind)
		}
		return err
	case format != mimeProtobuf:
		return fmt.Errorf("its Content-Type is %q: is this the address of an API server?", got.contentType)
	}
	defer recovered(&err)
	m, ok := into.(message)
	if !ok || !bytes.HasPrefix(got.body, protoMagic) {
		return errors.New("it is protobuf, which was not asked for")
	}
	// Unmarshal copies the object. Behind the body is room for it.
	envelope := runtime.Unknown{Raw: got.body[len(got.body):]}
	if err := envelope.Unmarshal(got.body[len(protoMagic):]); err != nil {
		return err
	}
	// Fields have numbers only, so bytes of another kind often decode into nonsense.
	if kind := reflect.TypeOf(into).Elem().Name(); envelope.Kind != "" && want == "" && envelope.Kind != kind || want != "" && envelope.Kind != want {
		return fmt.Errorf("it is a %q", envelope.Kind)
	}
	if err := m.Unmarshal(envelope.Raw); err != nil {
		return err
	}
	into.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(envelope.APIVersion, envelope.Kind))
	return nil
}

// mediaType returns a Content-Type without its parameters.
func mediaType(contentType string) string {
	if contentType == mimeJSON || contentType == mimeProtobuf { // all that API servers send
		return contentType
	}
	format, _, _ := mime.ParseMediaType(contentType)
	return format
}

// decodeList returns the objects of a page of a list, and where the next page begins. The kind
// of built-in objects is stated once, with the list.
func (c *Client[T]) decodeList(got answer) (items []T, next string, err error) {
	if mediaType(got.contentType) != mimeJSON {
		return nil, "", fmt.Errorf("its Content-Type is %q: is this the address of an API server?", got.contentType)
	}
	var list struct {
		metav1.TypeMeta
		Metadata metav1.ListMeta      `json:"metadata"`
		Items    []stdjson.RawMessage `json:"items"`
	}
	if err := k8sjson.Unmarshal(got.body, &list); err != nil {
		return nil, "", err
	}
	kind, isList := strings.CutSuffix(list.Kind, "List")
	if !isList {
		return nil, "", fmt.Errorf("it is a %q, not a list", list.Kind)
	}
	items = make([]T, len(list.Items))
	for i, item := range list.Items {
		obj := reflect.New(c.elem).Interface().(T)
		if err := unmarshalJSON(item, obj); err != nil {
			return nil, "", fmt.Errorf("item %d: %w", i, err)
		}
		if named := obj.GetObjectKind(); named.GroupVersionKind().Kind == "" {
			named.SetGroupVersionKind(schema.FromAPIVersionAndKind(list.APIVersion, kind))
		}
		items[i] = obj
	}
	return items, list.Metadata.Continue, nil
}
