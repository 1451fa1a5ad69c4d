package informertest

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// The values that cells of tables show, computed as in kube-apiserver.

// shown is how many items a cell names before it counts the rest.
const shown = 3

// firstOf joins the first items of a list, and counts the rest.
func firstOf(list []string, most int, separator string) string {
	if len(list) <= most {
		return strings.Join(list, separator)
	}
	return fmt.Sprintf("%s + %d more...", strings.Join(list[:most], separator), len(list)-most)
}

// objectsAt are the objects in the list at a path.
func objectsAt(o map[string]any, path ...string) []map[string]any {
	items, _ := at(o, path...).([]any)
	var out []map[string]any
	for _, item := range items {
		if inner, ok := item.(map[string]any); ok {
			out = append(out, inner)
		}
	}
	return out
}

// stringsAt are the strings in the list at a path.
func stringsAt(o map[string]any, path ...string) []string {
	items, _ := at(o, path...).([]any)
	var out []string
	for _, item := range items {
		out = append(out, fmt.Sprint(item))
	}
	return out
}

// stringAt is the string at a path, empty if there is none.
func stringAt(o map[string]any, path ...string) string {
	s, _ := at(o, path...).(string)
	return s
}

// conditionIs reports whether a condition in the status has a value.
func conditionIs(o map[string]any, kind, status string) bool {
	for _, c := range objectsAt(o, "status", "conditions") {
		if c["type"] == kind && c["status"] == status {
			return true
		}
	}
	return false
}

// since is how long ago the time at a path was; otherwise is shown if there is none.
func since(otherwise string, path ...string) func(map[string]any) any {
	return func(o map[string]any) any {
		if at(o, path...) == nil {
			return otherwise
		}
		return age(at(o, path...))
	}
}

// or is a cell that shows a text if there is nothing at a path.
func or(otherwise any, path ...string) func(map[string]any) any {
	return func(o map[string]any) any {
		if v := at(o, path...); v != nil && v != "" {
			return v
		}
		return otherwise
	}
}

// countOf is a cell with the number of items in the list at a path.
func countOf(path ...string) func(map[string]any) any {
	return func(o map[string]any) any {
		items, _ := at(o, path...).([]any)
		return int64(len(items))
	}
}

// labelsText shows labels, or that there are none.
func labelsText(path ...string) func(map[string]any) any {
	return func(o map[string]any) any {
		set := labels.Set{}
		members, _ := at(o, path...).(map[string]any)
		for name, value := range members {
			set[name] = fmt.Sprint(value)
		}
		return labels.FormatLabels(set)
	}
}

// structuredSelector shows a selector of pods or other objects.
func structuredSelector(path ...string) func(map[string]any) any {
	return func(o map[string]any) any {
		var selector *metav1.LabelSelector
		if content, ok := at(o, path...).(map[string]any); ok {
			selector = &metav1.LabelSelector{}
			if err := converter.FromUnstructured(content, selector); err != nil {
				return "<error>"
			}
		}
		return metav1.FormatLabelSelector(selector)
	}
}

// markedDefault is the name of a class, marked if an annotation makes it the default.
func markedDefault(annotations ...string) func(map[string]any) any {
	return func(o map[string]any) any {
		name := stringAt(o, "metadata", "name")
		for _, a := range annotations {
			if stringAt(o, "metadata", "annotations", a) == "true" {
				return name + " (default)"
			}
		}
		return name
	}
}

// truth shows something that may be true, false or not said.
func truth(path ...string) func(map[string]any) any {
	return func(o map[string]any) any {
		switch at(o, path...) {
		case true:
			return "True"
		case false:
			return "False"
		}
		return "<unset>"
	}
}

// phase is the phase of an object, unless it is being deleted.
func phase(o map[string]any) any {
	if at(o, "metadata", "deletionTimestamp") != nil {
		return "Terminating"
	}
	return orEmpty("status", "phase")(o)
}

// controllerOf is who controls an object.
func controllerOf(o map[string]any) any {
	for _, owner := range objectsAt(o, "metadata", "ownerReferences") {
		if owner["controller"] == true {
			group, _, found := strings.Cut(stringAt(owner, "apiVersion"), "/")
			kind := strings.ToLower(stringAt(owner, "kind"))
			if found {
				kind += "." + group
			}
			return kind + "/" + stringAt(owner, "name")
		}
	}
	return "<none>"
}
