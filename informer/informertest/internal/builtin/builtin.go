// Package builtin knows the Go types of the built-in kinds without importing them: it has a
// description of their structs, and builds from it types with the same fields and tags. Such a
// type reads and writes JSON as the original does; it has no methods, hence no protobuf.
//
// The description is written by internal/verify/builtins, which also knows from client-go
// how a server-side apply merges the fields.
package builtin

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

//go:generate go run github.com/informerkit/informerkit/internal/verify/builtins

//go:embed types.json.gz
var packed []byte

// description is the content of the file.
type description struct {
	Release string                 `json:"release"` // version of k8s.io/api
	Kinds   map[string]string      `json:"kinds"`   // "apps/v1 Deployment" → the Go type
	Known   map[string][]string    `json:"known"`   // group and version → kinds, also those that the server does not serve
	Structs map[string][][3]string `json:"structs"` // Go type → name, type and tag of each field; first, without a name, the struct's own tag
}

var described = sync.OnceValue(func() description {
	var d description
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err == nil {
		err = json.NewDecoder(r).Decode(&d)
	}
	if err != nil {
		panic("informertest: the description of the built-in kinds is damaged: " + err.Error())
	}
	return d
})

// types remembers the types that have been built, by Go name.
var types sync.Map // string → reflect.Type

// Release is the version of k8s.io/api that is described.
func Release() string { return described().Release }

// Served reports whether the server knows the type of a kind.
func Served(gvk schema.GroupVersionKind) bool {
	_, ok := described().Kinds[key(gvk)]
	return ok
}

// Known reports whether a kind is built into Kubernetes, or was in an earlier version.
func Known(gvk schema.GroupVersionKind) bool {
	_, ok := slices.BinarySearch(described().Known[gvk.GroupVersion().String()], gvk.Kind)
	return ok
}

// TypeOf returns the type of a kind; false if it is not a built-in one that is served.
func TypeOf(gvk schema.GroupVersionKind) (reflect.Type, bool) {
	name, ok := described().Kinds[key(gvk)]
	if !ok {
		return nil, false
	}
	return typeOf(name), true
}

// KindOf returns the kind whose original Go type this is.
func KindOf(t reflect.Type) (schema.GroupVersionKind, bool) {
	kinds := kindsByType()
	gvk, ok := kinds[t.PkgPath()+"."+t.Name()]
	return gvk, ok
}

var kindsByType = sync.OnceValue(func() map[string]schema.GroupVersionKind {
	kinds := map[string]schema.GroupVersionKind{}
	for text, name := range described().Kinds {
		version, kind, _ := strings.Cut(text, " ")
		kinds[name] = schema.FromAPIVersionAndKind(version, kind)
	}
	return kinds
})

func key(gvk schema.GroupVersionKind) string { return gvk.GroupVersion().String() + " " + gvk.Kind }

// kept are the types that the description refers to and does not describe: those that read
// and write themselves, and the metadata of objects.
var kept = map[string]reflect.Type{
	"k8s.io/apimachinery/pkg/api/resource.Quantity":   reflect.TypeFor[resource.Quantity](),
	"k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime":  reflect.TypeFor[metav1.MicroTime](),
	"k8s.io/apimachinery/pkg/apis/meta/v1.ObjectMeta": reflect.TypeFor[metav1.ObjectMeta](),
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":       reflect.TypeFor[metav1.Time](),
	"k8s.io/apimachinery/pkg/runtime.RawExtension":    reflect.TypeFor[runtime.RawExtension](),
	"k8s.io/apimachinery/pkg/util/intstr.IntOrString": reflect.TypeFor[intstr.IntOrString](),
	"string": reflect.TypeFor[string](), "bool": reflect.TypeFor[bool](), "float64": reflect.TypeFor[float64](),
	"int": reflect.TypeFor[int](), "int32": reflect.TypeFor[int32](), "int64": reflect.TypeFor[int64](), "uint8": reflect.TypeFor[uint8](),
}

// typeOf returns the type that an expression of the description means.
func typeOf(expression string) reflect.Type {
	for prefix, of := range map[string]func(reflect.Type) reflect.Type{
		"*": reflect.PointerTo, "[]": reflect.SliceOf,
		"map[string]": func(t reflect.Type) reflect.Type { return reflect.MapOf(reflect.TypeFor[string](), t) },
	} {
		if rest, ok := strings.CutPrefix(expression, prefix); ok {
			return of(typeOf(rest))
		}
	}
	if t, ok := kept[expression]; ok {
		return t
	}
	if t, ok := types.Load(expression); ok {
		return t.(reflect.Type)
	}
	described, ok := described().Structs[expression]
	if !ok {
		panic("informertest: the description of the built-in kinds lacks " + expression)
	}
	fields := make([]reflect.StructField, len(described))
	for i, f := range described {
		fields[i] = reflect.StructField{Name: f[0], Tag: reflect.StructTag(f[2])}
		if i == 0 {
			// It makes the type differ from others with the same fields, and carries its name.
			fields[i] = reflect.StructField{Name: marker, Type: reflect.TypeFor[[0]byte](), Tag: reflect.StructTag(`json:"-" goName:"` + expression + `" ` + f[2])}
			continue
		}
		fields[i].Type = typeOf(f[1])
	}
	t, _ := types.LoadOrStore(expression, reflect.StructOf(fields))
	return t.(reflect.Type)
}

// marker is the name of a field that all types of this package begin with.
const marker = "X_builtin"

// NameOf returns the name of the original of a type of this package, such as
// k8s.io/api/core/v1.Pod, and the tag with what is known of the struct as a whole.
func NameOf(t reflect.Type) (string, reflect.StructTag, bool) {
	if t.Kind() != reflect.Struct || t.Name() != "" || t.NumField() == 0 || t.Field(0).Name != marker {
		return "", "", false
	}
	tag := t.Field(0).Tag
	return tag.Get("goName"), tag, true
}

// Metadata returns the metadata of an object whose type is of this package.
func Metadata(object any) (*metav1.ObjectMeta, bool) {
	field := reflect.ValueOf(object).Elem().FieldByName("ObjectMeta")
	if !field.IsValid() {
		return nil, false
	}
	return field.Addr().Interface().(*metav1.ObjectMeta), true
}
