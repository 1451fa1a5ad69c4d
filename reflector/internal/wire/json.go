package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/internal/httpclient"
)

const (
	// defaultMaxObject bounds the size in bytes of one object on the wire, unless
	// [Options] says otherwise. etcd refuses objects above 1.5 MiB by
	// default, so whatever exceeds this is hardly an object of an API server, and a
	// decoded object can take 80 times the memory of its bytes.
	defaultMaxObject = httpclient.MaxObject

	// maxDepth bounds how deeply the parts of one object may be nested. API objects have a few
	// tens of levels; decoders that work on each level in turn take a time that grows with the
	// square of the depth.
	maxDepth = 1000

	// maxString bounds a text in an object that is skipped: package jsontext holds each as a whole.
	maxString = 4 * defaultMaxObject

	// keptBuffer is how large a value leaves the buffer of a watch as it is.
	keptBuffer = 64 << 10
)

var (
	errTooDeep = errors.New("it is nested too deeply to be an object of an API server")
	errInvalid = errors.New("invalid JSON")
	errFull    = errors.New("a value has more bytes than it may have")
)

// tooLarge is the error for an object of more bytes than limit. The next one is read.
func tooLarge(limit int) error {
	return &sizeError{limit}
}

// sizeError is an object that is too large.
type sizeError struct{ limit int }

func (e *sizeError) Error() string {
	return fmt.Sprintf("it has more than %d bytes; ResourceOptions.MaxObjectSize sets the limit", e.limit)
}

// jsonReader splits a body in JSON into values, which [jsontext.Decoder] delimits. A value that
// is too large is skipped, and not held as a whole.
type jsonReader struct {
	dec   *jsontext.Decoder
	src   boundedReader
	limit int  // bytes of one value
	large bool // the buffer of dec may be
	name  []byte
}

// newJSONReader reads body.
func newJSONReader(body io.Reader, limit int) *jsonReader {
	r := &jsonReader{src: boundedReader{Reader: body}, limit: limit}
	r.dec = jsontext.NewDecoder(&r.src, textOptions)
	return r
}

// boundedReader is a body of which a decoder gets no more than it may hold.
type boundedReader struct {
	io.Reader
	rest     []byte // that comes first
	got, end int64  // bytes that were read, and may be read
	err      error  // of Reader, which a decoder does not notice if bytes came with it
}

// Read implements [io.Reader]. A reader may return nothing and no error, but not without end.
func (b *boundedReader) Read(p []byte) (n int, err error) {
	switch {
	case b.got >= b.end:
		return 0, errFull
	case len(b.rest) > 0:
		n = copy(p[:min(int64(len(p)), b.end-b.got)], b.rest)
		b.rest = b.rest[n:]
		b.got += int64(n)
		return n, nil
	case b.err != nil:
		return 0, b.err
	}
	for range 100 {
		n, b.err = b.Reader.Read(p[:min(int64(len(p)), b.end-b.got)])
		if b.got += int64(n); n > 0 || b.err != nil {
			return n, b.err
		}
	}
	b.err = io.ErrNoProgress
	return 0, b.err
}

// allow lets the next value or token have so many bytes, with what separates it from the last one.
func (r *jsonReader) allow(n int) { r.src.end = r.dec.InputOffset() + int64(n) }

// failed is the error for what the decoder could not read, whose own may quote the body. io.EOF is
// the end of the body where it may end.
func (r *jsonReader) failed(err error) error {
	switch {
	case err == io.EOF: //nolint:errorlint // the decoder returns the bare value
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return io.ErrUnexpectedEOF
	case errors.Is(err, errFull):
		return fmt.Errorf("%w: more than %d bytes of white space, or in one text", errEnvelope, r.src.end-r.dec.InputOffset())
	case r.src.err != nil && errors.Is(err, r.src.err):
		return r.src.err
	}
	return r.invalid()
}

// invalid is the error for a value that is not what must stand there.
func (r *jsonReader) invalid() error {
	return fmt.Errorf("%w behind byte %d", errInvalid, r.dec.InputOffset())
}

// token reads the next token, of so many bytes at most.
func (r *jsonReader) token(limit int) (jsontext.Kind, error) {
	r.allow(limit)
	t, err := r.dec.ReadToken()
	if err != nil {
		return 0, r.failed(err)
	}
	return t.Kind(), nil
}

// value reads the next value, which is valid until the next read. If it is too large or too
// deep the error in the result says so, and the value is what identifies it.
func (r *jsonReader) value() (raw []byte, bad, err error) {
	r.allow(r.limit)
	raw, err = r.dec.ReadValue()
	switch {
	case errors.Is(err, errFull):
		bad = tooLarge(r.limit)
		raw, err = r.outline(nil, "metadata")
	case err != nil:
		err = r.failed(err)
	case len(raw) > r.limit: // it was in the buffer already
		bad = tooLarge(r.limit)
	case isDeep(raw):
		bad = errTooDeep
	}
	r.large = r.large || bad != nil || len(raw) > keptBuffer
	return raw, bad, midValue(err)
}

// isDeep reports whether a value is nested too deeply.
func isDeep(raw []byte) bool {
	if bytes.Count(raw, []byte("{"))+bytes.Count(raw, []byte("[")) <= maxDepth {
		return false // as nearly all are
	}
	for dec := jsontext.NewDecoder(bytes.NewBuffer(raw), textOptions); ; {
		if _, err := dec.ReadToken(); err != nil || dec.StackDepth() > maxDepth {
			return err == nil
		}
	}
}

// pass consumes the next value without holding it.
func (r *jsonReader) pass() error {
	for depth := r.dec.StackDepth(); ; {
		if _, err := r.token(maxString); err != nil || r.dec.StackDepth() <= depth {
			return midValue(err)
		}
	}
}

// outline consumes the next value without holding it, and appends to kept what may identify it:
// an object of its texts that are no longer than names, and of those in the field nested.
func (r *jsonReader) outline(kept []byte, nested string) ([]byte, error) {
	r.allow(maxString)
	if r.dec.PeekKind() != '{' {
		return kept, r.pass()
	}
	if _, err := r.token(maxString); err != nil {
		return kept, err
	}
	kept = append(kept, '{')
	err := r.fields(maxString, func(name []byte) (more bool, err error) {
		r.allow(maxString)
		kind := r.dec.PeekKind()
		if len(name) > maxForeign || len(kept) > maxEnvelope || kind != '"' && (kind != '{' || string(name) != nested) {
			return true, r.pass()
		}
		before := len(kept)
		if kept[before-1] != '{' {
			kept = append(kept, ',')
		}
		if kept, err = jsontext.AppendQuote(kept, name); err != nil {
			kept = kept[:before] // invalid UTF-8
			return true, r.pass()
		}
		if kept = append(kept, ':'); kind == '{' {
			kept, err = r.outline(kept, "")
			return true, err
		}
		text, err := r.dec.ReadValue()
		if err != nil {
			return false, r.failed(err)
		}
		if kept = append(kept, text...); len(text) > 2*maxForeign {
			kept = kept[:before]
		}
		return true, nil
	})
	return append(kept, '}'), midValue(err)
}

// object reads an object, as fields does.
func (r *jsonReader) object(fn func(name []byte) (more bool, err error)) error {
	switch kind, err := r.token(maxEnvelope); {
	case err != nil:
		return midValue(err)
	case kind != '{':
		return r.invalid()
	}
	return r.fields(maxEnvelope, fn)
}

// fields reads an object, behind its bracket, and calls fn with the name of each of its fields,
// whose value fn reads, and which says whether to go on. The name is valid until then, and has so many
// bytes at most. A name that comes twice is up to fn.
func (r *jsonReader) fields(limit int, fn func(name []byte) (more bool, err error)) error {
	for {
		r.allow(limit)
		if r.dec.PeekKind() == '}' {
			_, err := r.token(limit)
			return err
		}
		quoted, err := r.dec.ReadValue()
		if err != nil {
			return midValue(r.failed(err))
		}
		// Names may have escapes: "\u006detadata" must not pass for an unknown field while a
		// decoder takes it for another.
		name, err := unquote(quoted)
		if err != nil {
			return errInvalid
		}
		r.name = append(r.name[:0], name...)
		if more, err := fn(r.name); err != nil || !more {
			return midValue(err)
		}
	}
}

// elements reads an array and calls fn for every element. A null counts as an empty array: Go
// encodes a nil slice as null.
func (r *jsonReader) elements(fn func(raw []byte, bad error) error) error {
	switch kind, err := r.token(maxEnvelope); {
	case err != nil:
		return midValue(err)
	case kind == 'n':
		return nil
	case kind != '[':
		return r.invalid()
	}
	for {
		r.allow(r.limit)
		if r.dec.PeekKind() == ']' {
			_, err := r.token(maxEnvelope)
			return err
		}
		raw, bad, err := r.value()
		if err == nil {
			err = fn(raw, bad)
		}
		if err != nil {
			return err
		}
	}
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
	r := newJSONReader(body, maxEnvelope)
	// No field is required to come first, so what is known is checked in begin and
	// again in finish.
	if err := r.object(func(name []byte) (bool, error) { return true, a.field(r, string(name)) }); err != nil {
		return err
	}
	if err := a.finish(); err != nil {
		return err
	}
	// A list must be the whole body: a proxy that joins two answers, or adds text to
	// one, would otherwise go unnoticed.
	switch _, err := r.token(maxEnvelope); {
	case err == nil || errors.Is(err, errInvalid):
		return errors.New("something follows the list")
	case err != io.EOF: //nolint:errorlint // the bare value is the end
		return err
	}
	return nil
}

// field reads one field of a list in JSON. Unknown fields are skipped, but counted:
// the limit on bytes beside the objects is what ends an answer that never comes to its
// items.
func (a *listAnswer[T]) field(r *jsonReader, name string) error {
	var into any
	switch name {
	case "items":
		// The array is the only field that is not held as a whole: its elements go to the
		// pipeline one by one.
		if err := a.once(name); err != nil {
			return err
		}
		if err := a.begin(); err != nil {
			return err
		}
		r.limit = a.limit
		err := r.elements(func(raw []byte, bad error) error { return a.item(item{typ: watch.Added, raw: raw, err: bad}) })
		r.limit = maxEnvelope
		return err
	case "apiVersion":
		into = &a.typ.apiVersion
	case "kind":
		into = &a.typ.kind
	case "metadata":
		into = &a.meta
	}
	raw, bad, err := r.value()
	if err == nil && bad == nil {
		err = a.beside(uint64(len(name) + len(raw)))
	}
	switch {
	case err != nil:
	case errors.As(bad, new(*sizeError)):
		err = errEnvelope
	case bad != nil:
		err = bad
	case into != nil:
		if err = a.once(name); err == nil {
			err = quoteless(unmarshalJSON(into, raw))
		}
	}
	if err == nil {
		if a.status == nil {
			a.status = map[string]json.RawMessage{}
		}
		a.status[name] = bytes.Clone(raw)
	}
	if err != nil {
		return fmt.Errorf("%s of the list: %w", Cut(name), err)
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
	open bool // the frame is not read to its end
	// other are the fields of a frame that has neither type nor object yet: those of a Status
	// that stands in place of an event.
	other map[string]json.RawMessage
}

// newJSONFrames reads frames from body, whose parts have at most limit bytes each.
func newJSONFrames(body io.Reader, limit int) *jsonFrames {
	return &jsonFrames{jsonReader: newJSONReader(body, limit)}
}

// next reads up to the next object. It returns io.EOF at the end of the watch.
func (f *jsonFrames) next() (it item, err error) {
	if f.open {
		f.open = false
		if err := f.rest(&item{typ: "read", raw: []byte("read")}); err != nil {
			return it, err
		}
	}
	f.shrink()
	if kind, err := f.token(maxEnvelope); err != nil || kind != '{' {
		return it, cmp.Or(err, f.invalid())
	}
	f.other = nil
	err = f.rest(&it)
	switch {
	case err == nil && it.typ == "" && len(f.other) > 0:
		err = bareStatus(f.other)
	case err == nil && it.typ == "":
		err = errNoType
	case err == nil && it.raw == nil && (it.hasObject() || it.typ == watch.Bookmark || it.typ == watch.Error):
		err = errors.New("a watch event without an object")
	}
	return it, err
}

// shrink drops a buffer that a large value has made grow: a watch keeps it while it waits.
func (f *jsonFrames) shrink() {
	if f.large {
		f.src.rest = append(bytes.Clone(f.dec.UnreadBuffer()), f.src.rest...)
		f.src.got, f.large = 0, false
		f.dec = jsontext.NewDecoder(&f.src, textOptions)
	}
}

// rest reads the fields of a frame that are not in it yet, up to the object if the type comes
// before it, or else to the end of the frame.
func (f *jsonFrames) rest(it *item) error {
	beside := 0
	return f.fields(maxEnvelope, func(name []byte) (more bool, err error) {
		isType, isObject := string(name) == "type", string(name) == "object"
		if isType && it.typ != "" || isObject && it.raw != nil {
			return false, fmt.Errorf("a watch event with two fields %s", name)
		}
		v, bad, err := f.value()
		switch {
		case err != nil:
			return false, err
		case isType && (v[0] != '"' || bad != nil):
			return false, errors.New("a watch event whose type is not a string")
		case isType:
			typ, err := unquote(v)
			it.typ = eventType(typ)
			return true, err
		case isObject && it.typ != "":
			it.raw, it.err, f.open = v, bad, true
			return false, nil
		case isObject:
			it.raw, it.err = bytes.Clone(v), bad
		default:
			if beside += len(name) + len(v); beside > maxEnvelope || bad != nil {
				return false, fmt.Errorf("a watch event with more than %d bytes beside its object", maxEnvelope) // fields without end
			}
			if it.typ == "" && it.raw == nil {
				if f.other == nil {
					f.other = map[string]json.RawMessage{}
				}
				f.other[string(name)] = bytes.Clone(v)
			}
		}
		return true, nil
	})
}

// errNoType is a frame that is no event.
var errNoType = errors.New("a watch event without a type")

// bareStatus is the error for a frame that may be a Status. A server that fails after it has
// begun its answer may have nothing else to say it by.
func bareStatus(fields map[string]json.RawMessage) error {
	if raw, err := json.Marshal(fields); err == nil {
		if status, ok := parseStatus(raw); ok {
			return statusError(status)
		}
	}
	return errNoType
}
