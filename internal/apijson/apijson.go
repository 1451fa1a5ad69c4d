// Package apijson decodes API objects from JSON. What a JSON text means is defined by the decoder
// of apimachinery, which kube-apiserver uses as well: names match by case, of a name that comes
// twice the last value counts, and an integer in an interface is an int64. json/v2 is about twice
// as fast and does the same for most types.
package apijson

import (
	stdjson "encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
)

// likeAPIMachinery are the options of json/v2.
var likeAPIMachinery = json.JoinOptions(jsonv1.DefaultOptionsV1(), json.MatchCaseInsensitiveNames(false),
	jsonv1.ReportErrorsWithLegacySemantics(false)) // the errors are apimachinery's

// Unmarshal decodes raw into what into points to. Whatever json/v2 refuses is given to
// apimachinery's decoder, whose verdict and error count; so is each value of a type that is not
// plain. A panic of a method UnmarshalJSON propagates.
func Unmarshal(raw []byte, into any) error {
	if IsPlain(reflect.TypeOf(into).Elem()) {
		if json.Unmarshal(raw, into, likeAPIMachinery) == nil {
			return nil
		}
		reflect.ValueOf(into).Elem().SetZero()
	}
	return k8sjson.Unmarshal(raw, into)
}

// types has the answers of IsPlain, as programs have few types and many objects.
var types sync.Map

// IsPlain reports whether json/v2 treats values of a type as apimachinery's decoder does.
// That is not certain if json/v2 refuses a struct, if a tag has an option that encoding/json
// does not have, and if there is an interface, which json/v2 gives a float64 for each number.
func IsPlain(typ reflect.Type) bool {
	known, ok := types.Load(typ)
	if !ok {
		known, _ = types.LoadOrStore(typ, plain(typ, map[reflect.Type]bool{}))
	}
	return known.(bool)
}

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

// IsRecursive reports whether values of a type can be nested without end. A generated decoder of protobuf
// recurses without a bound then, and a stack that overflows ends the process.
func IsRecursive(typ reflect.Type) bool { return recursive(typ, map[reflect.Type]bool{}) }

// recursive reports whether values of a type can contain others of that type. In seen, true
// marks the types on the way from the first one, and false those that are known to be finite.
func recursive(typ reflect.Type, seen map[reflect.Type]bool) bool {
	if open, visited := seen[typ]; visited {
		return open
	}
	seen[typ] = true
	defer func() { seen[typ] = false }()
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return recursive(typ.Elem(), seen)
	case reflect.Map:
		return recursive(typ.Key(), seen) || recursive(typ.Elem(), seen)
	case reflect.Struct:
		for i := range typ.NumField() {
			if recursive(typ.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}
