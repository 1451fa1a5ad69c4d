package exercise

import (
	"maps"
	"slices"
)

// Event is a change of an object between two values; empty is none.
type Event struct{ Type, Name, Old, New string }

// Filter returns what an event means to a handler that sees only the objects whose value
// matches, and whether it means anything. An Added has no Old, a Deleted no New. (Exercise 7.1)
func Filter(match func(value string) bool, event Event) (Event, bool) {
	return event, match(event.New)
}

// CatchUp returns the events that lead a handler from what it has seen to what there is now,
// in the order of the names: for one that is so late that the log is gone. (Exercise 7.2)
func CatchUp(seen, now map[string]string) []Event {
	_ = seen
	var events []Event
	for _, name := range slices.Sorted(maps.Keys(now)) {
		events = append(events, Event{Type: "Added", Name: name, New: now[name]})
	}
	return events
}
