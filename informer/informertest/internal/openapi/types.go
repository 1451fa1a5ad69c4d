// Package openapi describes kinds of the Kubernetes API in OpenAPI, from their Go
// types: fields from the JSON tags, patch strategies from theirs, and texts from
// the SwaggerDoc methods that k8s.io/api generates from the comments. Types of package
// builtin have tags for what an apply needs, and no texts.
package openapi

import (
	"encoding/json"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/informer/informertest/internal/builtin"
)

// object is a JSON object.
type object = map[string]any

// Schemas collects the schemas of Go types under the names that Kubernetes gives
// them, such as io.k8s.api.core.v1.Pod.
type Schemas struct {
	// Prefix precedes a name in references.
	Prefix string
	// Wrap puts a schema around references that have a description.
	Wrap bool
	all  object
}

// named is what generated types and a few others implement.
type (
	named     interface{ OpenAPIModelName() string }
	documents interface{ SwaggerDoc() map[string]string }
	scalar    interface {
		OpenAPISchemaType() []string
		OpenAPISchemaFormat() string
	}
)

// All returns the schemas by name.
func (s *Schemas) All() map[string]any { return s.all }

// Add describes a type, with all that it refers to, and returns its name.
func (s *Schemas) Add(t reflect.Type) string {
	name := nameOf(t)
	if s.all == nil {
		s.all = object{}
	}
	if _, ok := s.all[name]; ok {
		return name
	}
	s.all[name] = nil // a type may refer to itself
	s.all[name] = s.describe(t)
	return name
}

// Put adds a schema that has no Go type.
func (s *Schemas) Put(name string, schema map[string]any) {
	if s.all == nil {
		s.all = object{}
	}
	s.all[name] = schema
}

// Ref is a reference to a type, which is added.
func (s *Schemas) Ref(t reflect.Type) map[string]any { return object{"$ref": s.Prefix + s.Add(t)} }

// nameOf is the name of a type in documents.
func nameOf(t reflect.Type) string {
	if name, _, ok := builtin.NameOf(t); ok {
		domain, path, _ := strings.Cut(name, "/")
		return reverse(domain) + "." + strings.ReplaceAll(path, "/", ".")
	}
	if n, ok := reflect.New(t).Interface().(named); ok {
		return n.OpenAPIModelName()
	}
	return strings.NewReplacer("/", ".", "-", "").Replace(t.PkgPath()) + "." + t.Name()
}

// describe is the schema of a named type.
func (s *Schemas) describe(t reflect.Type) object {
	zero := reflect.New(t).Interface()
	schema := object{}
	docs := map[string]string{}
	if d, ok := zero.(documents); ok {
		docs = d.SwaggerDoc()
	}
	if text := docs[""]; text != "" {
		schema["description"] = text
	}
	if sc, ok := zero.(scalar); ok {
		schema["type"] = sc.OpenAPISchemaType()[0]
		if format := sc.OpenAPISchemaFormat(); format != "" {
			schema["format"] = format
		}
		return schema
	}
	schema["type"] = "object"
	if t.Kind() != reflect.Struct {
		return schema
	}
	if _, tag, ok := builtin.NameOf(t); ok {
		mergeTags(tag, schema)
	}
	switch zero.(type) {
	case *metav1.OwnerReference, *metav1.LabelSelector:
		schema["x-kubernetes-map-type"] = "atomic"
	}
	properties, required := object{}, []any{}
	s.fields(t, docs, properties, &required)
	if len(properties) > 0 {
		schema["properties"] = properties
	}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

// fields describes the fields of a struct, those of inlined ones among them.
func (s *Schemas) fields(t reflect.Type, docs map[string]string, properties object, required *[]any) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, ok := f.Tag.Lookup("json")
		if !ok || !f.IsExported() {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if name == "-" {
			continue
		}
		if name == "" {
			inner := map[string]string{}
			if d, ok := reflect.New(f.Type).Interface().(documents); ok {
				inner = d.SwaggerDoc()
			}
			if f.Type.Kind() == reflect.Struct {
				s.fields(f.Type, inner, properties, required)
			}
			continue
		}
		property := s.value(f.Type)
		if text := docs[name]; text != "" {
			property = s.withText(property, text)
		}
		patchTags(f.Tag, property)
		if mergeTags(f.Tag, property); s.Wrap && property["$ref"] != nil && len(property) > 1 {
			property["allOf"] = []any{object{"$ref": property["$ref"]}}
			delete(property, "$ref")
		}
		properties[name] = property
		if !strings.Contains(options, "omit") && f.Type.Kind() != reflect.Pointer && f.Type.Kind() != reflect.Struct {
			*required = append(*required, name)
		}
	}
}

// withText adds a description, for which a reference needs a schema around it in
// OpenAPI 3. Documents of OpenAPI 2 have it beside the reference, as clients expect.
func (s *Schemas) withText(property object, text string) object {
	if _, ok := property["$ref"]; ok && s.Wrap {
		return object{"allOf": []any{property}, "description": text}
	}
	property["description"] = text
	return property
}

// patchTags states how a strategic merge patch, or an apply, merges a list.
func patchTags(tag reflect.StructTag, property object) {
	strategy, key := tag.Get("patchStrategy"), tag.Get("patchMergeKey")
	if strategy != "" {
		property["x-kubernetes-patch-strategy"] = strategy
	}
	if key != "" {
		property["x-kubernetes-patch-merge-key"] = key
	}
	switch {
	case property["type"] != "array":
	case strings.Contains(strategy, "merge") && key != "":
		property["x-kubernetes-list-type"], property["x-kubernetes-list-map-keys"] = "map", []any{key}
	case strings.Contains(strategy, "merge"):
		property["x-kubernetes-list-type"] = "set"
	}
}

// mergeTags states how an apply merges a struct or field of package builtin.
func mergeTags(tag reflect.StructTag, property object) {
	if list := tag.Get("listType"); list != "" {
		delete(property, "x-kubernetes-list-map-keys")
		property["x-kubernetes-list-type"] = list
		if list == "map" {
			var keys []any
			for key := range strings.SplitSeq(tag.Get("listMapKeys"), ",") {
				keys = append(keys, key)
			}
			property["x-kubernetes-list-map-keys"] = keys
		}
	}
	if mapping := tag.Get("mapType"); mapping != "" {
		property["x-kubernetes-map-type"] = mapping
	}
	var value any
	if text := tag.Get("default"); text != "" && json.Unmarshal([]byte(text), &value) == nil {
		property["default"] = value
	}
}

// value is the schema of a field's type.
func (s *Schemas) value(t reflect.Type) object {
	switch t.Kind() {
	case reflect.Pointer:
		return s.value(t.Elem())
	case reflect.Struct:
		return s.Ref(t)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return object{"type": "string", "format": "byte"}
		}
		return object{"type": "array", "items": s.value(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.value(t.Elem())}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int64, reflect.Int, reflect.Uint64:
		return object{"type": "integer", "format": "int64"}
	case reflect.Int32, reflect.Int16, reflect.Int8, reflect.Uint32, reflect.Uint16, reflect.Uint8:
		return object{"type": "integer", "format": "int32"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number", "format": "double"}
	}
	return object{"type": "object"}
}
