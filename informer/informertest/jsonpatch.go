package informertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// maxPatchOperations is how long a JSON patch may be, as in the API server.
const maxPatchOperations = 10_000

// patchOperation is one operation of a JSON patch (RFC 6902).
type patchOperation struct {
	Op    string          `json:"op"`
	Path  *string         `json:"path"`
	From  *string         `json:"from"`
	Value json.RawMessage `json:"value"`
}

// applyPatch carries out the operations in order on a document that it owns,
// and returns the document they leave. It stops at the first that fails.
func applyPatch(doc any, ops []patchOperation) (any, error) {
	for i, op := range ops {
		next, err := op.apply(doc)
		if err != nil {
			return nil, fmt.Errorf("operation %d (%s): %w", i, op.Op, err)
		}
		doc = next
	}
	return doc, nil
}

// apply carries out one operation.
func (op patchOperation) apply(doc any) (any, error) {
	if op.Path == nil {
		return nil, errors.New("path is missing")
	}
	path, err := parsePointer(*op.Path)
	if err != nil {
		return nil, err
	}
	switch op.Op {
	case "add", "replace", "test":
		value, err := op.value()
		if err != nil {
			return nil, err
		}
		if op.Op == "add" {
			return editAt(doc, path, adder(value))
		}
		have, err := valueAt(doc, path)
		if err != nil {
			return nil, err
		}
		if op.Op == "test" {
			if !sameJSON(have, value) {
				return nil, fmt.Errorf("testing value %s failed", *op.Path)
			}
			return doc, nil
		}
		return editAt(doc, path, replacer(value))
	case "remove":
		return editAt(doc, path, remover)
	case "move", "copy":
		if op.From == nil {
			return nil, errors.New("from is missing")
		}
		from, err := parsePointer(*op.From)
		if err != nil {
			return nil, err
		}
		return relocate(doc, from, path, op.Op == "move")
	}
	return nil, errors.New("unknown operation")
}

// value decodes the operand; numbers become int64 or float64 as everywhere.
func (op patchOperation) value() (any, error) {
	if op.Value == nil {
		return nil, errors.New("value is missing")
	}
	if bytes.Equal(bytes.TrimSpace(op.Value), []byte("null")) {
		return nil, nil
	}
	var v any
	if err := utiljson.Unmarshal(op.Value, &v); err != nil {
		return nil, err
	}
	return v, nil
}

// relocate copies or moves a value.
func relocate(doc any, from, to []string, move bool) (any, error) {
	value, err := valueAt(doc, from)
	if err != nil {
		return nil, err
	}
	if !move {
		return editAt(doc, to, adder(runtime.DeepCopyJSONValue(value)))
	}
	if len(to) > len(from) && slices.Equal(from, to[:len(from)]) {
		return nil, errors.New("a value cannot be moved into itself")
	}
	if doc, err = editAt(doc, from, remover); err != nil {
		return nil, err
	}
	return editAt(doc, to, adder(value))
}

// parsePointer splits a JSON pointer (RFC 6901). The empty pointer names the
// whole document.
func parsePointer(s string) ([]string, error) {
	if s == "" {
		return nil, nil
	}
	if s[0] != '/' {
		return nil, fmt.Errorf("path %q does not begin with a slash", s)
	}
	parts := strings.Split(s[1:], "/")
	for i, p := range parts {
		for j := 0; j < len(p); j++ {
			if p[j] == '~' && (j+1 == len(p) || p[j+1] != '0' && p[j+1] != '1') {
				return nil, fmt.Errorf("path %q holds a ~ that escapes nothing", s)
			}
		}
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(p)
	}
	return parts, nil
}

// valueAt finds the value that a path names.
func valueAt(doc any, path []string) (any, error) {
	for _, name := range path {
		switch node := doc.(type) {
		case map[string]any:
			v, ok := node[name]
			if !ok {
				return nil, fmt.Errorf("there is no member %q", name)
			}
			doc = v
		case []any:
			i, err := parseIndex(name, len(node)-1)
			if err != nil {
				return nil, err
			}
			doc = node[i]
		default:
			return nil, fmt.Errorf("%q leads into a value that has no members", name)
		}
	}
	return doc, nil
}

// edit changes a container at a member and returns the container, which is
// another one if it is a list that grew or shrank.
type edit func(container any, name string) (any, error)

// editAt edits the container that holds the value at a path, and returns the
// document. An empty path stands for the document itself.
func editAt(doc any, path []string, change edit) (any, error) {
	if len(path) == 0 {
		root, err := change(map[string]any{"": doc}, "")
		if err != nil {
			return nil, err
		}
		return root.(map[string]any)[""], nil // the edits return the kind of container they are given
	}
	parent, name := path[:len(path)-1], path[len(path)-1]
	container, err := valueAt(doc, parent)
	if err != nil {
		return nil, err
	}
	changed, err := change(container, name)
	if err != nil {
		return nil, err
	}
	if _, list := container.([]any); !list {
		return doc, nil
	}
	return editAt(doc, parent, replacer(changed))
}

// adder inserts into a list, or sets a member.
func adder(value any) edit {
	return func(container any, name string) (any, error) {
		switch node := container.(type) {
		case map[string]any:
			node[name] = value
			return node, nil
		case []any:
			if name == "-" {
				return append(node, value), nil
			}
			i, err := parseIndex(name, len(node))
			if err != nil {
				return nil, err
			}
			return slices.Insert(node, i, value), nil
		}
		return nil, fmt.Errorf("%q cannot be added to a value that has no members", name)
	}
}

// replacer sets a member that exists.
func replacer(value any) edit {
	return func(container any, name string) (any, error) {
		switch node := container.(type) {
		case map[string]any:
			node[name] = value
		case []any:
			i, err := parseIndex(name, len(node)-1)
			if err != nil {
				return nil, err
			}
			node[i] = value
		}
		return container, nil
	}
}

// remover deletes a member that exists.
func remover(container any, name string) (any, error) {
	if _, err := valueAt(container, []string{name}); err != nil {
		return nil, err
	}
	if list, ok := container.([]any); ok {
		i, err := parseIndex(name, len(list)-1)
		if err != nil {
			return nil, err
		}
		return slices.Delete(list, i, i+1), nil
	}
	delete(container.(map[string]any), name) // valueAt found it in there
	return container, nil
}

// parseIndex reads a list index: digits without leading zeros, up to highest.
func parseIndex(s string, highest int) (int, error) {
	i, err := strconv.Atoi(s)
	if err != nil || strconv.Itoa(i) != s || i < 0 {
		return 0, fmt.Errorf("%q is not an index", s)
	}
	if i > highest {
		return 0, fmt.Errorf("index %d is out of bounds", i)
	}
	return i, nil
}

// sameJSON compares values; integers equal floats of the same value.
func sameJSON(a, b any) bool {
	if x, ok := number(a); ok {
		y, ok := number(b)
		return ok && x == y
	}
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			if w, ok := b[k]; !ok || !sameJSON(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameJSON)
	}
	return reflect.DeepEqual(a, b)
}

// number returns a JSON number as a float64, since the operation test compares numbers
// by value: 1 equals 1.0 (RFC 6902, section 4.6).
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
