package informertest

import "k8s.io/apimachinery/pkg/runtime/schema"

// events is the resource as which events of both groups are stored.
var events = schema.GroupResource{Resource: "events"}

// eventMembers are the members of a v1 Event that events.k8s.io/v1 calls otherwise.
// All others have the same name and meaning in both.
var eventMembers = map[string]string{
	"involvedObject":     "regarding",
	"message":            "note",
	"source":             "deprecatedSource",
	"firstTimestamp":     "deprecatedFirstTimestamp",
	"lastTimestamp":      "deprecatedLastTimestamp",
	"count":              "deprecatedCount",
	"reportingComponent": "reportingController",
}

// eventFields are the fields by which events.k8s.io/v1 selects, and what v1 calls them.
var eventFields = map[string]string{
	"reason": "reason", "type": "type",
	"regarding.kind":            "involvedObject.kind",
	"regarding.namespace":       "involvedObject.namespace",
	"regarding.name":            "involvedObject.name",
	"regarding.uid":             "involvedObject.uid",
	"regarding.apiVersion":      "involvedObject.apiVersion",
	"regarding.resourceVersion": "involvedObject.resourceVersion",
	"regarding.fieldPath":       "involvedObject.fieldPath",
	"reportingController":       "reportingComponent",
}

// eventConversion is between events.k8s.io/v1 and v1, which is stored.
var eventConversion = conversion{
	store: func(o map[string]any) {
		for stored, shown := range eventMembers {
			rename(o, shown, stored)
		}
	},
	show: func(o map[string]any) {
		for stored, shown := range eventMembers {
			rename(o, stored, shown)
		}
		// The Go type of events.k8s.io has no omitempty for these.
		for _, name := range []string{"regarding", "deprecatedSource"} {
			if o[name] == nil {
				o[name] = map[string]any{}
			}
		}
	},
}

// rename gives a member another name.
func rename(o map[string]any, from, to string) {
	if v, ok := o[from]; ok {
		delete(o, from)
		o[to] = v
	}
}

// eventsAlias describes the resource events.k8s.io/v1, which shows the events of
// the core group.
func eventsAlias(stored Resource) Resource {
	alias := stored
	alias.Group, alias.Versions, alias.storage = "events.k8s.io", []string{"v1"}, &stored
	alias.SelectableFields = nil
	for name := range eventFields {
		alias.SelectableFields = append(alias.SelectableFields, name)
	}
	return alias
}
