package openapi

import (
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a resource to be described.
type Kind struct {
	GVK        schema.GroupVersionKind
	Plural     string
	Namespaced bool
	// Type is the Go type of the objects; nil if there is none.
	Type reflect.Type
	// Schema describes objects without a Go type; nil allows anything.
	Schema map[string]any
}

// Title is that of all documents.
const Title = "Kubernetes"

// V3 is the OpenAPI 3 document of the kinds of one group and version.
func V3(kinds []Kind, release string) map[string]any {
	schemas := &Schemas{Prefix: "#/components/schemas/", Wrap: true}
	paths := object{}
	for _, k := range kinds {
		addPaths(paths, k, schemas.ref(k), true)
	}
	return object{
		"openapi": "3.0.0", "info": object{"title": Title, "version": release},
		"paths": paths, "components": object{"schemas": schemas.All()},
	}
}

// SchemasV3 are the schemas of kinds, by name, as in [V3].
func SchemasV3(kinds []Kind) map[string]any {
	schemas := &Schemas{Prefix: "#/components/schemas/", Wrap: true}
	for _, k := range kinds {
		schemas.ref(k)
	}
	return schemas.All()
}

// V2 is the OpenAPI 2 (Swagger) document of all kinds.
func V2(kinds []Kind, release string) map[string]any {
	schemas := &Schemas{Prefix: "#/definitions/"}
	paths := object{}
	for _, k := range kinds {
		addPaths(paths, k, schemas.ref(k), false)
	}
	return object{
		"swagger": "2.0", "info": object{"title": Title, "version": release},
		"paths": paths, "definitions": schemas.All(),
	}
}

// ref adds the schema of a kind, marked as that kind's, and refers to it.
func (s *Schemas) ref(k Kind) object {
	name := ""
	if k.Type != nil {
		name = s.Add(k.Type)
	} else {
		name = reversed(k.GVK)
		s.Put(name, s.custom(k.Schema))
	}
	described, _ := s.all[name].(object)
	marks, _ := described["x-kubernetes-group-version-kind"].([]any)
	described["x-kubernetes-group-version-kind"] = append(marks, gvk(k.GVK))
	return object{"$ref": s.Prefix + name}
}

// custom completes the schema of a custom resource with what all objects have.
func (s *Schemas) custom(given object) object {
	out := object{"type": "object"}
	for name, v := range given {
		out[name] = v
	}
	if given == nil {
		out["x-kubernetes-preserve-unknown-fields"] = true
	}
	properties := object{}
	if have, ok := given["properties"].(object); ok {
		for name, v := range have {
			properties[name] = v
		}
	}
	texts := metav1.TypeMeta{}.SwaggerDoc()
	properties["apiVersion"] = object{"type": "string", "description": texts["apiVersion"]}
	properties["kind"] = object{"type": "string", "description": texts["kind"]}
	properties["metadata"] = s.withText(s.Ref(reflect.TypeFor[metav1.ObjectMeta]()), "Standard object's metadata.")
	out["properties"] = properties
	return out
}

// reversed is the name of a kind without a Go type: its group backwards.
func reversed(k schema.GroupVersionKind) string {
	return strings.Join([]string{reverse(k.Group), k.Version, k.Kind}, ".")
}

// reverse turns a domain around: example.com becomes com.example.
func reverse(domain string) string {
	labels := strings.Split(domain, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}

func gvk(k schema.GroupVersionKind) object {
	return object{"group": k.Group, "version": k.Version, "kind": k.Kind}
}

// addPaths describes the requests that a kind answers.
func addPaths(paths object, k Kind, ref object, v3 bool) {
	root := "/api/" + k.GVK.Version
	if k.GVK.Group != "" {
		root = "/apis/" + k.GVK.Group + "/" + k.GVK.Version
	}
	op := operations{k, ref, v3}
	base := root + "/" + k.Plural
	if k.Namespaced {
		paths[base] = object{"get": op.of("list")}
		base = root + "/namespaces/{namespace}/" + k.Plural
	}
	paths[base] = object{"get": op.of("list"), "post": op.of("post"), "delete": op.of("deletecollection")}
	paths[base+"/{name}"] = object{"get": op.of("get"), "put": op.of("put"), "patch": op.of("patch"), "delete": op.of("delete")}
}

// operations describes the requests about one kind.
type operations struct {
	kind Kind
	ref  object
	v3   bool
}

// of is the description of one action.
func (o operations) of(action string) object {
	success := object{"description": "OK"}
	if action == "get" || action == "post" || action == "put" || action == "patch" {
		if o.v3 {
			success["content"] = object{"application/json": object{"schema": o.ref}}
		} else {
			success["schema"] = o.ref
		}
	}
	op := object{
		"operationId":                     action + strings.ReplaceAll(o.kind.GVK.Group, ".", "") + o.kind.GVK.Version + o.kind.GVK.Kind,
		"responses":                       object{"200": success},
		"x-kubernetes-action":             action,
		"x-kubernetes-group-version-kind": gvk(o.kind.GVK),
	}
	switch action {
	case "post", "put":
		op["parameters"] = o.parameters("dryRun", "fieldManager", "fieldValidation")
	case "patch":
		op["parameters"] = o.parameters("dryRun", "fieldManager", "fieldValidation", "force")
	case "delete":
		op["parameters"] = o.parameters("dryRun", "gracePeriodSeconds", "propagationPolicy")
	}
	return op
}

// parameters are those of a query.
func (o operations) parameters(names ...string) []any {
	types := map[string]string{"force": "boolean", "gracePeriodSeconds": "integer"}
	var out []any
	for _, name := range names {
		kind := types[name]
		if kind == "" {
			kind = "string"
		}
		p := object{"name": name, "in": "query", "uniqueItems": true}
		if o.v3 {
			delete(p, "uniqueItems")
			p["schema"] = object{"type": kind, "uniqueItems": true}
		} else {
			p["type"] = kind
		}
		out = append(out, p)
	}
	return out
}
