package history

import (
	"fmt"
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

// form says how values of a type are keys.
type form int

const (
	noForm     form = iota
	stringForm      // a string
	pairForm        // a struct of Namespace and Name
	textForm        // a number or a boolean, by its text
)

// formOf returns the form of keys of type t, and the index of the struct within t that
// has the Namespace and the Name. It looks at the type and not at a value, so the
// answer is the same for all items of a queue.
func formOf(t reflect.Type) (f form, index []int) {
	switch t.Kind() {
	case reflect.String:
		return stringForm, nil
	case reflect.Bool,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return textForm, nil
	case reflect.Struct:
	default:
		return noForm, nil
	}
	// A struct around one, as the Request of controller-runtime, has its form.
	for t.NumField() == 1 && t.Field(0).Type.Kind() == reflect.Struct && t.Field(0).IsExported() {
		index, t = append(index, 0), t.Field(0).Type
	}
	if t.NumField() != 2 {
		return noForm, nil
	}
	for i, name := range []string{"Namespace", "Name"} {
		if f := t.Field(i); f.Name != name || f.Type.Kind() != reflect.String {
			return noForm, nil
		}
	}
	return pairForm, index
}

// KeyFunc returns the function that gives the key of an item of type T, or nil if items
// of that type have none; see the documentation of the package. For strings and for
// structs of a Namespace and a Name the function allocates nothing.
func KeyFunc[T comparable]() func(T) Key {
	f, index := formOf(reflect.TypeFor[T]())
	switch f {
	case stringForm:
		return func(item T) Key { return ParseKey(reflect.ValueOf(&item).Elem().String()) }
	case pairForm:
		return func(item T) Key {
			v := reflect.ValueOf(&item).Elem()
			for range index {
				v = v.Field(0)
			}
			return Key{Namespace: v.Field(0).String(), Name: v.Field(1).String()}
		}
	case textForm:
		// Of the underlying type: a String method of the program is not called.
		return func(item T) Key { return Key{Name: fmt.Sprint(basic(reflect.ValueOf(&item).Elem()))} }
	}
	return nil
}

// basic returns the number or the boolean in v without its type's methods.
func basic(v reflect.Value) any {
	switch {
	case v.CanInt():
		return v.Int()
	case v.CanUint():
		return v.Uint()
	}
	return v.Bool()
}

// ItemOf returns the item of type T whose key has that text. It returns false if T has
// no keys, or none with that text.
func ItemOf[T comparable](text string) (item T, ok bool) {
	f, index := formOf(reflect.TypeFor[T]())
	v := reflect.ValueOf(&item).Elem()
	switch f {
	case stringForm:
		v.SetString(text)
		return item, true
	case pairForm:
		for range index {
			v = v.Field(0)
		}
		key := ParseKey(text)
		v.Field(0).SetString(key.Namespace)
		v.Field(1).SetString(key.Name)
		return item, true
	case textForm:
		return item, parseBasic(v, text)
	}
	return item, false
}

// parseBasic sets v, a number or a boolean, to what text says. Only the text that
// KeyFunc gives is accepted: 07 is not 7.
func parseBasic(v reflect.Value, text string) bool {
	switch { // what is no number, or none of that size, gives another text
	case v.CanInt():
		n, _ := strconv.ParseInt(text, 10, 64)
		v.SetInt(n)
	case v.CanUint():
		n, _ := strconv.ParseUint(text, 10, 64)
		v.SetUint(n)
	default:
		v.SetBool(text == "true")
	}
	return fmt.Sprint(basic(v)) == text
}
