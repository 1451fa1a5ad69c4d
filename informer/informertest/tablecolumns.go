package informertest

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// printerColumn is a column that a CustomResourceDefinition adds to the tables of
// its objects.
type printerColumn struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Format      string `json:"format"`
	Description string `json:"description"`
	Priority    int32  `json:"priority"`
	JSONPath    string `json:"jsonPath"`
}

// column is a column of a table and how its cells are made of an object.
type column struct {
	printerColumn
	cell func(object map[string]any) any
}

var (
	nameColumn = column{printerColumn{Name: "Name", Type: "string", Format: "name"}, func(o map[string]any) any { return at(o, "metadata", "name") }}
	ageColumn  = column{printerColumn{Name: "Age", Type: "string"}, func(o map[string]any) any { return age(at(o, "metadata", "creationTimestamp")) }}
)

// columnsOf returns the columns of a resource in one version: name and age, or what its definition names.
func columnsOf(res Resource, version string) []column {
	if given := res.columns[version]; len(given) > 0 {
		cols := []column{nameColumn}
		for _, c := range given {
			cols = append(cols, customColumn(c))
		}
		return cols
	}
	if res.RequireResourceVersion {
		created := printerColumn{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"]}
		return []column{nameColumn, customColumn(created)}
	}
	return []column{nameColumn, ageColumn}
}

// age is how long ago a time was, as kubectl shows it.
func age(timestamp any) any {
	text, _ := timestamp.(string)
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(when))
}
