package informertest

import (
	"strings"
)

// volumeClaim is the cell Claim of a PersistentVolume, empty while it is not bound.
func volumeClaim(volume map[string]any) any {
	if claim, ok := at(volume, "spec", "claimRef").(map[string]any); ok {
		return stringAt(claim, "namespace") + "/" + stringAt(claim, "name")
	}
	return ""
}

// audiences are whom the tokens of a driver are for.
func audiences(driver map[string]any) any {
	if at(driver, "spec", "tokenRequests") == nil {
		return "<unset>"
	}
	var list []string
	for _, request := range objectsAt(driver, "spec", "tokenRequests") {
		list = append(list, stringAt(request, "audience"))
	}
	return strings.Join(list, ",")
}

// claimState is what became of a claim for devices.
func claimState(claim map[string]any) any {
	var states []string
	if at(claim, "metadata", "deletionTimestamp") != nil {
		states = append(states, "deleted")
	}
	if at(claim, "status", "allocation") == nil {
		if len(states) == 0 {
			states = append(states, "pending")
		}
	} else {
		states = append(states, "allocated")
		if len(objectsAt(claim, "status", "reservedFor")) > 0 {
			states = append(states, "reserved")
		}
	}
	return strings.Join(states, ",")
}
