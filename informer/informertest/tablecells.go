package informertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// numberAt is a number in an object, 0 if there is none.
func numberAt(o map[string]any, path ...string) int64 {
	n, _ := at(o, path...).(int64)
	return n
}

// orNone shows that there is nothing.
func orNone(v any) any {
	if v == nil || v == "" {
		return "<none>"
	}
	return v
}

// unset shows that nothing was said.
func unset(v any) any {
	if v == nil || v == "" {
		return "<unset>"
	}
	return v
}

// orEmpty is a cell that stays empty if there is nothing at a path.
func orEmpty(path ...string) func(map[string]any) any {
	return func(o map[string]any) any {
		if v := at(o, path...); v != nil {
			return v
		}
		return ""
	}
}

// age is how long ago a time was, as kubectl shows it.
func age(timestamp any) any {
	text, _ := timestamp.(string)
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(when))
}

// eachOf is a cell with a field of all objects in the list at a path.
func eachOf(name string, path ...string) func(map[string]any) any {
	return func(o map[string]any) any { return each(at(o, path...), name) }
}

// listOf is a cell with the strings at a path.
func listOf(path ...string) func(map[string]any) any {
	return func(o map[string]any) any { return orNone(strings.Join(stringsAt(o, path...), ",")) }
}

// numberOf is a cell with the number at a path.
func numberOf(path ...string) func(map[string]any) any {
	return func(o map[string]any) any { return numberAt(o, path...) }
}

// textOf is a cell with what is at a path as text.
func textOf(otherwise string, path ...string) func(map[string]any) any {
	return func(o map[string]any) any { return fmt.Sprint(or(otherwise, path...)(o)) }
}

// each joins a field of all objects in a list.
func each(list any, name string) any {
	items, _ := list.([]any)
	var out []string
	for _, item := range items {
		if o, ok := item.(map[string]any); ok {
			out = append(out, fmt.Sprint(o[name]))
		}
	}
	return strings.Join(out, ",")
}

// dataCount is how many entries a config map or secret has.
func dataCount(o map[string]any) any {
	data, _ := o["data"].(map[string]any)
	binary, _ := o["binaryData"].(map[string]any)
	return int64(len(data) + len(binary))
}

// ratio is how many of the wanted replicas are there.
func ratio(status string) func(map[string]any) any {
	return func(o map[string]any) any {
		return fmt.Sprintf("%d/%d", numberAt(o, "status", status), numberAt(o, "spec", "replicas"))
	}
}

// readinessGates is how many of a pod's additional conditions are met.
func readinessGates(pod map[string]any) any {
	gates, _ := at(pod, "spec", "readinessGates").([]any)
	if len(gates) == 0 {
		return "<none>"
	}
	conditions, _ := at(pod, "status", "conditions").([]any)
	met := 0
	for _, gate := range gates {
		g, _ := gate.(map[string]any)
		for _, condition := range conditions {
			if c, ok := condition.(map[string]any); ok && c["type"] == g["conditionType"] && c["status"] == "True" {
				met++
			}
		}
	}
	return fmt.Sprintf("%d/%d", met, len(gates))
}

// externalIP is under which address a service is reached from outside.
func externalIP(service map[string]any) any {
	switch at(service, "spec", "type") {
	case "ExternalName":
		return orNone(at(service, "spec", "externalName"))
	case "LoadBalancer":
		if ingress, _ := at(service, "status", "loadBalancer", "ingress").([]any); len(ingress) > 0 {
			if ips := each(ingress, "ip"); ips != "<nil>" {
				return ips
			}
			return each(ingress, "hostname")
		}
		return "<pending>"
	}
	ips, _ := at(service, "spec", "externalIPs").([]any)
	return orNone(joined(ips))
}

// servicePorts is the cell Port(s) of a Service, such as 80:30080/TCP with a node port.
func servicePorts(service map[string]any) any {
	spec, _ := service["spec"].(map[string]any)
	var out []string
	for _, p := range portsOf(spec) {
		text := fmt.Sprintf("%v/%v", p["port"], p["protocol"])
		if node, _ := p["nodePort"].(int64); node != 0 {
			text = fmt.Sprintf("%v:%d/%v", p["port"], node, p["protocol"])
		}
		out = append(out, text)
	}
	return orNone(strings.Join(out, ","))
}

// accessModes abbreviates the modes of a volume or claim.
func accessModes(path ...string) func(map[string]any) any {
	return func(o map[string]any) any {
		var out []string
		for _, mode := range []struct{ name, short string }{
			{"ReadWriteOnce", "RWO"}, {"ReadOnlyMany", "ROX"}, {"ReadWriteMany", "RWX"}, {"ReadWriteOncePod", "RWOP"},
		} {
			if slices.Contains(stringsAt(o, path...), mode.name) {
				out = append(out, mode.short)
			}
		}
		return strings.Join(out, ",")
	}
}

// joined is a list in one cell.
func joined(list []any) string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = fmt.Sprint(v)
	}
	return strings.Join(out, ",")
}
