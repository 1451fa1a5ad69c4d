package informertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// roleOf is the role that a binding gives.
func roleOf(binding map[string]any) any {
	return stringAt(binding, "roleRef", "kind") + "/" + stringAt(binding, "roleRef", "name")
}

// subjects are the ones of a kind that a binding gives a role to.
func subjects(kind string) func(map[string]any) any {
	return func(binding map[string]any) any {
		var list []string
		for _, s := range objectsAt(binding, "subjects") {
			if s["kind"] != kind {
				continue
			}
			name := stringAt(s, "name")
			if namespace := stringAt(s, "namespace"); namespace != "" {
				name = namespace + "/" + name
			}
			list = append(list, name)
		}
		return strings.Join(list, ", ")
	}
}

// requestState is how far a certificate signing request has come.
func requestState(csr map[string]any) any {
	has := map[any]bool{}
	for _, c := range objectsAt(csr, "status", "conditions") {
		has[c["type"]] = true
	}
	state := "Pending"
	switch {
	case has["Denied"]:
		state = "Denied"
	case has["Approved"]:
		state = "Approved"
	}
	if has["Failed"] {
		state += ",Failed"
	}
	if stringAt(csr, "status", "certificate") != "" {
		state += ",Issued"
	}
	return state
}

// requestedDuration is how long a certificate is wanted for.
func requestedDuration(csr map[string]any) any {
	if seconds, ok := at(csr, "spec", "expirationSeconds").(int64); ok {
		return duration.HumanDuration(time.Duration(seconds) * time.Second)
	}
	return "<none>"
}

// quotas are the used and the allowed amounts of a quota: those of limits, or the others.
func quotas(ofLimits bool) func(map[string]any) any {
	return func(quota map[string]any) any {
		hard, _ := at(quota, "status", "hard").(map[string]any)
		var list []string
		for _, name := range slices.Sorted(maps.Keys(hard)) {
			if strings.HasPrefix(name, "limits.") == ofLimits {
				list = append(list, fmt.Sprintf("%s: %v/%v", name, or("0", "status", "used", name)(quota), hard[name]))
			}
		}
		return strings.Join(list, ", ")
	}
}

// parameterKind is the cell ParamKind of an admission policy.
func parameterKind(policy map[string]any) any {
	if kind, ok := at(policy, "spec", "paramKind").(map[string]any); ok {
		return stringAt(kind, "apiVersion") + "/" + stringAt(kind, "kind")
	}
	return "<unset>"
}

// parameterOf is the cell ParamRef of a binding: the object with the parameters, or the
// selector of several. Without a namespace it may be in any, so that is shown as *.
func parameterOf(binding map[string]any) any {
	if name := stringAt(binding, "spec", "paramRef", "name"); name != "" {
		return fmt.Sprintf("%v/%s", or("*", "spec", "paramRef", "namespace")(binding), name)
	}
	if at(binding, "spec", "paramRef", "selector") != nil {
		return structuredSelector("spec", "paramRef", "selector")(binding)
	}
	return "<unset>"
}

// missingLevel is the cell MissingPL of a FlowSchema: whether the priority level that
// it names does not exist.
func missingLevel(schema map[string]any) any {
	for _, c := range objectsAt(schema, "status", "conditions") {
		if c["type"] == "Dangling" {
			return c["status"]
		}
	}
	return "?"
}

// scaleTarget is the object that an autoscaler scales, in a cell.
func scaleTarget(scaler map[string]any) any {
	return stringAt(scaler, "spec", "scaleTargetRef", "kind") + "/" + stringAt(scaler, "spec", "scaleTargetRef", "name")
}
