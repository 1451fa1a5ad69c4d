package history

import (
	"reflect"
	"strconv"
	"strings"
)

// Key is the name of an object or of an item of a queue. Namespace is empty for what is
// in none.
type Key struct{ Namespace, Name string }

// String returns "namespace/name", or "name" without a namespace.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// ParseKey returns the key with that text: what precedes the first slash is the
// namespace. Each text is a key; it is the inverse of String for the keys of Kubernetes,
// whose namespaces and names have no slash.
func ParseKey(text string) Key {
	namespace, name, found := strings.Cut(text, "/")
	if !found || namespace == "" || name == "" {
		return Key{Name: text}
	}
	return Key{Namespace: namespace, Name: name}
}

// parsed returns the key that ParseKey makes of the text of k: an item that is in no namespace
// may have a slash in its name.
func (k Key) parsed() Key {
	if k.Namespace != "" {
		return k
	}
	return ParseKey(k.Name)
}

// keyed reports whether values of type t have keys, and how deep within t the struct of a
// Namespace and a Name is. It looks at the type and not at a value, so the answer is the same
// for all items of a queue.
func keyed(t reflect.Type) (depth int, ok bool) {
	switch t.Kind() {
	case reflect.String, reflect.Bool,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return 0, true
	case reflect.Struct:
	default:
		return 0, false
	}
	// A struct around one, as the Request of controller-runtime, has its key.
	for t.NumField() == 1 && t.Field(0).Type.Kind() == reflect.Struct && t.Field(0).IsExported() {
		depth, t = depth+1, t.Field(0).Type
	}
	if t.NumField() != 2 {
		return 0, false
	}
	for i, name := range []string{"Namespace", "Name"} {
		if f := t.Field(i); f.Name != name || f.Type.Kind() != reflect.String {
			return 0, false
		}
	}
	return depth, true
}

// within returns what is so deep in the item.
func within[T comparable](item *T, depth int) reflect.Value {
	v := reflect.ValueOf(item).Elem()
	for range depth {
		v = v.Field(0)
	}
	return v
}

// KeyFunc returns the function that gives the key of an item of type T, or nil if items
// of that type have none; see the documentation of the package. For strings and for
// structs of a Namespace and a Name the function allocates nothing.
func KeyFunc[T comparable]() func(T) Key {
	depth, ok := keyed(reflect.TypeFor[T]())
	if !ok {
		return nil
	}
	return func(item T) Key {
		v := within(&item, depth)
		if v.Kind() == reflect.Struct {
			return Key{Namespace: v.Field(0).String(), Name: v.Field(1).String()}
		}
		return ParseKey(textOf(v))
	}
}

// ItemOf returns the item of type T whose key has that text. It returns false if T has
// no keys, or none with that text.
func ItemOf[T comparable](text string) (item T, ok bool) {
	depth, ok := keyed(reflect.TypeFor[T]())
	if !ok {
		return item, false
	}
	v := within(&item, depth)
	if v.Kind() != reflect.Struct {
		return item, setText(v, text)
	}
	key := ParseKey(text)
	v.Field(0).SetString(key.Namespace)
	v.Field(1).SetString(key.Name)
	return item, true
}

// textOf returns the string, the number or the boolean in v as a text. A String method of the
// program is not called.
func textOf(v reflect.Value) string {
	switch {
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10)
	case v.Kind() == reflect.Bool:
		return strconv.FormatBool(v.Bool())
	}
	return v.String()
}

// setText sets v to what text says. Only the text that textOf gives is accepted: 07 is not 7.
func setText(v reflect.Value, text string) bool {
	switch { // what is no number, or none of that size, gives another text
	case v.CanInt():
		n, _ := strconv.ParseInt(text, 10, 64)
		v.SetInt(n)
	case v.CanUint():
		n, _ := strconv.ParseUint(text, 10, 64)
		v.SetUint(n)
	case v.Kind() == reflect.Bool:
		v.SetBool(text == "true")
	default:
		v.SetString(text)
	}
	return textOf(v) == text
}
