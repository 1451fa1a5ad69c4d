package wire

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/informerkit/informerkit/internal/apijson"
)

// What a JSON text means is defined by the decoder of apimachinery: see package apijson.

// textOptions are how texts are read: as apimachinery does.
var textOptions = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// unmarshalJSON decodes an object. A panic of a method UnmarshalJSON becomes an error: objects
// come from other people, and a type of the user may not expect every one of them. That costs
// this one object, not the process.
func unmarshalJSON(into any, raw []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	return apijson.Unmarshal(raw, into)
}

// unmarshalDynamic decodes an object into maps and slices, as apimachinery's decoder does:
// the content of an unstructured object. null is a nil map.
func unmarshalDynamic(raw []byte) (map[string]any, error) {
	d := dynamicDecoders.Get().(*dynamicDecoder) //nolint:forcetypeassert // by New
	d.src = *bytes.NewBuffer(raw)
	d.dec.Reset(&d.src, textOptions)
	v, err := d.value()
	if _, end := d.dec.ReadToken(); err == nil && end != io.EOF { //nolint:errorlint // the bare value is the end
		err = errTooMuch
	}
	// It must not keep the bytes and, after an error, values alive.
	d.src = bytes.Buffer{}
	clear(d.stack)
	d.stack = d.stack[:0]
	dynamicDecoders.Put(d)
	if m, ok := v.(map[string]any); ok && err == nil {
		return m, nil
	}
	var m map[string]any
	err = unmarshalJSON(&m, raw)
	return m, err
}

// errTooMuch is not seen: apimachinery's decoder gives its own.
var errTooMuch = errors.New("something follows the value")

// dynamicDecoders are used by all collections: there are about as many as cores.
var dynamicDecoders = sync.Pool{New: func() any {
	return &dynamicDecoder{dec: jsontext.NewDecoder(&bytes.Buffer{}), known: map[string]any{}}
}}

// dynamicDecoder makes maps and slices of a JSON text.
type dynamicDecoder struct {
	src bytes.Buffer
	dec *jsontext.Decoder
	// known are strings that came before. Names of fields are the same in all objects of a
	// kind, and values such as "True" are, so most strings need no memory of their own. They
	// are kept in an interface, which would be another allocation.
	known map[string]any
	// stack has the elements of the arrays that are being read: when one ends, its length is
	// known.
	stack []any
}

const (
	maxKnown       = 4 << 10 // strings
	maxKnownLength = 64      // bytes; longer ones hardly come again
)

// value decodes the next value, of any type.
func (d *dynamicDecoder) value() (any, error) {
	switch d.dec.PeekKind() {
	case '{':
		return d.object()
	case '[':
		return d.array()
	}
	raw, err := d.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	switch raw.Kind() {
	case '"':
		return d.text(raw)
	case 't':
		return true, nil
	case 'f':
		return false, nil
	case 'n':
		return nil, nil
	default:
		return number(string(raw))
	}
}

// object decodes an object, which is next.
func (d *dynamicDecoder) object() (map[string]any, error) {
	if _, err := d.dec.ReadToken(); err != nil {
		return nil, err
	}
	m := map[string]any{}
	for d.dec.PeekKind() != '}' {
		raw, err := d.dec.ReadValue()
		if err != nil {
			return nil, err
		}
		name, err := d.text(raw)
		if err != nil {
			return nil, err
		}
		if m[name.(string)], err = d.value(); err != nil {
			return nil, err
		}
	}
	_, err := d.dec.ReadToken()
	return m, err
}

// array decodes an array, which is next.
func (d *dynamicDecoder) array() ([]any, error) {
	if _, err := d.dec.ReadToken(); err != nil {
		return nil, err
	}
	start := len(d.stack)
	for d.dec.PeekKind() != ']' {
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		d.stack = append(d.stack, v)
	}
	_, err := d.dec.ReadToken()
	all := append(make([]any, 0, len(d.stack)-start), d.stack[start:]...)
	clear(d.stack[start:])
	d.stack = d.stack[:start]
	return all, err
}

// text returns the string with these quotes, in an interface.
func (d *dynamicDecoder) text(quoted []byte) (any, error) {
	text, err := unquote(quoted)
	if err != nil || len(text) > maxKnownLength {
		return string(text), err
	}
	s, ok := d.known[string(text)] // without an allocation
	if !ok {
		own := string(text)
		s = own
		if len(d.known) >= maxKnown {
			clear(d.known)
		}
		d.known[own] = s
	}
	return s, nil
}

// unquote returns what a JSON string says. The result is valid as long as quoted is.
func unquote(quoted []byte) ([]byte, error) {
	if plain := quoted[1 : len(quoted)-1]; isASCII(plain) {
		return plain, nil
	}
	text, err := jsontext.AppendUnquote(nil, quoted)
	if text != nil {
		err = nil // invalid UTF-8 is replaced, as apimachinery does
	}
	return text, err
}

// isASCII reports whether the bytes of a string are those of its text.
func isASCII(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c >= 0x7f || c == '\\' {
			return false
		}
	}
	return true
}

// number returns an integer that fits as an int64, and anything else as a float64.
func number(text string) (any, error) {
	if !strings.ContainsAny(text, ".eE") {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, nil
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err
}
