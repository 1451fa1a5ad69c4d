package reflector

import (
	"errors"
	"reflect"
)

// maxDepth bounds how deeply the parts of one object may be nested. API objects
// have a few tens of levels. Generated protobuf decoders recurse without a bound,
// and a stack that overflows ends the process; decoders that work on each level
// in turn take a time that grows with the square of the depth.
const maxDepth = 1000

var errTooDeep = errors.New("it is nested too deeply to be an object of an API server")

// recursive reports whether values of a type can contain others of that type, so
// that the bytes, and not the type, say how deep they go.
func recursive(typ reflect.Type) bool { return cyclic(typ, map[reflect.Type]bool{}) }

// cyclic visits the types that typ consists of; true marks those on the way from
// the first one, false those that are known to be finite.
func cyclic(typ reflect.Type, seen map[reflect.Type]bool) bool {
	if open, visited := seen[typ]; visited {
		return open
	}
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
func protoTooDeep(msg []byte, depth int) bool {
	for len(msg) > 0 {
		f, rest, err := nextField(msg)
		if err != nil {
			return false // the decoder gets no further either
		}
		if len(f.data) > 0 && (depth == 0 || protoTooDeep(f.data, depth-1)) {
			return true
		}
		msg = rest
	}
	return false
}
