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

// defaultMaxObject bounds the size in bytes of one object on the wire, unless
// [Options] says otherwise. etcd refuses objects above 1.5 MiB by
// default, so whatever exceeds this is hardly an object of an API server, and a
// decoded object can take 80 times the memory of its bytes.
const defaultMaxObject = httpclient.MaxObject

// maxDepth bounds how deeply the parts of one object may be nested. API objects have a few tens
// of levels; decoders that work on each level in turn take a time that grows with the square of
// the depth.
const maxDepth = 1000

var (
	errTooDeep = errors.New("it is nested too deeply to be an object of an API server")
	errInvalid = errors.New("invalid JSON")
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

// jsonReader splits a body in JSON into values. It finds the end of a value by its brackets and
// quotes alone: whether it is JSON is found out by its decoder, on another goroutine. A value
// that is too large or too deep is skipped without being held.
type jsonReader struct {
	src   io.Reader
	err   error  // of src
	buf   []byte // what has been read, and is not consumed from at on
	at    int
	size  int   // of buf, if no large value is in it
	past  int64 // bytes in front of buf
	limit int   // bytes of one value
	name  []byte
}

const (
	// listBuffer and watchBuffer are how many bytes of a body are read at once. A watch keeps
	// its buffer while it waits for events.
	listBuffer  = 64 << 10
	watchBuffer = 8 << 10
)

// newJSONReader reads body in pieces of so many bytes.
func newJSONReader(body io.Reader, size, limit int) *jsonReader {
	return &jsonReader{src: body, size: size, limit: limit}
}

// more reads more bytes behind those that are there.
func (r *jsonReader) more() error {
	if r.err != nil {
		return r.err
	}
	if r.at > 0 || cap(r.buf) == 0 {
		rest := r.buf[r.at:]
		r.past += int64(r.at)
		// A large value has made it grow.
		if cap(r.buf) == 0 || cap(r.buf) > 4*r.size && len(rest) < r.size {
			r.buf = make([]byte, 0, r.size)
		}
		r.buf, r.at = append(r.buf[:0], rest...), 0
	}
	if len(r.buf) == cap(r.buf) {
		r.buf = append(r.buf, make([]byte, len(r.buf))...)[:len(r.buf)]
	}
	// A reader may return nothing and no error, but not for ever.
	for range 100 {
		var n int
		n, r.err = r.src.Read(r.buf[len(r.buf):cap(r.buf)])
		if r.buf = r.buf[:len(r.buf)+n]; n > 0 {
			return nil
		}
		if r.err != nil {
			return r.err
		}
	}
	return io.ErrNoProgress
}

// peek returns the next byte that is no white space. io.EOF is the end of the body.
func (r *jsonReader) peek() (byte, error) {
	for blank := 0; ; {
		for ; r.at < len(r.buf); r.at++ {
			switch c := r.buf[r.at]; c {
			case ' ', '\n', '\r', '\t':
				blank++
			default:
				return c, nil
			}
		}
		if blank > maxEnvelope {
			return 0, fmt.Errorf("%w: more than %d bytes of white space", errEnvelope, maxEnvelope)
		}
		if err := r.more(); err != nil {
			return 0, err
		}
	}
}

// invalid is the error for a byte that is not expected.
func (r *jsonReader) invalid() error {
	return fmt.Errorf("%w at byte %d", errInvalid, r.past+int64(r.at))
}

// delim consumes one of the bytes that separate values, and returns it.
func (r *jsonReader) delim(either, or byte) (byte, error) {
	c, err := r.peek()
	switch {
	case err != nil:
		return 0, err
	case c != either && c != or:
		return 0, r.invalid()
	}
	r.at++
	return c, nil
}

// value reads the next value, which is valid until the next read. If it is too large or too
// deep the error in the result says so, and the value is what identifies it; see outline.
func (r *jsonReader) value() (raw []byte, bad, err error) {
	if _, err := r.peek(); err != nil {
		return nil, nil, midValue(err)
	}
	var s valueScanner
	for n := 0; ; {
		k, done := s.scan(r.buf[r.at+n:])
		n += k
		switch {
		case s.depth > maxDepth:
			return r.skip(errTooDeep)
		case n > r.limit:
			return r.skip(tooLarge(r.limit))
		case done && n == 0:
			return nil, nil, r.invalid()
		case done:
			raw = r.buf[r.at : r.at+n : r.at+n]
			r.at += n
			return raw, nil, nil
		}
		if err := r.more(); err != nil {
			return nil, nil, midValue(err)
		}
	}
}

// skip consumes the next value without holding it.
func (r *jsonReader) skip(why error) (raw []byte, bad, err error) {
	var o outline
	for {
		n, done := o.scan(r.buf[r.at:])
		r.at += n
		if done {
			return o.kept, why, nil
		}
		if err := r.more(); err != nil {
			return nil, nil, midValue(err)
		}
	}
}

// valueScanner finds the end of a value, of which it gets one piece after another.
type valueScanner struct {
	depth             int
	inString, escaped bool
}

// scan returns how many bytes belong to the value, and whether it ends with them. It stops where
// the value is nested too deeply.
func (s *valueScanner) scan(b []byte) (n int, done bool) {
	for n < len(b) {
		if s.inString {
			// Few strings have escapes, and without one the end is the next quote.
			if end := bytes.IndexByte(b[n:], '"'); !s.escaped && end >= 0 && bytes.IndexByte(b[n:n+end], '\\') < 0 {
				n, s.inString = n+end+1, false
			}
			for ; n < len(b) && s.inString; n++ {
				switch c := b[n]; {
				case s.escaped:
					s.escaped = false
				case c == '\\':
					s.escaped = true
				case c == '"':
					s.inString = false
				}
			}
			if !s.inString && s.depth == 0 {
				return n, true
			}
			continue
		}
		switch b[n] {
		case '"':
			s.inString = true
		case '{', '[':
			if s.depth++; s.depth > maxDepth {
				return n, false
			}
		case '}', ']':
			if s.depth--; s.depth < 0 { // of what is around a number
				return n, true
			}
			if s.depth == 0 {
				return n + 1, true
			}
		case ',', ':', ' ', '\n', '\r', '\t':
			if s.depth == 0 {
				return n, true
			}
		}
		n++
	}
	return n, false
}

// outline finds the end of an object that is not held, and keeps what may identify it: its
// fields and those of its metadata, without long texts and whatever is nested in them.
type outline struct {
	valueScanner

	kept     []byte
	metadata bool // in the metadata
	start    int  // of the latest string in kept
	cut      bool // the rest of it is left out
}

// scan returns how many bytes belong to the value, and whether it ends with them.
func (o *outline) scan(b []byte) (int, bool) {
	for i, c := range b {
		level := o.depth // that the byte belongs to
		switch {
		case o.escaped:
			o.escaped = false
		case o.inString && c == '\\':
			o.escaped = true
			o.cut = o.cut || len(o.kept)-o.start > 2*maxForeign // no name is that long
		case c == '"':
			o.inString = !o.inString
			o.start, o.cut = len(o.kept), false
		case o.inString:
			o.cut = o.cut || len(o.kept)-o.start > 2*maxForeign
		case c <= ' ':
			continue
		case c == '{' || c == '[':
			if o.depth++; o.depth == 2 {
				o.metadata = c == '{' && bytes.HasSuffix(o.kept, []byte(`"metadata":`))
			}
		case c == '}' || c == ']':
			o.depth--
			level--
		}
		if (level <= 1 || level == 2 && o.metadata) && !o.cut && len(o.kept) < maxEnvelope {
			o.kept = append(o.kept, c)
		}
		if o.depth == 0 && !o.inString {
			return i + 1, true
		}
	}
	return len(b), false
}

// sequence reads an object or array, behind its bracket: fn reads each part of it, and says
// whether to go on.
func (r *jsonReader) sequence(end byte, fn func() (more bool, err error)) error {
	if c, err := r.peek(); err == nil && c == end {
		r.at++
		return nil
	}
	for {
		more, err := fn()
		if err != nil || !more {
			return midValue(err)
		}
		if c, err := r.delim(',', end); err != nil || c == end {
			return midValue(err)
		}
	}
}

// object reads an object, as fields does.
func (r *jsonReader) object(fn func(name []byte) (more bool, err error)) error {
	if _, err := r.delim('{', '{'); err != nil {
		return midValue(err)
	}
	return r.fields(fn)
}

// pass consumes a value that does not matter.
func (r *jsonReader) pass() error {
	_, bad, err := r.value()
	return cmp.Or(err, bad)
}

// fields reads an object, behind its bracket, and calls fn with the name of each of its fields,
// whose value fn reads, and which says whether to go on. The name is valid until then. A name
// that comes twice is up to fn.
func (r *jsonReader) fields(fn func(name []byte) (more bool, err error)) error {
	return r.sequence('}', func() (more bool, err error) {
		quoted, bad, err := r.value()
		switch {
		case err != nil || bad != nil:
			return false, cmp.Or(err, bad)
		case quoted[0] != '"':
			return false, r.invalid()
		}
		// Names may have escapes: "\u006detadata" must not pass for an unknown field while a
		// decoder takes it for another.
		name, err := unquote(quoted)
		if err != nil {
			return false, errInvalid
		}
		r.name = append(r.name[:0], name...) // before the colon, behind which the buffer may be another one
		if _, err = r.delim(':', ':'); err != nil {
			return false, err
		}
		return fn(r.name)
	})
}

// elements reads an array and calls fn for every element. A null counts as an empty array: Go
// encodes a nil slice as null.
func (r *jsonReader) elements(fn func(raw []byte, bad error) error) error {
	if c, err := r.peek(); err == nil && c == 'n' {
		raw, _, err := r.value()
		if err == nil && string(raw) != "null" {
			err = r.invalid()
		}
		return err
	}
	if _, err := r.delim('[', '['); err != nil {
		return err
	}
	return r.sequence(']', func() (bool, error) {
		raw, bad, err := r.value()
		if err == nil {
			err = fn(raw, bad)
		}
		return true, err
	})
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
	r := newJSONReader(body, listBuffer, maxEnvelope)
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
	switch _, err := r.peek(); {
	case err == nil:
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
	case !jsontext.Value(raw).IsValid(textOptions):
		err = errInvalid
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
	return &jsonFrames{jsonReader: newJSONReader(body, watchBuffer, limit)}
}

// next reads up to the next object. It returns io.EOF at the end of the watch.
func (f *jsonFrames) next() (it item, err error) {
	if f.open {
		f.open = false
		if c, err := f.delim(',', '}'); err != nil {
			return it, midValue(err)
		} else if c == ',' {
			if err := f.rest(&item{typ: "read", raw: []byte("read")}); err != nil {
				return it, err
			}
		}
	}
	if _, err := f.delim('{', '{'); err != nil {
		return it, err
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

// rest reads the fields of a frame that are not in it yet, up to the object if the type comes
// before it, or else to the end of the frame.
func (f *jsonFrames) rest(it *item) error {
	beside := 0
	return f.fields(func(name []byte) (more bool, err error) {
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
