package informertest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// crdGroup is the group of CustomResourceDefinitions.
const crdGroup = "apiextensions.k8s.io"

// isCRD reports whether objects of the resource define further resources.
func isCRD(res Resource) bool { return res.Group == crdGroup && res.Kind == "CustomResourceDefinition" }

// definition is the part of a CustomResourceDefinition that the server acts on.
type definition struct {
	Spec struct {
		Group string `json:"group"`
		Scope string `json:"scope"`
		Names struct {
			Kind       string   `json:"kind"`
			ListKind   string   `json:"listKind"`
			Plural     string   `json:"plural"`
			Singular   string   `json:"singular"`
			ShortNames []string `json:"shortNames"`
			Categories []string `json:"categories"`
		} `json:"names"`
		Versions []struct {
			Name    string          `json:"name"`
			Columns []printerColumn `json:"additionalPrinterColumns"`
			Schema  struct {
				OpenAPI map[string]any `json:"openAPIV3Schema"`
			} `json:"schema"`
			Served       bool `json:"served"`
			Storage      bool `json:"storage"`
			Subresources struct {
				Status *struct{} `json:"status"`
				Scale  *struct {
					SpecReplicasPath   string `json:"specReplicasPath"`
					StatusReplicasPath string `json:"statusReplicasPath"`
					LabelSelectorPath  string `json:"labelSelectorPath"`
				} `json:"scale"`
			} `json:"subresources"`
			SelectableFields []struct {
				JSONPath string `json:"jsonPath"`
			} `json:"selectableFields"`
		} `json:"versions"`
	} `json:"spec"`
}

// parseDefinition reads the resource that a CustomResourceDefinition describes.
// The storage version, if served, comes first.
func parseDefinition(obj *unstructured.Unstructured) (Resource, field.ErrorList) {
	var def definition
	spec := field.NewPath("spec")
	if err := converter.FromUnstructured(map[string]any{"spec": obj.Object["spec"]}, &def); err != nil {
		return Resource{}, field.ErrorList{field.Invalid(spec, nil, err.Error())}
	}
	names := def.Spec.Names
	res := Resource{
		Group: def.Spec.Group, Kind: names.Kind, ListKind: names.ListKind, Plural: names.Plural, Singular: names.Singular,
		ShortNames: names.ShortNames, Categories: names.Categories,
		ClusterScoped: def.Spec.Scope == "Cluster", RequireResourceVersion: true, fields: &fieldTypes{},
	}
	for _, v := range def.Spec.Versions {
		set(&res.schemas, v.Name, v.Schema.OpenAPI)
		set(&res.columns, v.Name, v.Columns)
		if v.Served && v.Storage {
			res.Versions = append([]string{v.Name}, res.Versions...)
		} else if v.Served {
			res.Versions = append(res.Versions, v.Name)
		}
		res.StatusSubresource = res.StatusSubresource || v.Subresources.Status != nil
		if scale := v.Subresources.Scale; scale != nil && (v.Storage || res.scale == nil) {
			res.scale = &scalePaths{jsonPath(scale.SpecReplicasPath), jsonPath(scale.StatusReplicasPath), jsonPath(scale.LabelSelectorPath)}
		}
		for _, f := range v.SelectableFields {
			res.SelectableFields = append(res.SelectableFields, strings.TrimPrefix(f.JSONPath, "."))
		}
	}
	var errs field.ErrorList
	require := func(value string, path *field.Path) {
		if value == "" {
			errs = append(errs, field.Required(path, ""))
		}
	}
	require(res.Group, spec.Child("group"))
	require(res.Kind, spec.Child("names", "kind"))
	require(res.Plural, spec.Child("names", "plural"))
	stored := 0
	for i, v := range def.Spec.Versions {
		if v.Storage {
			stored++
		}
		if v.Schema.OpenAPI == nil {
			errs = append(errs, field.Required(spec.Child("versions").Index(i).Child("schema", "openAPIV3Schema"), ""))
		} else {
			errs = append(errs, untyped(v.Schema.OpenAPI, spec.Child("validation", "openAPIV3Schema"), "at the root")...)
		}
	}
	if stored != 1 {
		errs = append(errs, field.Invalid(spec.Child("versions"), at(obj.Object, "spec", "versions"), "must have exactly one version marked as storage version"))
		if at(obj.Object, "status", "storedVersions") == nil {
			errs = append(errs, field.Invalid(field.NewPath("status", "storedVersions"), nil, "must have at least one stored version"))
		}
	}
	kept, _, _ := unstructured.NestedStringSlice(obj.Object, "status", "storedVersions")
	for i, version := range kept {
		if _, ok := res.schemas[version]; !ok {
			detail := fmt.Sprintf("missing from spec.versions; %[1]s was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in %[1]s and removes %[1]s from status.storedVersions", version)
			errs = append(errs, field.Invalid(field.NewPath("status", "storedVersions").Index(i), version, detail))
		}
	}
	if def.Spec.Scope != "Cluster" && def.Spec.Scope != "Namespaced" {
		errs = append(errs, field.NotSupported(spec.Child("scope"), def.Spec.Scope, []string{"Cluster", "Namespaced"}))
	}
	if want := res.Plural + "." + res.Group; len(errs) == 0 && obj.GetName() != want {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), obj.GetName(), `must be spec.names.plural+"."+spec.group`))
	}
	if len(errs) > 0 || len(res.Versions) == 0 {
		return res, errs
	}
	res, err := res.complete()
	if err != nil {
		errs = append(errs, field.Invalid(spec.Child("names"), names.Kind, err.Error()))
	}
	return res, errs
}

// untyped finds the parts of a schema without a type, which a cluster refuses.
func untyped(schema map[string]any, path *field.Path, where string) field.ErrorList {
	var errs field.ErrorList
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if inner, ok := properties[name].(map[string]any); ok {
			errs = append(errs, untyped(inner, path.Child("properties").Key(name), "for specified object fields")...)
		}
	}
	if items, ok := schema["items"].(map[string]any); ok {
		errs = append(errs, untyped(items, path.Child("items"), "for specified array items")...)
	}
	if others, ok := schema["additionalProperties"].(map[string]any); ok {
		errs = append(errs, untyped(others, path.Child("additionalProperties"), "for specified object fields")...)
	}
	if schema["type"] == nil && schema["x-kubernetes-int-or-string"] != true && schema["x-kubernetes-preserve-unknown-fields"] != true {
		errs = append(errs, field.Required(path.Child("type"), "must not be empty "+where))
	}
	return errs
}

// set writes into a map that may not have been made yet.
func set[V any](m *map[string]V, key string, value V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = value
}

// beforeCreateLocked completes an object whose kind means something to the
// server itself, or refuses it.
func (s *store) beforeCreateLocked(res Resource, obj *unstructured.Unstructured) error {
	if !isCRD(res) {
		return nil
	}
	defined, errs := parseDefinition(obj)
	if len(errs) > 0 {
		return apierrors.NewInvalid(res.gvk("").GroupKind(), obj.GetName(), errs)
	}
	// A cluster's controllers accept the names a moment later; here it is at once.
	condition := func(kind, reason, message string) map[string]any {
		return map[string]any{"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now().Format("2006-01-02T15:04:05Z")}
	}
	names, _, _ := unstructured.NestedMap(obj.Object, "spec", "names")
	obj.Object["status"] = map[string]any{
		"acceptedNames":  names,
		"storedVersions": toAny(defined.Versions[:min(1, len(defined.Versions))]),
		"conditions": []any{
			condition("NamesAccepted", "NoConflicts", "no conflicts found"),
			condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
		},
	}
	return nil
}

// beforeUpdateLocked refuses an update whose kind means something to the server
// and that it could not act on.
func (s *store) beforeUpdateLocked(res Resource, obj *unstructured.Unstructured) error {
	if !isCRD(res) {
		return nil
	}
	if _, errs := parseDefinition(obj); len(errs) > 0 {
		return apierrors.NewInvalid(res.gvk("").GroupKind(), obj.GetName(), errs)
	}
	return nil
}

// afterWriteLocked acts on an object that was stored.
func (s *store) afterWriteLocked(c *collection, obj *unstructured.Unstructured) {
	if !isCRD(c.res) {
		return
	}
	if res, errs := parseDefinition(obj); len(errs) == 0 && len(res.Versions) > 0 {
		s.registerLocked(res)
		_ = s.collections[res.groupResource()].refitLocked() // what was encoded can be decoded
	}
}

// afterRemoveLocked acts on an object that has gone.
func (s *store) afterRemoveLocked(c *collection, last *version) error {
	if isCRD(c.res) {
		return s.unregisterLocked(definedBy(last.name))
	}
	if err := s.finishDefinitionLocked(c.res); err != nil {
		return err
	}
	if !c.res.ClusterScoped {
		return s.finishNamespaceLocked(last.namespace)
	}
	return nil
}

// crds is the collection of CustomResourceDefinitions.
var crds = schema.GroupResource{Group: crdGroup, Resource: "customresourcedefinitions"}

// cleanup is the finalizer of a definition that is being deleted, until its objects are gone.
const cleanup = "customresourcecleanup.apiextensions.k8s.io"

// definitionLocked returns the CustomResourceDefinition of a resource, nil if there is none.
func (s *store) definitionLocked(res Resource) *version {
	if c := s.collections[crds]; c != nil && res.RequireResourceVersion {
		return c.items[res.Plural+"."+res.Group]
	}
	return nil
}

// terminating reports whether there is such an object and it is being deleted.
func (v *version) terminating() bool { return v != nil && v.deleting }

// emptyDefinitionLocked deletes the objects of a definition that is being deleted, then the
// definition. Objects with finalizers hold both up.
func (s *store) emptyDefinitionLocked(name string) error {
	c := s.collections[definedBy(name)]
	if c == nil {
		return s.amendLocked(s.collections[crds], name, withoutCleanup)
	}
	for _, v := range c.selectLocked(selectEverything()) {
		if _, _, err := s.deleteLocked(c, v, metav1.DeleteOptions{}, writeOptions{}); err != nil {
			return err
		}
	}
	return s.finishDefinitionLocked(c.res)
}

// finishDefinitionLocked lets a definition that is being deleted go if no object is left.
func (s *store) finishDefinitionLocked(res Resource) error {
	if definition := s.definitionLocked(res); definition.terminating() && len(s.collections[res.groupResource()].items) == 0 {
		return s.amendLocked(s.collections[crds], definition.key, withoutCleanup)
	}
	return nil
}

func withoutCleanup(definition *unstructured.Unstructured) {
	definition.SetFinalizers(slices.DeleteFunc(definition.GetFinalizers(), func(f string) bool { return f == cleanup }))
}

// warnOfRules says that the rules of a definition are not evaluated.
func (cl *call) warnOfRules(v *version) {
	if isCRD(cl.res) && bytes.Contains(v.bare, []byte(`"x-kubernetes-validations"`)) {
		cl.warn([]error{errors.New("informertest does not evaluate x-kubernetes-validations: objects that break these rules are accepted")})
	}
}

// definedBy is the resource that the CustomResourceDefinition of a name defines.
func definedBy(name string) schema.GroupResource {
	plural, group, _ := strings.Cut(name, ".")
	return schema.GroupResource{Group: group, Resource: plural}
}

// toAny turns a list of strings into one of an unstructured object.
func toAny(list []string) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}
