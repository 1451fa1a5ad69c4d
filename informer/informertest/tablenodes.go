package informertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// nodeStatus is the cell Status of a Node: the condition Ready, and whether it is
// cordoned.
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

// nodeRoles is the cell Roles of a Node, from the two labels that have named roles.
// They are sorted, since labels have no order.
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

// nodeAddress returns the cell of a kind of address, such as InternalIP: the first one.
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

// nodeKernel is the cell Kernel-Version of a Node, with the architecture where it is
// known.
func nodeKernel(node map[string]any) any {
	kernel := or("<unknown>", "status", "nodeInfo", "kernelVersion")(node)
	if arch := stringAt(node, "status", "nodeInfo", "architecture"); arch != "" {
		return fmt.Sprintf("%v (%s)", kernel, arch)
	}
	return kernel
}
