package openapi

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
)

// writer appends a value to b as the field of a number. A value of a type that does
// not fit is left out.
type writer func(b []byte, number int, value any) []byte

func text(b []byte, number int, value any) []byte {
	if s, ok := value.(string); ok {
		return appendBytes(b, number, []byte(s))
	}
	return b
}

func boolean(b []byte, number int, value any) []byte {
	if set, ok := value.(bool); ok && set {
		return append(appendTag(b, number, 0), 1)
	}
	return b
}

func integer(b []byte, number int, value any) []byte {
	if f, ok := numeric(value); ok {
		return binary.AppendUvarint(appendTag(b, number, 0), uint64(int64(f)))
	}
	return b
}

func double(b []byte, number int, value any) []byte {
	if f, ok := numeric(value); ok {
		return binary.LittleEndian.AppendUint64(appendTag(b, number, 1), math.Float64bits(f))
	}
	return b
}

// arbitrary writes a value of any type.
func arbitrary(b []byte, number int, value any) []byte { return appendBytes(b, number, anyText(value)) }

// one writes an object as a message.
func one(m *message) writer {
	return func(b []byte, number int, value any) []byte {
		if o, ok := value.(object); ok {
			return appendBytes(b, number, m.append(nil, o))
		}
		return b
	}
}

// each writes the items of a list, all in one way.
func each(write writer) writer {
	return func(b []byte, number int, value any) []byte {
		items, _ := value.([]any)
		for _, item := range items {
			b = write(b, number, item)
		}
		return b
	}
}

// within writes a value as the only field of a message.
func within(inner int, write writer) writer {
	return func(b []byte, number int, value any) []byte {
		if content := write(nil, inner, value); len(content) > 0 {
			return appendBytes(b, number, content)
		}
		return b
	}
}

// either writes what is true or false in one way, and the rest in another.
func either(logical, other writer) writer {
	return func(b []byte, number int, value any) []byte {
		if _, ok := value.(bool); ok {
			return logical(b, number, value)
		}
		return other(b, number, value)
	}
}

// entries writes the members of an object as pairs of a name and a message.
func entries(field int, m *message) writer {
	return func(b []byte, number int, value any) []byte {
		o, _ := value.(object)
		var list []byte
		for _, name := range slices.Sorted(maps.Keys(o)) {
			if inner, ok := o[name].(object); ok {
				list = appendBytes(list, field, pair(name, m.append(nil, inner)))
			}
		}
		return appendBytes(b, number, list)
	}
}

// pair is a name and a message.
func pair(name string, content []byte) []byte {
	return appendBytes(appendBytes(nil, 1, []byte(name)), 2, content)
}

// anyText is the message of a value of any type: its text, which is read as YAML.
func anyText(value any) []byte {
	encoded, err := json.Marshal(value)
	if err != nil {
		encoded = fmt.Appendf(nil, "%q", fmt.Sprint(value))
	}
	return appendBytes(nil, 2, encoded)
}

// numeric is a number of any type.
func numeric(value any) (float64, bool) {
	switch n := value.(type) {
	case int64:
		return float64(n), true
	case int:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

// appendTag appends the number and wire type of a field.
func appendTag(b []byte, number, wire int) []byte {
	return binary.AppendUvarint(b, uint64(number)<<3|uint64(wire))
}

// appendBytes appends a length-delimited field.
func appendBytes(b []byte, number int, content []byte) []byte {
	b = binary.AppendUvarint(appendTag(b, number, 2), uint64(len(content)))
	return append(b, content...)
}
