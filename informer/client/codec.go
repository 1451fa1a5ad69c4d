package client

import (
	"bytes"
	"cmp"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8sjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/informerkit/informerkit/internal/apijson"
	"github.com/informerkit/informerkit/internal/httpclient"
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
	err := decodeInto(got, obj, c.expected)
	if kind := obj.GetObjectKind(); err == nil && !c.isUnstructured() && kind.GroupVersionKind().Kind == "" {
		kind.SetGroupVersionKind(c.kind)
	}
	if kind := obj.GetObjectKind().GroupVersionKind(); err == nil && (obj.GetName() == "" || kind.Kind == "Status" && kind.Group == "") {
		err = fmt.Errorf("it is a %s without a name", kind.Kind)
	}
	return obj, err
}

// decodeInto decodes an answer of either encoding. An object that states another kind than want is an error; an
// empty want is any. Protobuf has no names of fields, so it is always of a kind that into can hold.
func decodeInto(got answer, into runtime.Object, want string) (err error) {
	defer func() { err = httpclient.CutError(err) }()
	format := mediaType(got.contentType)
	switch {
	case format == mimeJSON:
		if err = unmarshalJSON(got.body, into); err != nil {
			return err
		}
		return otherKind(into.GetObjectKind().GroupVersionKind().Kind, want)
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
	if err := otherKind(envelope.Kind, cmp.Or(want, reflect.TypeOf(into).Elem().Name())); err != nil {
		return err
	}
	if err := m.Unmarshal(envelope.Raw); err != nil {
		return err
	}
	into.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(envelope.APIVersion, envelope.Kind))
	return nil
}

// otherKind returns an error for an object that states another kind than want; an empty want is any.
func otherKind(kind, want string) error {
	if kind == "" || want == "" || kind == want {
		return nil
	}
	return fmt.Errorf("it is a %q, and not a %q; Options.Kind names the kind if it is not the name of the Go type", kind, want)
}

// mediaType returns a Content-Type without its parameters.
func mediaType(contentType string) string {
	if contentType == mimeJSON || contentType == mimeProtobuf { // all that API servers send
		return contentType
	}
	format, _, _ := mime.ParseMediaType(contentType)
	return format
}

// pages is what [Client.List] collects, page by page.
type pages[T Object] struct {
	items []T
	next  string // the continue token of the newest page
	bytes int64
	left  int64 // bytes of the value that is being read
	from  io.Reader
}

// Read implements [io.Reader] within the bounds.
func (l *pages[T]) Read(p []byte) (int, error) {
	switch { // before a read: decoders look at an error only if it has brought nothing
	case l.left < 0:
		return 0, fmt.Errorf("a part of it has more than %d bytes; no API server stores such an object", httpclient.MaxObject)
	case l.bytes > httpclient.MaxBytes:
		return 0, fmt.Errorf("the collection has more than %d bytes", int64(httpclient.MaxBytes))
	}
	n, err := l.from.Read(p)
	l.left -= int64(n)
	l.bytes += int64(n)
	return n, err
}

// page adds the objects of a page, one by one as they arrive. The kind of built-in objects is stated once, with
// the list, before or behind them.
func (c *Client[T]) page(l *pages[T], contentType string, body io.Reader) (err error) {
	defer func() { err = httpclient.CutError(err) }()
	if mediaType(contentType) != mimeJSON {
		return fmt.Errorf("its Content-Type is %q: is this the address of an API server?", contentType)
	}
	l.from, l.next = body, ""
	first := len(l.items)
	d := jsontext.NewDecoder(l, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var envelope struct {
		metav1.TypeMeta
		Metadata metav1.ListMeta `json:"metadata"`
	}
	// each calls do for each value of an object or array.
	each := func(open jsontext.Kind, do func() error) error {
		l.left = httpclient.MaxObject
		if kind := d.PeekKind(); kind != open {
			_, err := d.ReadValue()
			return cmp.Or(err, fmt.Errorf("it has a JSON %v where a list has a %v", kind, open))
		}
		_, err := d.ReadToken()
		for err == nil && d.PeekKind() != open+2 { // { and }, [ and ]
			l.left = httpclient.MaxObject
			err = do()
		}
		if err == nil {
			_, err = d.ReadToken()
		}
		return err
	}
	err = each('{', func() error {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		if name := token.String(); name != "items" || d.PeekKind() == 'n' {
			value, err := d.ReadValue()
			switch {
			case err != nil || name != "kind" && name != "apiVersion" && name != "metadata":
				return err
			}
			return unmarshalJSON(slices.Concat([]byte(`{"`+name+`":`), value, []byte("}")), &envelope)
		}
		return each('[', func() error {
			value, err := d.ReadValue()
			if err != nil {
				return err
			}
			if len(l.items) == httpclient.MaxObjects {
				return fmt.Errorf("the collection has more than %d objects", httpclient.MaxObjects)
			}
			obj := reflect.New(c.elem).Interface().(T)
			if err := unmarshalJSON(value, obj); err != nil {
				return fmt.Errorf("item %d: %w", len(l.items)-first, err)
			}
			l.items = append(l.items, obj)
			return nil
		})
	})
	if err != nil {
		return err
	}
	kind, isList := strings.CutSuffix(envelope.Kind, "List")
	if !isList {
		return fmt.Errorf("it is a %q, not a list", envelope.Kind)
	}
	if err := otherKind(kind, c.expected); err != nil {
		return err
	}
	for i, obj := range l.items[first:] {
		named := obj.GetObjectKind()
		if named.GroupVersionKind().Kind == "" {
			named.SetGroupVersionKind(schema.FromAPIVersionAndKind(envelope.APIVersion, kind))
		} else if err := otherKind(named.GroupVersionKind().Kind, c.expected); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
	}
	l.next = envelope.Metadata.Continue
	_, err = io.CopyN(io.Discard, body, httpclient.MaxError) // so that the connection can be used again
	if err == io.EOF {
		err = nil
	}
	return err
}
