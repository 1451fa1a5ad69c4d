package exercise

import (
	"encoding/json"
	"io"
	"net/url"
)

// ReadWatch calls each for the events of a watch, until its body ends. (Exercise 2.1)
func ReadWatch(body io.Reader, each func(typ, name string)) error {
	for lines := json.NewDecoder(body); ; {
		var event struct {
			Type   string
			Object struct {
				Metadata struct{ Name string }
				Message  string
			}
		}
		if err := lines.Decode(&event); err != nil {
			return err
		}
		each(event.Type, event.Object.Metadata.Name)
	}
}

// Select returns a query that selects the objects with a label, such as "app=web", and asks
// for all that query asks for, which may be nil. (Exercise 2.2)
func Select(query url.Values, label string) url.Values {
	query.Set("label", label)
	return query
}
