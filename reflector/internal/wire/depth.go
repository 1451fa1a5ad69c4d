package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth bounds how deeply the parts of one object may be nested. API objects
// have a few tens of levels. Generated protobuf decoders recurse without a bound,
// and a stack that overflows ends the process; decoders that work on each level
// in turn take a time that grows with the square of the depth.
const maxDepth = 1000

var errTooDeep = errors.New("it is nested too deeply to be an object of an API server")

// tooDeep reports whether a value is nested more than maxDepth deep. Such a value is not
// given to a decoder, which recurses.
func tooDeep(raw []byte) bool {
	// Nearly every value has fewer brackets than that, and counting them costs next to
	// nothing.
	if bytes.Count(raw, []byte("{"))+bytes.Count(raw, []byte("[")) <= maxDepth {
		return false
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), textOptions)
	for {
		if _, err := dec.ReadToken(); err != nil {
			return err != io.EOF //nolint:errorlint // the bare value is the end
		}
		if dec.StackDepth() > maxDepth {
			return true
		}
	}
}

// recursive reports whether values of a type can contain others of that type, so
// that the bytes, and not the type, say how deep they go.
func recursive(typ reflect.Type) bool { return cyclic(typ, map[reflect.Type]bool{}) }

// cyclic visits the types that typ consists of; true marks those on the way from
// the first one, false those that are known to be finite.
func cyclic(typ reflect.Type, seen map[reflect.Type]bool) bool {
	if open, visited := seen[typ]; visited {
		return open
	}
	// A type that is met again on the way from itself contains itself. One that was left
	// is finite, so that each type is visited once.
	seen[typ] = true
	defer func() { seen[typ] = false }()
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return cyclic(typ.Elem(), seen)
	case reflect.Map:
		return cyclic(typ.Key(), seen) || cyclic(typ.Elem(), seen)
	case reflect.Struct:
		for i := range typ.NumField() {
			if cyclic(typ.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

// protoTooDeep reports whether a protobuf message may have messages nested more
// than depth deep. It takes whatever can be read as a message for one, and looks
// at each byte at most once.
//
// It reads on wherever a generated decoder may, also past what protobuf does not
// allow: what it did not look at could still be decoded.
func protoTooDeep(msg []byte, depth int) bool {
	for len(msg) > 0 {
		data, rest, ok := looseField(msg)
		if !ok {
			return false // no decoder gets any further either
		}
		// Strings are taken for messages, too, if they can be read as such: the schema
		// is not known here. That can only make the answer too strict, for an object a
		// thousand levels deep.
		if len(data) > 0 && (depth == 0 || protoTooDeep(data, depth-1)) {
			return true
		}
		msg = rest
	}
	return false
}

// looseField splits the first field off a message as leniently as generated
// decoders do, which cut field numbers to 32 bits, take varints that overflow,
// and skip groups of unknown numbers. The fields in a group count as those of
// the message, so its two tags are fields without content here. The data is that
// of a length-delimited field.
//
// It must accept whatever a decoder accepts: a field that it took for an error would end
// the check, and what follows could be as deep as it likes.
func looseField(msg []byte) (data, rest []byte, ok bool) {
	tag, n := looseVarint(msg)
	if n == 0 {
		return nil, nil, false
	}
	msg = msg[n:]
	size := 0
	switch tag & 7 {
	case 0:
		if _, size = looseVarint(msg); size == 0 {
			return nil, nil, false
		}
	case 1:
		size = 8
	case 2:
		length, n := looseVarint(msg)
		if n == 0 || length > uint64(len(msg)-n) {
			return nil, nil, false
		}
		data, msg = msg[n:n+int(length)], msg[n+int(length):]
	case 3, 4:
	case 5:
		size = 4
	default:
		return nil, nil, false
	}
	if size > len(msg) {
		return nil, nil, false
	}
	return data, msg[size:], true
}

// looseVarint reads a number of at most ten bytes, of which bits above the 64th
// are lost. n is 0 if there is none.
func looseVarint(msg []byte) (v uint64, n int) {
	for i, b := range msg[:min(len(msg), binary.MaxVarintLen64)] {
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}
