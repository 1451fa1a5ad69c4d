package informertest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// This file does to custom resources what Go types do to built-in kinds: fields that
// the schema of a CustomResourceDefinition does not have are dropped, and its
// defaults are filled in. customcheck.go enforces the rest of a schema.

// fitSchema makes what a client sent fit the schema of its kind, if it has one, and
// returns an error for each field that was dropped.
func (cl *call) fitSchema(content map[string]any) []error {
	schema := cl.res.schemas[cl.target.version]
	if schema == nil || cl.res.fields == nil {
		return nil
	}
	var dropped []string
	prune(content, schema, "", true, &dropped)
	fillIn(content, schema)
	slices.Sort(dropped)
	var errs []error
	for _, path := range dropped {
		errs = append(errs, fmt.Errorf("unknown field %q", path))
	}
	return errs
}

// refitLocked shows the objects of a custom resource as a new schema has them, pruned and
// with its defaults, which needs no write. What was written is kept for the next schema.
func (c *collection) refitLocked() error {
	schema := c.res.schemas[c.res.Versions[0]]
	if schema == nil || c.res.fields == nil || !c.res.RequireResourceVersion {
		return nil
	}
	for key, old := range c.items {
		written := old.written
		if written == nil {
			written = old.bare
		}
		content := map[string]any{}
		if err := utiljson.Unmarshal(written, &content); err != nil {
			return err
		}
		var dropped []string
		prune(content, schema, "", true, &dropped)
		fillIn(content, schema)
		obj := c.res.fromStored(&unstructured.Unstructured{Object: content}, c.res.Versions[0])
		next, err := newVersion(c.res, obj, old.rv)
		if err != nil {
			return err
		}
		if !bytes.Equal(next.bare, old.bare) {
			next.written = written
			c.items[key] = next
		}
	}
	c.sorted = nil
	return nil
}

// prune removes from a value the fields that its schema does not have. Those of the
// object itself, or of one embedded in it, that every object has are kept.
func prune(value any, schema map[string]any, path string, whole bool, dropped *[]string) {
	switch v := value.(type) {
	case []any:
		items, _ := schema["items"].(map[string]any)
		for i, item := range v {
			if items != nil {
				prune(item, items, fmt.Sprintf("%s[%d]", path, i), items["x-kubernetes-embedded-resource"] == true, dropped)
			}
		}
	case map[string]any:
		pruneObject(v, schema, path, whole, dropped)
	}
}

// pruneObject is prune for an object: it deletes the fields that neither properties nor
// additionalProperties of the schema permit, unless the schema preserves unknown ones.
// The paths of those deleted are appended to dropped, for the warnings and errors of
// field validation.
func pruneObject(object, schema map[string]any, path string, whole bool, dropped *[]string) {
	properties, _ := schema["properties"].(map[string]any)
	others, hasOthers := schema["additionalProperties"].(map[string]any)
	keep := schema["x-kubernetes-preserve-unknown-fields"] == true || schema["additionalProperties"] == true
	for name, value := range object {
		at := strings.TrimPrefix(path+"."+name, ".")
		if whole && (name == "apiVersion" || name == "kind" || name == "metadata") {
			if metadata, ok := value.(map[string]any); ok {
				pruneMetadata(metadata, at, dropped)
			}
			continue
		}
		switch inner, ok := properties[name].(map[string]any); {
		case ok:
			prune(value, inner, at, inner["x-kubernetes-embedded-resource"] == true, dropped)
		case hasOthers:
			prune(value, others, at, others["x-kubernetes-embedded-resource"] == true, dropped)
		case !keep:
			delete(object, name)
			*dropped = append(*dropped, at)
		}
	}
}

// metadataFields are the fields that the metadata of every object has.
const metadataFields = " name generateName namespace selfLink uid resourceVersion generation creationTimestamp deletionTimestamp deletionGracePeriodSeconds labels annotations ownerReferences finalizers managedFields "

// pruneMetadata removes other fields of the metadata.
func pruneMetadata(metadata map[string]any, path string, dropped *[]string) {
	for name := range metadata {
		if !strings.Contains(metadataFields, " "+name+" ") {
			delete(metadata, name)
			*dropped = append(*dropped, path+"."+name)
		}
	}
}

// fillIn sets the defaults of a schema where a field is absent, or null and may not
// be so; without a default such a null is removed.
func fillIn(value any, schema map[string]any) {
	switch v := value.(type) {
	case []any:
		if items, ok := schema["items"].(map[string]any); ok {
			for _, item := range v {
				fillIn(item, items)
			}
		}
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			inner, ok := properties[name].(map[string]any)
			if !ok {
				continue
			}
			present, there := v[name]
			switch preset, ok := inner["default"]; {
			case ok && (!there || present == nil && inner["nullable"] != true):
				v[name] = runtime.DeepCopyJSONValue(preset)
			case there && present == nil && inner["nullable"] != true:
				delete(v, name)
			}
			fillIn(v[name], inner)
		}
		if others, ok := schema["additionalProperties"].(map[string]any); ok {
			for name, member := range v {
				if _, known := properties[name]; known {
					continue
				}
				if member == nil && others["nullable"] != true {
					delete(v, name)
				}
				fillIn(member, others)
			}
		}
	}
}
