package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/watch"
)

// defaultMaxObject bounds the size in bytes of one object on the wire, unless
// [Options] says otherwise. etcd refuses objects above 1.5 MiB by
// default, so whatever exceeds this is hardly an object of an API server, and a
// decoded object can take 80 times the memory of its bytes.
const defaultMaxObject = 8 << 20

// errTooLarge ends a list or stream: the bytes behind the object have not been read.
var errTooLarge = errors.New("the answer holds an object that is too large")

// tooLarge is the error for an object of more bytes than limit. In JSON it cannot be
// skipped as one bad object: the end of the value is not known before it was read.
func tooLarge(limit int) error {
	return fmt.Errorf("%w: more than %d bytes; ResourceOptions.MaxObjectSize sets the limit", errTooLarge, limit)
}

// jsonReader reads a body in JSON token by token, with a bound on what one value may have in
// memory. A value is read as its bytes, which the decoder has checked to be valid JSON, so
// that other goroutines can decode them.
type jsonReader struct {
	dec *jsontext.Decoder
	src *bufio.Reader
	// max is how many bytes one value, and the white space before it, may have; beyond is
	// the error for more.
	max    int
	beyond error
	read   int64 // bytes given to dec
}

const (
	// listBuffer and watchBuffer are how many bytes of a body are read at once. A watch keeps
	// its buffer while it waits for events.
	listBuffer  = 64 << 10
	watchBuffer = 8 << 10
)

// newJSONReader reads body in pieces of so many bytes.
func newJSONReader(body io.Reader, size int) *jsonReader {
	r := &jsonReader{src: bufio.NewReaderSize(body, size)}
	r.dec = jsontext.NewDecoder(r, textOptions)
	return r
}

// bound sets what one value may have from now on.
func (r *jsonReader) bound(limit int, beyond error) { r.max, r.beyond = limit, beyond }

// Read is for the decoder. It reads on only if what it has is not a whole value.
func (r *jsonReader) Read(p []byte) (int, error) {
	if r.read-r.dec.InputOffset() > int64(r.max) {
		return 0, r.beyond
	}
	n, err := r.src.Read(p)
	r.read += int64(n)
	return n, err
}

// value reads the next value, which is valid until the next read.
func (r *jsonReader) value() (jsontext.Value, error) {
	v, err := r.dec.ReadValue()
	switch {
	case err != nil:
		return nil, r.failed(err)
	case len(v) > r.max: // and smaller than the buffer
		return nil, r.beyond
	}
	return v, nil
}

// failed returns the error for one of the decoder, which may quote a byte, or the name of a
// field. io.EOF is the end between two values.
func (r *jsonReader) failed(err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case err == io.EOF: //nolint:errorlint // the bare value is the end
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return io.ErrUnexpectedEOF
	case errors.As(err, &syntax):
		return fmt.Errorf("invalid JSON at byte %d", syntax.ByteOffset)
	}
	if cause := errors.Unwrap(err); cause != nil {
		return cause // of Read, without what the decoder puts in front of it
	}
	return err
}

// delim reads the token that begins or ends an object or array.
func (r *jsonReader) delim(want jsontext.Kind) error {
	at := r.dec.InputOffset()
	tok, err := r.dec.ReadToken()
	if err != nil {
		return r.failed(err)
	}
	if tok.Kind() != want {
		return fmt.Errorf("invalid JSON: %s instead of %q at byte %d", tok.Kind(), byte(want), at)
	}
	return nil
}

// fields reads an object and calls fn with the name of each of its fields, whose value fn
// reads. The name is valid until then. A name that comes twice is up to fn.
func (r *jsonReader) fields(fn func(name []byte) error) error {
	if err := r.delim('{'); err != nil {
		return err
	}
	for r.dec.PeekKind() == '"' {
		if err := r.field(fn); err != nil {
			return midValue(err)
		}
	}
	return midValue(r.delim('}'))
}

// field reads one field of an object.
func (r *jsonReader) field(fn func(name []byte) error) error {
	quoted, err := r.dec.ReadValue()
	if err != nil {
		return r.failed(err)
	}
	// Names may have escapes: "\u006detadata" must not pass for an unknown field while a
	// decoder takes it for another.
	name, err := unquote(quoted)
	if err != nil {
		return r.failed(err)
	}
	return fn(name)
}

// elements reads an array and calls fn for every element, with its bytes. A null counts as
// an empty array: Go encodes a nil slice as null.
func (r *jsonReader) elements(fn func(raw []byte) error) error {
	if r.dec.PeekKind() == 'n' {
		_, err := r.value()
		return err
	}
	if err := r.delim('['); err != nil {
		return midValue(err)
	}
	for r.dec.PeekKind() != ']' {
		raw, err := r.value()
		if err == nil {
			err = fn(raw)
		}
		if err != nil {
			return midValue(err)
		}
	}
	return r.delim(']')
}

// midValue is the error for a body that ends where it must not.
func midValue(err error) error {
	if err == io.EOF { //nolint:errorlint // io.Reader promises the bare value
		return io.ErrUnexpectedEOF
	}
	return err
}

// readJSON reads a list whose fields may come in any order: kinds known to the
// server send apiVersion and kind first, custom resources send items first.
func (a *listAnswer[T]) readJSON(body io.Reader) error {
	r := newJSONReader(body, listBuffer)
	r.bound(maxEnvelope, errEnvelope)
	// No field is required to come first, so what is known is checked in begin and
	// again in finish.
	if err := r.fields(func(name []byte) error { return a.field(r, string(name)) }); err != nil {
		return midValue(err)
	}
	if err := a.finish(); err != nil {
		return err
	}
	// A list must be the whole body: a proxy that joins two answers, or adds text to
	// one, would otherwise go unnoticed.
	if _, err := r.dec.ReadToken(); err == nil {
		return errors.New("something follows the list")
	} else if err = r.failed(err); err != io.EOF { //nolint:errorlint // the bare value is the end
		return err
	}
	return nil
}

// field reads one field of a list in JSON. Unknown fields are skipped, but counted:
// the limit on bytes beside the objects is what ends an answer that never comes to its
// items.
func (a *listAnswer[T]) field(r *jsonReader, name string) error {
	switch name {
	case "items", "apiVersion", "kind", "metadata":
		if err := a.once(name); err != nil {
			return err
		}
	}
	// The array is the only field that is not held as a whole: its elements go to the
	// pipeline one by one.
	if name == "items" {
		// Before the first item: a list of another kind is refused before any object
		// reaches the cache.
		if err := a.begin(); err != nil {
			return err
		}
		r.bound(a.limit, tooLarge(a.limit))
		err := r.elements(func(raw []byte) error { return a.item(raw) })
		r.bound(maxEnvelope, errEnvelope)
		return err
	}
	raw, err := r.value()
	if err == nil {
		err = a.beside(uint64(len(name) + len(raw)))
	}
	if err != nil {
		return err
	}
	var into any
	switch name {
	case "apiVersion":
		into = &a.typ.apiVersion
	case "kind":
		into = &a.typ.kind
	case "metadata":
		into = &a.meta
	}
	switch {
	case tooDeep(raw):
		err = errTooDeep
	case into != nil:
		err = unmarshalJSON(into, raw, false)
	}
	if err != nil {
		return fmt.Errorf("%s of the list: %w", name, quoteless(err))
	}
	// Kept with the list, and printed if something is wrong with it.
	a.typ = typeMeta{Cut(a.typ.apiVersion), Cut(a.typ.kind)}
	return nil
}

// jsonFrames are objects of the form {"type": …, "object": …}.
//
// kube-apiserver sends one WatchEvent of meta/v1 after another, without an enclosing
// array, and the type first. So an object is handed over as soon as it is read, without a
// copy, and what is behind it in its frame is read before the next one.
type jsonFrames struct {
	*jsonReader
	handedOver bool // the frame is not read to its end
}

// newJSONFrames reads frames from body, whose parts have at most limit bytes each.
func newJSONFrames(body io.Reader, limit int) *jsonFrames {
	f := &jsonFrames{jsonReader: newJSONReader(body, watchBuffer)}
	f.bound(limit, tooLarge(limit))
	return f
}

// next reads up to the next object. It returns io.EOF at the end of the watch.
func (f *jsonFrames) next() (item, error) {
	if f.handedOver {
		f.handedOver = false
		if err := f.rest(&item{typ: "read", raw: []byte("read")}); err != nil {
			return item{}, err
		}
	}
	if err := f.delim('{'); err != nil {
		return item{}, err
	}
	var it item
	err := f.rest(&it)
	switch {
	case err == nil && it.typ == "":
		err = errors.New("a watch event without a type")
	case err == nil && it.raw == nil && (it.hasObject() || it.typ == watch.Bookmark || it.typ == watch.Error):
		err = errors.New("a watch event without an object")
	}
	return it, err
}

// rest reads the fields of a frame that are not in it yet, up to the object if the type comes
// before it, or else to the end of the frame.
func (f *jsonFrames) rest(it *item) error {
	start := f.dec.InputOffset()
	for f.dec.PeekKind() == '"' {
		err := f.field(func(name []byte) error {
			isType, isObject := string(name) == "type", string(name) == "object"
			switch {
			case isType && it.typ != "", isObject && it.raw != nil:
				return fmt.Errorf("a watch event with two fields %s", name)
			case f.dec.InputOffset()-start > int64(f.max):
				return f.beyond // fields without end
			}
			v, err := f.value()
			if err != nil {
				return err
			}
			switch {
			case isType && v.Kind() != '"':
				return errors.New("a watch event whose type is not a string")
			case isType:
				typ, err := unquote(v)
				it.typ = eventType(typ)
				return err
			case isObject && it.typ != "":
				it.raw, f.handedOver = v, true
			case isObject:
				it.raw = bytes.Clone(v)
			}
			return nil
		})
		if err != nil || f.handedOver {
			return midValue(err)
		}
	}
	return midValue(f.delim('}'))
}
