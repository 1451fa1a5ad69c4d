package informertest

import (
	"fmt"
	"strings"
)

// eventColumns are those of events. They come without a name, unless wide.
var eventColumns = []column{
	textColumn("Last Seen", eventLastSeen),
	textColumn("Type", orEmpty("type")),
	textColumn("Reason", orEmpty("reason")),
	textColumn("Object", eventObject),
	wideColumn("Subobject", orEmpty("involvedObject", "fieldPath")),
	wideColumn("Source", eventSource),
	textColumn("Message", func(o map[string]any) any { return strings.TrimSpace(stringAt(o, "message")) }),
	wideColumn("First Seen", eventFirstSeen),
	wideColumn("Count", eventCount),
	{printerColumn{Name: "Name", Type: "string", Format: "name", Priority: 1}, valueOf("metadata", "name")},
}

// eventFirstSeen is the cell First Seen of an Event. Events of events.k8s.io/v1 have an
// eventTime, those of the core group a firstTimestamp.
func eventFirstSeen(event map[string]any) any {
	return age(or(at(event, "eventTime"), "firstTimestamp")(event))
}

// eventLastSeen is the cell Last Seen of an Event. The time is in another field for
// each of the two ways in which events are recorded, as a series and with a count.
func eventLastSeen(event map[string]any) any {
	if last := at(event, "series", "lastObservedTime"); last != nil {
		return age(last)
	}
	if last := at(event, "lastTimestamp"); last != nil {
		return age(last)
	}
	return eventFirstSeen(event)
}

// eventCount is the cell Count of an Event: of its series if it has one, and at least
// 1.
func eventCount(event map[string]any) any {
	if _, ok := event["series"].(map[string]any); ok {
		return numberAt(event, "series", "count")
	}
	return max(1, numberAt(event, "count"))
}

// eventObject is the cell Object of an Event, as kubectl takes it for an argument.
func eventObject(event map[string]any) any {
	kind := strings.ToLower(stringAt(event, "involvedObject", "kind"))
	if name := stringAt(event, "involvedObject", "name"); name != "" {
		return kind + "/" + name
	}
	return kind
}

// eventSource is the cell Source of an Event: a component and, if known, its host or
// instance. Events of events.k8s.io/v1 have the reporting fields instead of the source.
func eventSource(event map[string]any) any {
	component := or(orEmpty("reportingComponent")(event), "source", "component")(event)
	if host := or(orEmpty("reportingInstance")(event), "source", "host")(event); host != "" {
		return fmt.Sprintf("%v, %v", component, host)
	}
	return component
}
