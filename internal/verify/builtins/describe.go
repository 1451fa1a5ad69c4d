package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/informerkit/informerkit/informer/informertest"
)

// served returns the kinds that the server serves, also as subresources.
func served() ([]schema.GroupVersionKind, error) {
	server, err := informertest.NewServer(informertest.Options{})
	if err != nil {
		return nil, err
	}
	defer server.Close()
	client, err := discovery.NewDiscoveryClientForConfig(server.Config())
	if err != nil {
		return nil, err
	}
	_, lists, err := client.WithLegacy().ServerGroupsAndResources()
	if err != nil {
		return nil, err
	}
	found := map[schema.GroupVersionKind]bool{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			gvk := gv.WithKind(r.Kind)
			if r.Version != "" {
				gvk = schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
			}
			if scheme.Scheme.Recognizes(gvk) {
				found[gvk] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) }), nil
}

// describer collects descriptions.
type describer struct {
	merging map[string]mergeRule
	kinds   map[string]any // "apps/v1 Deployment" → "k8s.io/api/apps/v1.Deployment"
	known   map[string]any // group and version → the names of all kinds that client-go knows
	structs map[string]any // Go name → fields
}

// field is a field of a struct: its Go name, type and tag.
type field [3]string

func newDescriber(merging map[string]mergeRule) *describer {
	known := map[string]any{}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal {
			continue
		}
		names, _ := known[gvk.GroupVersion().String()].([]string)
		known[gvk.GroupVersion().String()] = append(names, gvk.Kind)
	}
	for _, names := range known {
		slices.Sort(names.([]string))
	}
	return &describer{merging: merging, kinds: map[string]any{}, known: known, structs: map[string]any{}}
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// addKind describes the type of a kind and all that it is made of.
func (d *describer) addKind(gvk schema.GroupVersionKind) error {
	obj, err := scheme.Scheme.New(gvk)
	if err != nil {
		return err
	}
	name, err := d.typeOf(reflect.TypeOf(obj).Elem())
	d.kinds[gvk.GroupVersion().String()+" "+gvk.Kind] = name
	return err
}

// kept are types that the server takes from k8s.io/apimachinery: those that write and
// read themselves, and the metadata of objects.
func kept(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) || t == reflect.TypeFor[metav1.ObjectMeta]()
}

// typeOf is how the description refers to a type. Structs are added.
func (d *describer) typeOf(t reflect.Type) (string, error) {
	if kept(t) {
		return t.PkgPath() + "." + t.Name(), nil
	}
	prefix := ""
	switch t.Kind() {
	case reflect.Pointer:
		prefix = "*"
	case reflect.Slice:
		prefix = "[]"
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return "", fmt.Errorf("%s is a map of other keys than strings", t)
		}
		prefix = "map[string]"
	case reflect.Struct:
		name := t.PkgPath() + "." + t.Name()
		if _, ok := d.structs[name]; ok {
			return name, nil
		}
		d.structs[name] = nil
		fields := []field{{"", "", d.merging[modelName(name)].tag()}}
		err := d.addFields(name, t, &fields)
		d.structs[name] = fields
		return name, err
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64, reflect.Uint8:
		return t.Kind().String(), nil
	default:
		return "", fmt.Errorf("%s has a kind that cannot be described", t)
	}
	elem, err := d.typeOf(t.Elem())
	return prefix + elem, err
}

// addFields describes the fields of a struct, those of inlined ones among them.
func (d *describer) addFields(name string, t reflect.Type, fields *[]field) error {
	for i := range t.NumField() {
		f := t.Field(i)
		jsonName, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case jsonName == "-":
			continue
		case jsonName == "" && f.Anonymous && f.Type.Kind() == reflect.Struct:
			if err := d.addFields(name, f.Type, fields); err != nil {
				return err
			}
			continue
		case jsonName == "" || !f.IsExported():
			return fmt.Errorf("%s.%s has no name in JSON", name, f.Name)
		}
		typ, err := d.typeOf(f.Type)
		if err != nil {
			return err
		}
		tag := tagOf("json", f.Tag.Get("json"), "patchStrategy", f.Tag.Get("patchStrategy"), "patchMergeKey", f.Tag.Get("patchMergeKey"))
		if rule := d.merging[modelName(name)+" "+jsonName].tag(); rule != "" {
			tag += " " + rule
		}
		*fields = append(*fields, field{f.Name, typ, tag})
	}
	return nil
}

// tagOf is a struct tag of keys and values; those without a value are left out.
func tagOf(pairs ...string) string {
	var parts []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			parts = append(parts, pairs[i]+":"+strconv.Quote(pairs[i+1]))
		}
	}
	return strings.Join(parts, " ")
}

// modelName is the name of a Go type in OpenAPI: the domain of the package backwards.
func modelName(goName string) string {
	domain, path, _ := strings.Cut(goName, "/")
	labels := strings.Split(domain, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".") + "." + strings.ReplaceAll(path, "/", ".")
}
