// Package difference computes what a program has changed in an object of which it sees a part: its Go type lacks fields,
// and a Transform of its cache drops others. Objects are JSON values, with numbers as text.
package difference

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// Decode decodes an object. Numbers stay text, because a float64 would change those above 2^53.
func Decode(body []byte) (obj map[string]any, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	return obj, d.Decode(&obj)
}

// Names returns the names of the members of two objects, as keys.
func Names(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	if all == nil {
		return b
	}
	maps.Copy(all, b)
	return all
}

// MergePatch returns the JSON merge patch from before to after. It reports false if a list changes, which the patch
// would replace; if a map disappears, of which only a part may be visible; and for null, which means removal.
func MergePatch(before, after map[string]any) (map[string]any, bool) {
	patch := map[string]any{}
	for name := range Names(before, after) {
		was, had := before[name]
		value, has := after[name]
		if had == has && reflect.DeepEqual(was, value) {
			continue
		}
		from, wasMap := was.(map[string]any)
		to, isMap := value.(map[string]any)
		_, wasList := was.([]any)
		_, isList := value.([]any)
		switch {
		case wasList || isList || wasMap && !isMap || has && value == nil:
			return nil, false
		case isMap:
			part, ok := MergePatch(from, to)
			if !ok {
				return nil, false
			}
			value = part
		}
		patch[name] = value // nil removes it
	}
	return patch, true
}

// StrategicPatch returns the strategic merge patch from before to after. It returns nil if t, the Go type of
// the object, is not of a built-in kind, or if the patch could change what the program does not see: replace a list, or match the wrong element.
func StrategicPatch(t reflect.Type, before, after map[string]any) map[string]any {
	before, after = runtime.DeepCopyJSON(before), runtime.DeepCopyJSON(after)
	if !strings.HasPrefix(t.PkgPath(), "k8s.io/api/") || !mergeable(before, after, field{of: t}) {
		return nil
	}
	patch, err := strategicpatch.CreateTwoWayMergeMapPatchUsingLookupPatchMeta(before, after, strategicpatch.PatchMetaFromStruct{T: t})
	if err != nil {
		return nil
	}
	return patch
}

// mergeable reports whether a strategic merge patch keeps what the program does not see. To after it adds empty maps and lists
// for those that have disappeared, so that the patch removes only the elements that were visible.
func mergeable(before, after map[string]any, of field) bool {
	for name := range Names(before, after) {
		was, value, f := before[name], after[name], of.member(name)
		if reflect.DeepEqual(was, value) {
			continue
		}
		if strings.HasPrefix(name, "$") || slices.Contains(f.strategies, "retainKeys") {
			return false
		}
		from, wasMap := was.(map[string]any)
		list, wasList := was.([]any)
		switch {
		case value == nil && wasMap && f.omitted:
			value = map[string]any{}
		case value == nil && wasList && f.omitted:
			value = []any{}
		}
		switch value := value.(type) {
		case map[string]any:
			if !mergeable(from, value, f) {
				return false
			}
			after[name] = value
		case []any:
			if !slices.Contains(f.strategies, "merge") || !elementsMergeable(list, value, f) {
				return false
			}
			after[name] = value
		}
	}
	return true
}

// partialKeys are merge keys that do not identify an element alone: ports of one number differ in their protocol.
var partialKeys = []string{"port", "containerPort", "topologyKey"}

func elementsMergeable(before, after []any, of field) bool {
	was, is := identities(before, []string{of.key}), identities(after, []string{of.key})
	if was == nil || is == nil || slices.Contains(partialKeys, of.key) {
		return false
	}
	at := positions(was)
	for j, id := range is {
		to, isMap := after[j].(map[string]any)
		var from map[string]any
		if i, ok := at[id]; ok {
			from, _ = before[i].(map[string]any)
		}
		if isMap && !mergeable(from, to, of.member("")) {
			return false
		}
	}
	return true
}

// field describes a JSON value by its Go type and by how API servers merge it. The zero value has no Go type.
type field struct {
	of         reflect.Type
	strategies []string
	key        string // identifies an element of a list
	// omitted: Go omits the value if all that it shows is empty, so that its absence is not a removal.
	omitted bool
}

// member returns the field of a member of an object, or of the elements of a list.
func (f field) member(name string) (found field) {
	of := f.of
	if of != nil && of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch {
	case of == nil:
	case of.Kind() == reflect.Map || of.Kind() == reflect.Slice || of.Kind() == reflect.Array:
		if of.Elem().Kind() != reflect.Interface {
			found.of = of.Elem()
		}
	case of.Kind() == reflect.Struct:
		depth := 0
		for _, v := range reflect.VisibleFields(of) {
			tag, _, _ := strings.Cut(v.Tag.Get("json"), ",")
			if tag == "" && !v.Anonymous {
				tag = v.Name
			}
			if strings.EqualFold(tag, name) && (found.of == nil || len(v.Index) < depth) {
				depth = len(v.Index)
				found = field{v.Type, strings.Split(v.Tag.Get("patchStrategy"), ","), v.Tag.Get("patchMergeKey"), v.Type.Kind() != reflect.Pointer}
			}
		}
	}
	return found
}
