package informertest

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/informerkit/informerkit/informer/informertest/internal/defaults"
)

// This file keeps metadata.managedFields: which client wrote which field. The rules
// are those of apimachinery, which the API server uses too; what is here is how
// they are applied to the unstructured objects of the store.

// goSide is the field manager of writes by the test itself. It is recorded only on
// objects that have managers already: a test that stores objects and never
// applies anything pays nothing.
const goSide = "informertest"

// builtinFields holds, per built-in kind, how its fields merge. It is found out when the
// first client writes one.
var builtinFields sync.Map // schema.GroupVersionKind → *fieldTypes

// fieldManagers holds one field manager per built-in kind and subresource. They depend
// on nothing else, and all servers of a process share them.
var fieldManagers sync.Map // fieldManagerKey → *managedfields.FieldManager

type fieldManagerKey struct {
	kind        schema.GroupVersionKind
	stored      string // the version that objects are compared in
	subresource string
}

// fieldManagerOf returns the field manager for an endpoint.
func fieldManagerOf(res Resource, version, subresource string) (*managedfields.FieldManager, error) {
	key := fieldManagerKey{res.gvk(version), res.Versions[0], subresource}
	managers, build := &fieldManagers, managedfields.NewDefaultCRDFieldManager
	if res.fields != nil {
		managers = &res.fields.managers
	}
	if m, ok := managers.Load(key); ok {
		return m.(*managedfields.FieldManager), nil
	}
	var types managedfields.TypeConverter
	switch {
	case res.fields != nil:
		types = res.fields.typeConverter(res)
	case typed(key.kind):
		fields, _ := builtinFields.LoadOrStore(key.kind, &fieldTypes{})
		build, types = managedfields.NewDefaultFieldManager, fields.(*fieldTypes).typeConverter(res)
	default:
		types = seesTracked(managedfields.NewDeducedTypeConverter())
	}
	hub := schema.GroupVersion{Group: res.Group, Version: key.stored}
	m, err := build(types, fieldVersions{}, fieldVersions{}, fieldVersions{}, key.kind, hub, subresource, nil)
	if err != nil {
		return nil, err
	}
	kept, _ := managers.LoadOrStore(key, m)
	return kept.(*managedfields.FieldManager), nil
}

// trackUpdate records in obj which manager has written which field. old, with its managers, is nil for a
// new object. What the endpoint ignores must be gone from obj, or as it was. Neither
// object may be deep-copied afterwards.
func trackUpdate(res Resource, old *unstructured.Unstructured, managers []metav1.ManagedFieldsEntry, obj *unstructured.Unstructured, opts writeOptions) {
	manager := opts.manager
	if manager == "" {
		if len(managers) == 0 {
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
	// An object that does not fit its schema, which only a method of Server can store,
	// keeps the managers that it has.
	written := &tracked{obj, takeManagers(obj)}
	if _, err := m.Update(&tracked{live, managers}, written, manager); err == nil {
		if opts.subresource == "scale" {
			undate(written.managers, managers)
		}
		managers = written.managers
	}
	setManagers(obj, managers)
}

// undate gives managers that wrote through the scale subresource the time that they
// had before, or none: API servers lose it.
func undate(entries, before []metav1.ManagedFieldsEntry) {
	for i, e := range entries {
		if e.Subresource != "scale" {
			continue
		}
		entries[i].Time = nil
		for _, b := range before {
			if b.Manager == e.Manager && b.Subresource == e.Subresource && b.Operation == e.Operation {
				entries[i].Time = b.Time
			}
		}
	}
	slices.SortStableFunc(entries, func(a, b metav1.ManagedFieldsEntry) int {
		switch {
		case a.Operation != b.Operation:
			return strings.Compare(string(a.Operation), string(b.Operation))
		case a.Time == nil && b.Time != nil:
			return -1
		case a.Time != nil && b.Time == nil:
			return 1
		}
		return 0
	})
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
// has been recorded already, by admission or by the allocation of addresses.
var admitted = map[schema.GroupKind][]string{
	{Kind: "Pod"}:     {"tolerations"},
	{Kind: "Service"}: {"ipFamilies", "ipFamilyPolicy"},
}

// trackCreate records the manager of a new object. It owns the defaults, too; what
// the server decides beyond them has no owner.
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
	switch {
	case res.Group == "" && res.Kind == "Namespace":
		labelNamespace(obj)
	case kind == daemonSets:
		defaults.Created(kind, obj.Object)
	}
	status, given := obj.Object["status"]
	if res.StatusSubresource {
		delete(obj.Object, "status")
	}
	trackUpdate(res, nil, nil, obj, opts)
	if given && createsStatus(res) {
		obj.Object["status"] = status
	}
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
// field managers, which record in which version a field was written.
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
	if t, ok := in.(*tracked); ok {
		obj, err := convertVersion(t.Unstructured, want)
		return &tracked{obj, t.managers}, err
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
