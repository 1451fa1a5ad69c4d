// Package checks refuses what a cluster refuses of built-in kinds: fields that are missing,
// out of bounds, or do not fit each other. What is checked stands in kinds.rules.
package checks

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

//go:embed kinds.rules
var text string

// rule is one line: a check of the values at a path.
type rule struct {
	guard string // "name=value", "name!=value", or empty
	path  []string
	check check
	args  []string
}

// check returns what is wrong with a value, nil if it is absent. The scope is where the
// path of the rule began.
type check func(v any, scope *scope, path *field.Path, args []string) field.ErrorList

// scope is the object, or the part of one, that rules are about.
type scope struct {
	object map[string]any
	pod    map[string]any // the specification of the pod around it
	claims any            // the volume claim templates of a stateful set
}

// parsed are the rules, by the name of their section. They are read when the first object
// is checked.
var (
	parsed map[string][]rule
	once   sync.Once
)

// sections returns the rules.
func sections() map[string][]rule {
	once.Do(parse)
	return parsed
}

func parse() {
	parsed = map[string][]rule{}
	known := table()
	name := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			name = strings.Trim(line, "[]")
		default:
			guard, rest, guarded := strings.Cut(line, " ? ")
			if !guarded {
				guard, rest = "", line
			}
			words := strings.Fields(rest)
			parsed[name] = append(parsed[name], rule{guard: guard, path: strings.Split(strings.TrimSuffix(words[0], "."), "."), check: known[words[1]], args: words[2:]})
		}
	}
}

// Of returns what a cluster finds wrong with an object of a kind that is written to a
// subresource, or to the object if that is "", in its order.
func Of(kind schema.GroupKind, subresource string, object map[string]any) field.ErrorList {
	name := kind.String()
	if subresource != "" {
		name += "/" + subresource
	}
	return section(name, object, scope{claims: dig(object, "spec", "volumeClaimTemplates")}, nil)
}

// section applies the rules of a section.
func section(name string, object map[string]any, around scope, path *field.Path) field.ErrorList {
	around.object = object
	if name == "#pod" {
		around.pod = object
	}
	sc := &around
	var errs field.ErrorList
	for _, r := range sections()[name] {
		if r.holds(object) {
			errs = append(errs, walk(object, r.path, path, func(v any, at *field.Path) field.ErrorList {
				return r.check(v, sc, at, r.args)
			})...)
		}
	}
	return errs
}

// holds reports whether the guard of a rule, if any, lets it apply.
func (r rule) holds(object map[string]any) bool {
	name, want, _ := strings.Cut(r.guard, "=")
	have, _ := object[strings.TrimSuffix(name, "!")].(string)
	return r.guard == "" || strings.HasSuffix(name, "!") != (have == want)
}

// walk calls visit for each value at a path.
func walk(v any, path []string, at *field.Path, visit func(any, *field.Path) field.ErrorList) field.ErrorList {
	if len(path) == 0 || path[0] == "" {
		return visit(v, at)
	}
	object, _ := v.(map[string]any)
	name, list := strings.CutSuffix(path[0], "[]")
	inner := field.NewPath(name)
	if at != nil {
		inner = at.Child(name)
	}
	if !list {
		return walk(object[name], path[1:], inner, visit)
	}
	var errs field.ErrorList
	items, _ := object[name].([]any)
	for i, item := range items {
		errs = append(errs, walk(item, path[1:], inner.Index(i), visit)...)
	}
	return errs
}

// child is a path below another one, which may be nil.
func child(path *field.Path, name string) *field.Path {
	if path == nil {
		return field.NewPath(name)
	}
	return path.Child(name)
}

// sorted are the keys of an object.
func sorted(v any) []string {
	object, _ := v.(map[string]any)
	return slices.Sorted(maps.Keys(object))
}

// dig is the value at a path of names.
func dig(v any, names ...string) any {
	for _, name := range names {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}
