package informertest

import (
	"encoding/json"
	"maps"
	"slices"
)

// encodeBare is the JSON of an object without apiVersion and kind, its members in
// the order of their names, and where in it the content of
// metadata.resourceVersion begins and ends: [version.at] replaces it there.
func encodeBare(object map[string]any) (raw []byte, start, end int, err error) {
	raw = append(make([]byte, 0, 1024), '{')
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if name == "apiVersion" || name == "kind" {
			continue
		}
		raw = appendName(raw, name)
		if meta, ok := object[name].(map[string]any); ok && name == "metadata" {
			raw, start, end, err = appendMetadata(raw, meta)
		} else {
			raw, err = appendValue(raw, object[name])
		}
		if err != nil {
			return nil, 0, 0, err
		}
	}
	return append(raw, '}'), start, end, nil
}

// appendMetadata appends the metadata of an object and finds its resourceVersion.
func appendMetadata(raw []byte, meta map[string]any) (_ []byte, start, end int, err error) {
	raw = append(raw, '{')
	for _, name := range slices.Sorted(maps.Keys(meta)) {
		raw = appendName(raw, name)
		begin := len(raw)
		value := meta[name]
		if name == "managedFields" {
			value = canonicalManagers(value)
		}
		if raw, err = appendValue(raw, value); err != nil {
			return nil, 0, 0, err
		}
		if _, ok := meta[name].(string); ok && name == "resourceVersion" {
			start, end = begin+1, len(raw)-1 // within the quotes
		}
	}
	return append(raw, '}'), start, end, nil
}

// appendName appends the name of a member, behind the one before it.
func appendName(raw []byte, name string) []byte {
	if raw[len(raw)-1] != '{' {
		raw = append(raw, ',')
	}
	return append(append(raw, quote(name)...), ':')
}

// appendValue appends the JSON of a value.
func appendValue(raw []byte, value any) ([]byte, error) {
	encoded, err := json.Marshal(value)
	return append(raw, encoded...), err
}
