package informertest

import (
	"fmt"
	"strings"
)

// scalerMetrics are the present and the wanted values of an autoscaler's metrics.
func scalerMetrics(scaler map[string]any) any {
	specs, current := objectsAt(scaler, "spec", "metrics"), objectsAt(scaler, "status", "currentMetrics")
	if len(specs) == 0 {
		return "<none>"
	}
	var list []string
	for i, spec := range specs {
		var status map[string]any
		if i < len(current) {
			status = current[i]
		}
		list = append(list, scalerMetric(spec, status))
	}
	return firstOf(list, 2, ", ")
}

// scalerMetric is one of them. A metric keeps its values under its type's name.
func scalerMetric(spec, status map[string]any) string {
	kind := stringAt(spec, "type")
	if kind == "" {
		return "<unknown type>"
	}
	member := strings.ToLower(kind[:1]) + kind[1:]
	target := func(name string) any { return at(spec, member, "target", name) }
	present := func(name string) any { return or("<unknown>", member, "current", name)(status) }
	average := target("averageValue") != nil
	switch kind {
	case "Resource", "ContainerResource":
		name := stringAt(spec, member, "name")
		if average {
			return fmt.Sprintf("%s: %v/%v", name, present("averageValue"), target("averageValue"))
		}
		return fmt.Sprintf("%s: %s/%s", name, percent(present("averageUtilization")), percent(or("<auto>", member, "target", "averageUtilization")(spec)))
	case "Pods":
		return fmt.Sprintf("%v/%v", present("averageValue"), target("averageValue"))
	}
	if average {
		return fmt.Sprintf("%v/%v (avg)", present("averageValue"), target("averageValue"))
	}
	return fmt.Sprintf("%v/%v", present("value"), target("value"))
}

// percent shows a number as a share, and a word as it is.
func percent(v any) string {
	if n, ok := v.(int64); ok {
		return fmt.Sprintf("%d%%", n)
	}
	return fmt.Sprint(v)
}
