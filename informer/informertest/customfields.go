package informertest

import (
	"encoding/json"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/informerkit/informerkit/informer/informertest/internal/openapi"
)

// fieldTypes are how the fields of a resource merge, and the field managers that know it:
// of a custom resource by the schemas of one state of its definition, of a built-in one by
// its Go type.
type fieldTypes struct {
	once       sync.Once
	converter  managedfields.TypeConverter
	managers   sync.Map // fieldManagerKey → *managedfields.FieldManager
	validators sync.Map // version → *validate.SchemaValidator
}

// typeConverter returns the converter of the resource. It is made when it is needed
// first; a schema that cannot be understood is as good as none.
func (f *fieldTypes) typeConverter(res Resource) managedfields.TypeConverter {
	f.once.Do(func() {
		if c, err := converterOf(res); err == nil {
			f.converter = seesTracked(c)
		} else {
			f.converter = seesTracked(managedfields.NewDeducedTypeConverter())
		}
	})
	return f.converter
}

// converterOf builds a converter from the schemas of all versions of a resource.
func converterOf(res Resource) (managedfields.TypeConverter, error) {
	var kinds []openapi.Kind
	for _, version := range res.Versions {
		kinds = append(kinds, openapi.Kind{
			GVK: res.gvk(version), Plural: res.Plural, Namespaced: !res.ClusterScoped,
			Type: goTypes{}.describing(res.gvk(version)), Schema: res.schemas[version],
		})
	}
	raw, err := json.Marshal(openapi.SchemasV3(kinds))
	if err != nil {
		return nil, err
	}
	return fromSchemas(managedfields.NewTypeConverter, raw)
}

// fromSchemas calls build with the schemas of a text. Their type is one of a module
// that this one does not require directly; it is inferred.
func fromSchemas[S any](build func(map[string]*S, bool) (managedfields.TypeConverter, error), raw []byte) (managedfields.TypeConverter, error) {
	schemas := map[string]*S{}
	if err := json.Unmarshal(raw, &schemas); err != nil {
		return nil, err
	}
	return build(schemas, false)
}

// conditionsSchema is what a server-side apply has to know of kinds that have no Go
// type here: that their conditions are a map. Their other lists are taken as a whole.
func conditionsSchema() map[string]any {
	open := func(properties map[string]any) map[string]any {
		return map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": properties}
	}
	return runtime.DeepCopyJSON(open(map[string]any{
		"spec": open(map[string]any{}),
		"status": open(map[string]any{
			"conditions": map[string]any{
				"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"type"},
				"items": open(map[string]any{"type": map[string]any{"type": "string"}}),
			},
		}),
	}))
}
