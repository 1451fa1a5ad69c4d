package informertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

func nodeStatus(node map[string]any) any {
	status := "Unknown"
	for _, c := range objectsAt(node, "status", "conditions") {
		if c["type"] == "Ready" {
			status = map[bool]string{true: "Ready", false: "NotReady"}[c["status"] == "True"]
		}
	}
	if at(node, "spec", "unschedulable") == true {
		status += ",SchedulingDisabled"
	}
	return status
}

func nodeRoles(node map[string]any) any {
	roles := map[string]bool{}
	set, _ := at(node, "metadata", "labels").(map[string]any)
	for label, value := range set {
		if role, ok := strings.CutPrefix(label, "node-role.kubernetes.io/"); ok && role != "" {
			roles[role] = true
		}
		if label == "kubernetes.io/role" && value != "" {
			roles[fmt.Sprint(value)] = true
		}
	}
	return orNone(strings.Join(slices.Sorted(maps.Keys(roles)), ","))
}

func nodeAddress(kind string) func(map[string]any) any {
	return func(node map[string]any) any {
		for _, a := range objectsAt(node, "status", "addresses") {
			if a["type"] == kind {
				return a["address"]
			}
		}
		return "<none>"
	}
}

func nodeKernel(node map[string]any) any {
	kernel := or("<unknown>", "status", "nodeInfo", "kernelVersion")(node)
	if arch := stringAt(node, "status", "nodeInfo", "architecture"); arch != "" {
		return fmt.Sprintf("%v (%s)", kernel, arch)
	}
	return kernel
}
