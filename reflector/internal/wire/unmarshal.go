package wire

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
)

// What a JSON text means is defined by the decoder of apimachinery, which kube-apiserver
// uses as well: names match by case, of a name that comes twice the last value counts, and
// an integer in an interface is an int64. json/v2 is about twice as fast and does the same
// with these options. Whatever it refuses is given to apimachinery's decoder, whose verdict
// and error count; so is each object of a type whose tags the two read differently (isPlain).

// textOptions are how texts are read: as apimachinery does.
var textOptions = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// likeAPIMachinery are the options of json/v2.
var likeAPIMachinery = json.JoinOptions(jsonv1.DefaultOptionsV1(), json.MatchCaseInsensitiveNames(false),
	jsonv1.ReportErrorsWithLegacySemantics(false)) // the errors are apimachinery's

// unmarshalJSON decodes an object of a plain type, and any other with plain being false. A
// panic of a method UnmarshalJSON becomes an error: objects come from other people, and a
// type of the user may not expect every one of them. That costs this one object, not the
// process.
func unmarshalJSON(into any, raw []byte, plain bool) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	if plain {
		if json.Unmarshal(raw, into, likeAPIMachinery) == nil {
			return nil
		}
		reflect.ValueOf(into).Elem().SetZero()
	}
	return k8sjson.Unmarshal(raw, into)
}

// isPlain reports whether json/v2 decodes values of a type as apimachinery's decoder does.
// That is not certain if json/v2 refuses a struct, if a tag has an option that encoding/json
// does not have, and if there is an interface, which json/v2 gives a float64 for each number.
func isPlain(typ reflect.Type) bool { return plain(typ, map[reflect.Type]bool{}) }

// plain visits the types that typ consists of. What a method decodes is its own business.
func plain(typ reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[typ] || reflect.PointerTo(typ).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return true
	}
	seen[typ] = true
	switch typ.Kind() {
	case reflect.Interface:
		return false
	case reflect.String:
		return typ != reflect.TypeFor[stdjson.Number]() // "" is one for json/v2
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return plain(typ.Elem(), seen)
	case reflect.Map:
		return plain(typ.Key(), seen) && plain(typ.Elem(), seen)
	case reflect.Struct:
		if json.Unmarshal([]byte("{}"), reflect.New(typ).Interface(), likeAPIMachinery) != nil {
			return false
		}
		for i := range typ.NumField() {
			_, options, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			for option := range strings.SplitSeq(options, ",") {
				switch name, _, _ := strings.Cut(option, ":"); name {
				case "", "inline", "omitempty", "omitzero", "string":
				default:
					return false
				}
			}
			if !plain(typ.Field(i).Type, seen) {
				return false
			}
		}
	}
	return true
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
	err = unmarshalJSON(&m, raw, false)
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
