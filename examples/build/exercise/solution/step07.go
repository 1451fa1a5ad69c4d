package solution

import (
	"maps"
	"slices"
)

// Event is a change of an object between two values; empty is none.
type Event struct{ Type, Name, Old, New string }

// Filter returns what an event means to a handler that sees only the objects whose value
// matches, and whether it means anything. An Added has no Old, a Deleted no New. (Exercise 7.1)
func Filter(match func(value string) bool, event Event) (Event, bool) {
	was, is := event.Old != "" && match(event.Old), event.New != "" && match(event.New)
	switch {
	case was && is:
		return event, true
	case is:
		return Event{Type: "Added", Name: event.Name, New: event.New}, true
	case was:
		return Event{Type: "Deleted", Name: event.Name, Old: event.Old}, true
	}
	return Event{}, false
}

// CatchUp returns the events that lead a handler from what it has seen to what there is now,
// in the order of the names: for one that is so late that the log is gone. (Exercise 7.2)
func CatchUp(seen, now map[string]string) []Event {
	names := maps.Clone(seen)
	maps.Copy(names, now)
	var events []Event
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, had := seen[name]
		is, has := now[name]
		switch {
		case !had:
			events = append(events, Event{Type: "Added", Name: name, New: is})
		case !has:
			events = append(events, Event{Type: "Deleted", Name: name, Old: was})
		case was != is:
			events = append(events, Event{Type: "Updated", Name: name, Old: was, New: is})
		}
	}
	return events
}
