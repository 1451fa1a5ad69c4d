package informertest

import (
	"bytes"
	"reflect"

	"k8s.io/client-go/util/jsonpath"
)

// customColumn is a column of a CustomResourceDefinition: what its JSON path finds
// first in an object, as a value of the column's type.
func customColumn(c printerColumn) column {
	if c.Description == "" {
		c.Description = "Custom resource definition column (in JSONPath format): " + c.JSONPath
	}
	path := jsonpath.New(c.Name).AllowMissingKeys(true)
	if err := path.Parse("{" + c.JSONPath + "}"); err != nil {
		return column{c, func(map[string]any) any { return nil }}
	}
	return column{c, func(o map[string]any) any {
		results, err := path.FindResults(o)
		if err != nil || len(results) == 0 || len(results[0]) == 0 || !results[0][0].CanInterface() {
			return nil
		}
		value := results[0][0].Interface()
		if c.Type != "string" {
			return customCell(c.Type, value)
		}
		var text bytes.Buffer
		if err := path.PrintResults(&text, []reflect.Value{reflect.ValueOf(value)}); err != nil {
			return nil
		}
		return text.String()
	}}
}

// customCell is a value of a type that is not text. Other values are not shown.
func customCell(kind string, value any) any {
	switch v := value.(type) {
	case int64:
		switch kind {
		case "integer":
			return v
		case "number":
			return float64(v)
		}
	case float64:
		switch kind {
		case "integer":
			return int64(v)
		case "number":
			return v
		}
	case bool:
		if kind == "boolean" {
			return v
		}
	case string:
		if kind == "date" {
			if shown := age(v); shown != "<unknown>" {
				return shown
			}
			return "<invalid>"
		}
	}
	return nil
}
