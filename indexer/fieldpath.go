package indexer

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
)

// firstDifference returns the path of the first field in which a and b differ,
// in the notation of `kubectl explain`. It knows that a nil and an empty list
// mean the same, and that quantities and times are compared by value.
func firstDifference(a, b any) (path string, same bool) {
	va, vb := reflect.ValueOf(a), reflect.ValueOf(b)
	if equalValues(va, vb) {
		return "", true
	}
	return strings.TrimPrefix(descend(va, vb, ""), "."), false
}

// equalValues compares semantically, and bit by bit where a type with
// unexported fields makes the semantic comparison impossible.
func equalValues(a, b reflect.Value) (same bool) {
	if !a.IsValid() || !b.IsValid() {
		return a.IsValid() == b.IsValid()
	}
	// Unexported fields cannot be read through Interface. Calling them different is
	// safe: descend visits exported fields only.
	if !a.CanInterface() || !b.CanInterface() {
		return false
	}
	x, y := a.Interface(), b.Interface()
	defer func() {
		// Semantic.DeepEqual panics at an unexported field of a type it has no function
		// for.
		if recover() != nil {
			same = reflect.DeepEqual(x, y)
		}
	}()
	return equality.Semantic.DeepEqual(x, y)
}

// descend follows the difference between a and b, which are not equal, to the
// deepest field that has it.
func descend(a, b reflect.Value, path string) string {
	if !a.IsValid() || !b.IsValid() || a.Type() != b.Type() {
		return path
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !a.IsNil() && !b.IsNil() {
			return descend(a.Elem(), b.Elem(), path)
		}
	case reflect.Struct:
		for i := range a.NumField() {
			f := a.Type().Field(i)
			if f.IsExported() && !equalValues(a.Field(i), b.Field(i)) {
				return descend(a.Field(i), b.Field(i), path+fieldName(f))
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range min(a.Len(), b.Len()) {
			if !equalValues(a.Index(i), b.Index(i)) {
				return descend(a.Index(i), b.Index(i), fmt.Sprintf("%s[%d]", path, i))
			}
		}
	case reflect.Map:
		return descendMap(a, b, path)
	}
	return path
}

// descendMap is descend for maps. Which of several different keys it follows is not
// defined.
func descendMap(a, b reflect.Value, path string) string {
	for _, m := range []reflect.Value{a, b} { // b has keys that a has not
		for it := m.MapRange(); it.Next(); {
			k := it.Key()
			x, y := a.MapIndex(k), b.MapIndex(k)
			if equalValues(x, y) {
				continue
			}
			if k.Kind() == reflect.String && isIdentifier(k.String()) {
				return descend(x, y, path+"."+k.String())
			}
			return descend(x, y, fmt.Sprintf("%s[%q]", path, fmt.Sprint(k.Interface())))
		}
	}
	return path
}

// fieldName is the step of a path that leads to a struct field, by its JSON name.
func fieldName(f reflect.StructField) string {
	name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case name == "" && (f.Anonymous || strings.Contains(rest, "inline")):
		return ""
	case name == "" || name == "-":
		return "." + f.Name
	default:
		return "." + name
	}
}

// isIdentifier reports whether a map key can stand in a path without quotes:
// the fields of an unstructured object are map keys.
func isIdentifier(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' {
			return false
		}
	}
	return s != ""
}
