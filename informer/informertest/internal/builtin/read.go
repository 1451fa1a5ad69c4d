package builtin

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Read reads JSON into a new object of a type of this package, which is returned as
// a pointer. Errors name types as the originals are named.
func Read(t reflect.Type, text []byte) (any, error) {
	into := reflect.New(t).Interface()
	err := utiljson.Unmarshal(text, into)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		err = fmt.Errorf("json: cannot unmarshal %s into Go %s", wrong.Value, place(t, wrong))
	}
	return into, err
}

// place words where a value of a wrong type stands, as encoding/json does.
func place(t reflect.Type, wrong *json.UnmarshalTypeError) string {
	if wrong.Field == "" {
		return "value of type " + text(wrong.Type)
	}
	parts := strings.Split(wrong.Field, ".")
	for _, name := range parts[:len(parts)-1] {
		t = memberOf(t, name)
	}
	inner := text(elem(t))
	return fmt.Sprintf("struct field %s.%s of type %s", inner[strings.LastIndexByte(inner, '.')+1:], wrong.Field, text(wrong.Type))
}

// elem is the struct in lists, maps and behind pointers.
func elem(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	return t
}

// memberOf is the type of a field with a name in JSON; a key of a map has that of its struct.
func memberOf(t reflect.Type, name string) reflect.Type {
	t = elem(t)
	if t.Kind() != reflect.Struct {
		return t
	}
	for i := range t.NumField() {
		if f := t.Field(i); strings.Split(f.Tag.Get("json"), ",")[0] == name {
			return f.Type
		}
	}
	return t
}

// text is a type as reflect shows its original, such as []v1.Container.
func text(t reflect.Type) string {
	if name, _, ok := NameOf(t); ok {
		return name[strings.LastIndexByte(name, '/')+1:]
	}
	switch {
	case t.Name() != "":
	case t.Kind() == reflect.Pointer:
		return "*" + text(t.Elem())
	case t.Kind() == reflect.Slice:
		return "[]" + text(t.Elem())
	case t.Kind() == reflect.Map:
		return "map[" + t.Key().String() + "]" + text(t.Elem())
	}
	return t.String()
}
