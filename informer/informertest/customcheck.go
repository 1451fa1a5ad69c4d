package informertest

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	openapivalidate "k8s.io/kube-openapi/pkg/validation/validate"
)

// validateCustom checks a custom resource, or its status, by the schema of a version, with the validator
// that clusters use. Its validation rules (CEL) are not evaluated.
func validateCustom(res Resource, version, subresource string, content map[string]any) field.ErrorList {
	schema := res.schemas[version]
	if schema == nil || res.fields == nil || !res.RequireResourceVersion {
		return nil
	}
	var value any = content
	var path *field.Path
	if subresource == "status" { // it is checked by itself
		schema, _ = at(schema, "properties", "status").(map[string]any)
		if value = content["status"]; schema == nil || value == nil {
			return nil
		}
		version, path = version+"/status", field.NewPath("status")
	}
	var errs field.ErrorList
	for _, err := range res.fields.validator(version, schema).Validate(value).Errors {
		wrong := schemaError(err)
		if path != nil {
			wrong.Field = path.Child(wrong.Field).String()
		}
		errs = append(errs, wrong)
	}
	// The validator walks through maps.
	place := func(err *field.Error) string {
		if err.Field == "<nil>" && !strings.Contains(err.Detail, "must validate") {
			return "~" // what was found last
		}
		return err.Field
	}
	slices.SortStableFunc(errs, func(a, b *field.Error) int { return strings.Compare(place(a), place(b)) })
	return append(append(errs, checkEmbedded(value, schema, path)...), checkLists(value, schema, path)...)
}

// checkEmbedded wants embedded objects to state what they are.
func checkEmbedded(value any, schema map[string]any, path *field.Path) field.ErrorList {
	content, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	properties, _ := schema["properties"].(map[string]any)
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		inner, _ := properties[name].(map[string]any)
		at := field.NewPath(name)
		if path != nil {
			at = path.Child(name)
		}
		if embedded, ok := content[name].(map[string]any); ok && inner["x-kubernetes-embedded-resource"] == true {
			for _, member := range []string{"apiVersion", "kind"} {
				if s, _ := embedded[member].(string); s == "" {
					errs = append(errs, field.Required(at.Child(member), ""))
				}
			}
		}
		errs = append(errs, checkEmbedded(content[name], inner, at)...)
	}
	return errs
}

// validator returns the validator of a version. It is made when it is needed first.
func (f *fieldTypes) validator(version string, schema map[string]any) *openapivalidate.SchemaValidator {
	if v, ok := f.validators.Load(version); ok {
		return v.(*openapivalidate.SchemaValidator)
	}
	content := runtime.DeepCopyJSON(schema)
	twoTypes(content)
	parsed := &spec.Schema{}
	if raw, err := json.Marshal(content); err != nil || json.Unmarshal(raw, parsed) != nil {
		parsed = &spec.Schema{} // a cluster refuses such a definition
	}
	v, _ := f.validators.LoadOrStore(version, openapivalidate.NewSchemaValidator(parsed, nil, "", strfmt.Default))
	return v.(*openapivalidate.SchemaValidator)
}

// twoTypes gives fields that are a number or a string their types.
func twoTypes(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			twoTypes(item)
		}
	case map[string]any:
		if v["x-kubernetes-int-or-string"] == true {
			v["type"] = []any{"integer", "string"}
		}
		for _, member := range v {
			twoTypes(member)
		}
	}
}

// schemaError words an error as clusters do.
func schemaError(err error) *field.Error {
	var path *field.Path
	wrong, ok := err.(*openapierrors.Validation)
	if !ok {
		return field.Invalid(path, "", err.Error())
	}
	if name := strings.TrimPrefix(wrong.Name, "."); name != "" {
		path = field.NewPath(name)
	}
	value := wrong.Value
	if value == nil {
		value = ""
	}
	number := func(v any) int {
		if n, ok := v.(int64); ok {
			return int(n)
		}
		return -1
	}
	switch wrong.Code() {
	case openapierrors.RequiredFailCode:
		return field.Required(path, "")
	case openapierrors.EnumFailCode:
		var known []string
		for _, v := range wrong.Values {
			if s, ok := v.(string); ok {
				known = append(known, s)
			} else {
				text, _ := json.Marshal(v) // it has come from JSON
				known = append(known, string(text))
			}
		}
		return field.NotSupported(path, wrong.Value, known)
	case openapierrors.TooLongFailCode:
		return field.TooLong(path, "", number(wrong.Valid))
	case openapierrors.MaxItemsFailCode, openapierrors.TooManyPropertiesCode:
		return field.TooMany(path, number(wrong.Value), number(wrong.Valid))
	case openapierrors.InvalidTypeCode:
		return field.TypeInvalid(path, value, wrong.Error())
	}
	return field.Invalid(path, value, wrong.Error())
}

// checkLists finds items that stand twice in lists that are sets or maps.
func checkLists(value any, schema map[string]any, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	member := func(name string) *field.Path {
		if path == nil {
			return field.NewPath(name)
		}
		return path.Child(name)
	}
	switch v := value.(type) {
	case []any:
		items, _ := schema["items"].(map[string]any)
		keys, _ := schema["x-kubernetes-list-map-keys"].([]any)
		var seen []any
		for i, item := range v {
			identity := item
			switch schema["x-kubernetes-list-type"] {
			case "set":
			case "map":
				identity = identityOf(item, keys)
			default:
				identity = nil
			}
			if identity != nil && slices.ContainsFunc(seen, func(have any) bool { return reflect.DeepEqual(have, identity) }) {
				errs = append(errs, field.Duplicate(path.Index(i), identity))
			}
			seen = append(seen, identity)
			errs = append(errs, checkLists(item, items, path.Index(i))...)
		}
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		others, _ := schema["additionalProperties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if inner, ok := properties[name].(map[string]any); ok {
				errs = append(errs, checkLists(v[name], inner, member(name))...)
			} else if others != nil {
				errs = append(errs, checkLists(v[name], others, path.Key(name))...)
			}
		}
	}
	return errs
}

// identityOf is what an item of a list that is a map is known by.
func identityOf(item any, keys []any) any {
	content, ok := item.(map[string]any)
	if !ok {
		return nil
	}
	identity := map[string]any{}
	for _, key := range keys {
		name, _ := key.(string)
		identity[name] = content[name]
	}
	return identity
}
