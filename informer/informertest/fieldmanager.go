package informertest

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"

	"github.com/informerkit/informerkit/informer/informertest/internal/defaults"
)

// This file keeps metadata.managedFields: which client wrote which field. The rules
// are those of apimachinery, which the API server uses too; what is here is how
// they are applied to the unstructured objects of the store.

// goSide is the field manager of writes by the test itself. It is noted only on
// objects that have managers already: a test that stores objects and never
// applies anything pays nothing.
const goSide = "informertest"

// builtinSchema is how the fields of the built-in kinds merge. Reading it takes a
// tenth of a second, once in a process, when the first client writes.
var builtinSchema = sync.OnceValue(func() managedfields.TypeConverter {
	return applyconfigurations.NewTypeConverter(builtinTypes)
})

// fieldManagers holds one field manager per kind and subresource. They depend on
// nothing else, and all servers of a process share them.
var fieldManagers sync.Map // fieldManagerKey → *managedfields.FieldManager

type fieldManagerKey struct {
	kind        schema.GroupVersionKind
	stored      string // the version that objects are compared in
	subresource string
}

// fieldManagerOf returns the field manager for an endpoint.
func fieldManagerOf(res Resource, version, subresource string) (*managedfields.FieldManager, error) {
	key := fieldManagerKey{res.gvk(version), res.Versions[0], subresource}
	if m, ok := fieldManagers.Load(key); ok {
		return m.(*managedfields.FieldManager), nil
	}
	build, types := managedfields.NewDefaultCRDFieldManager, managedfields.NewDeducedTypeConverter()
	if typed(key.kind) {
		build, types = managedfields.NewDefaultFieldManager, builtinSchema()
	}
	hub := schema.GroupVersion{Group: res.Group, Version: key.stored}
	m, err := build(types, fieldVersions{}, fieldVersions{}, fieldVersions{}, key.kind, hub, subresource, nil)
	if err != nil {
		return nil, err
	}
	kept, _ := fieldManagers.LoadOrStore(key, m)
	return kept.(*managedfields.FieldManager), nil
}

// trackUpdate notes in obj who has written what. old is nil for a new object. What
// the endpoint ignores must be gone from obj, or as it was.
func trackUpdate(res Resource, old, obj *unstructured.Unstructured, opts writeOptions) {
	manager := opts.manager
	if manager == "" {
		if old == nil || len(old.GetManagedFields()) == 0 {
			return
		}
		manager = goSide
	}
	version := opts.version
	if version == "" {
		version = res.Versions[0]
	}
	m, err := fieldManagerOf(res, version, opts.subresource)
	if err != nil {
		return
	}
	live := old
	if live == nil {
		live = emptyObject(res)
	}
	live.SetGroupVersionKind(res.gvk(res.Versions[0]))
	obj.SetGroupVersionKind(res.gvk(version))
	// An object that does not fit its schema, which only the Go side can store,
	// keeps the managers that it has.
	if tracked, err := m.Update(live, obj, manager); err == nil {
		obj.Object = tracked.(*unstructured.Unstructured).Object
	} else if old != nil {
		obj.SetManagedFields(old.GetManagedFields())
	}
}

// emptyObject is what a new object is compared with: one of its Go type without
// content. Structs stand in it, empty, so that their fields are owned, not they.
func emptyObject(res Resource) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(zeroContent(res.gvk(res.Versions[0])))}
	if res.StatusSubresource {
		delete(obj.Object, "status")
	}
	obj.SetGroupVersionKind(res.gvk(res.Versions[0]))
	return obj
}

// admitted are the members of a specification that are filled in when the creator
// has been noted already, by admission or by the allocation of addresses.
var admitted = map[schema.GroupKind][]string{
	{Kind: "Pod"}:     {"tolerations"},
	{Kind: "Service"}: {"ipFamilies", "ipFamilyPolicy"},
}

// trackCreate notes in a new object who has made it. Defaults count as written by
// the creator; what the server decides beyond them is written by nobody.
func trackCreate(res Resource, obj *unstructured.Unstructured, opts writeOptions) {
	if opts.manager == "" || opts.applied {
		return
	}
	kind := schema.GroupKind{Group: res.Group, Kind: res.Kind}
	spec, ok := obj.Object["spec"].(map[string]any)
	if !ok {
		spec = map[string]any{}
	}
	stated := map[string]any{}
	for _, name := range admitted[kind] {
		stated[name] = spec[name]
	}
	defaults.Apply(kind, obj.Object)
	for name, value := range stated {
		if spec[name] = value; value == nil {
			delete(spec, name)
		}
	}
	if res.Group == "" && res.Kind == "Namespace" {
		labelNamespace(obj)
	}
	if res.StatusSubresource {
		delete(obj.Object, "status")
	}
	trackUpdate(res, nil, obj, opts)
}

// managerOf is the field manager of a request: the one that it names, or else the
// client's name for itself.
func managerOf(named, userAgent string) string {
	if named != "" {
		return named
	}
	prefix, _, _ := strings.Cut(userAgent, "/")
	var out strings.Builder
	for _, r := range prefix {
		if !unicode.IsPrint(r) {
			continue
		}
		if out.Len()+utf8.RuneLen(r) > validation.FieldManagerMaxLength {
			break
		}
		out.WriteRune(r)
	}
	return out.String()
}

// fieldVersions converts unstructured objects between the versions of a kind, for
// field managers, which note in which version a field was written.
type fieldVersions struct{}

// Convert implements runtime.ObjectConvertor; field managers do not call it.
func (fieldVersions) Convert(in, out, _ any) error {
	return runtime.NewNotRegisteredErrForKind("informertest", schema.GroupVersionKind{})
}

// ConvertToVersion implements runtime.ObjectConvertor.
func (fieldVersions) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	have := in.GetObjectKind().GroupVersionKind()
	want, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{have})
	if !ok {
		return nil, runtime.NewNotRegisteredGVKErrForTarget("informertest", have, target)
	}
	if want == have {
		return in, nil
	}
	return convertVersion(in.(*unstructured.Unstructured), want)
}

// ConvertFieldLabel implements runtime.ObjectConvertor.
func (fieldVersions) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

// Default implements runtime.ObjectDefaulter. The store completes objects.
func (fieldVersions) Default(runtime.Object) {}

// New implements runtime.ObjectCreater.
func (fieldVersions) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	obj := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(zeroContent(kind))}
	obj.SetGroupVersionKind(kind)
	return obj, nil
}
