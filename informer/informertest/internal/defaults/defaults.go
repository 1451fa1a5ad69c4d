// Package defaults fills in the fields that a kube-apiserver fills in when a
// client leaves them out: replicas, strategies, restart policies, the protocol
// of a port.
//
// What is set stands in tables, one per kind, written from the API reference
// (the sentence "Defaults to ..." of each field). The tests of
// internal/verify/conformance compare the outcome with what a real server stores.
//
// Not here: what depends on other objects or on the object's identity, such as
// cluster IPs, node ports and the selectors of jobs.
package defaults

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Apply completes an object of a kind, in place. Fields that are absent, null
// or an empty string are set; a part of the object that has another shape than
// its kind prescribes is left alone.
func Apply(kind schema.GroupKind, object map[string]any) {
	kinds[kind].apply(object)
}

// Created completes an object that is being created, after [Apply]: with what a
// server's admission adds to a new object, and only then.
func Created(kind schema.GroupKind, object map[string]any) {
	created[kind].apply(object)
}

// object is a JSON object.
type object = map[string]any

// rules are applied in their order, so that one may build on another.
type rules []rule

// rule says what is at a path: names joined by dots, where name[] means every
// item of a list. All but the last part of the path must be there already.
//
// The value is one of
//
//	rules             what is set within each object at the path
//	edit              a function that completes each object at the path
//	func(object) any  computes the value from the object that holds the field; nil sets nothing
//	anything else     the value of the field
type rule struct {
	path  string
	value any
}

// edit completes an object.
type edit func(object)

// apply carries out the rules on an object.
func (rs rules) apply(o object) {
	for _, r := range rs {
		r.apply(o, r.path)
	}
}

// apply walks down the rest of the path, which is empty for the object itself.
func (r rule) apply(o object, path string) {
	if path == "" {
		r.at(o, "", false)
		return
	}
	name, rest, more := strings.Cut(path, ".")
	if list, ok := strings.CutSuffix(name, "[]"); ok {
		items, _ := o[list].([]any)
		for _, item := range items {
			if next, ok := item.(object); ok {
				r.at(next, rest, more)
			}
		}
		return
	}
	if !more && !r.nested() {
		r.set(o, name)
		return
	}
	if next, ok := o[name].(object); ok {
		r.at(next, rest, more)
	}
}

// at goes on within an object on the path, or has arrived there.
func (r rule) at(o object, rest string, more bool) {
	if more {
		r.apply(o, rest)
		return
	}
	switch v := r.value.(type) {
	case rules:
		v.apply(o)
	case edit:
		v(o)
	}
}

// nested reports whether the path leads to objects rather than to a field.
func (r rule) nested() bool {
	switch r.value.(type) {
	case rules, edit:
		return true
	}
	return false
}

// set writes a field that is empty.
func (r rule) set(o object, name string) {
	if have := o[name]; have != nil && have != "" {
		return
	}
	value := r.value
	if compute, ok := value.(func(object) any); ok {
		value = compute(o)
	}
	if value != nil {
		o[name] = jsonValue(value)
	}
}

// jsonValue returns a copy of a value of a table, with numbers as decoded JSON
// has them.
func jsonValue(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case object:
		out := make(object, len(v))
		for k, item := range v {
			out[k] = jsonValue(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = jsonValue(item)
		}
		return out
	}
	return runtime.DeepCopyJSONValue(v)
}

// when is a value that is set only beside a field of a certain value.
func when(field string, is any, value any) func(object) any {
	return func(o object) any {
		if o[field] == is {
			return value
		}
		return nil
	}
}

// whenPresent is a value that is set only beside another field.
func whenPresent(field string, value any) func(object) any {
	return func(o object) any {
		if o[field] != nil {
			return value
		}
		return nil
	}
}

// kind names a kind of a group.
func kind(group, name string) schema.GroupKind { return schema.GroupKind{Group: group, Kind: name} }
