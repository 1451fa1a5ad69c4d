package solution

import (
	"encoding/json"
	"errors"
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
		switch event.Type {
		case "ADDED", "MODIFIED", "DELETED":
			each(event.Type, event.Object.Metadata.Name)
		case "ERROR":
			return errors.New(event.Object.Message)
		}
	}
}

// Select returns a query that selects the objects with a label, such as "app=web", and asks
// for all that query asks for, which may be nil. (Exercise 2.2)
func Select(query url.Values, label string) url.Values {
	selecting := url.Values{"labelSelector": {label}}
	for name, values := range query {
		selecting[name] = values
	}
	return selecting
}
