package informertest

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// tableRow is one object of a table: its cells, and its metadata for clients that
// select or sort.
type tableRow struct {
	Cells      []any                      `json:"cells"`
	Conditions []metav1.TableRowCondition `json:"conditions,omitempty"`
	Object     json.RawMessage            `json:"object"`
}

// tableColumn is a column as a table states it.
type tableColumn struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Format      string `json:"format"`
	Description string `json:"description"`
	Priority    int32  `json:"priority"`
}

// tableOf is the JSON of a table of objects: what kubectl get prints.
func (vw view) tableOf(items []*version, meta metav1.ListMeta) ([]byte, error) {
	columns := columnsOf(vw.res, vw.version)
	table := struct {
		metav1.TypeMeta
		Metadata metav1.ListMeta `json:"metadata"`
		Columns  []tableColumn   `json:"columnDefinitions"`
		Rows     []tableRow      `json:"rows"`
	}{TypeMeta: vw.typeMeta(), Metadata: meta, Rows: []tableRow{}}
	for _, c := range columns {
		table.Columns = append(table.Columns, tableColumn{c.Name, c.Type, c.Format, c.Description, c.Priority})
	}
	for _, v := range items {
		row, err := vw.row(v, columns)
		if err != nil {
			return nil, err
		}
		table.Rows = append(table.Rows, row)
	}
	return json.Marshal(table)
}

// row is one object as a row.
func (vw view) row(v *version, columns []column) (tableRow, error) {
	inner := vw
	inner.table, inner.partial = false, vw.include != "Object"
	bare, err := inner.jsonOf(v)
	if err != nil {
		return tableRow{}, err
	}
	if vw.res.groupResource().String() == "daemonsets.apps" {
		bare = withoutAnnotation(bare, templateGeneration)
	}
	row := tableRow{Object: bare}
	if vw.include == "None" {
		row.Object = json.RawMessage("null")
	}
	content := map[string]any{}
	if err := utiljson.Unmarshal(v.bare, &content); err != nil {
		return row, err
	}
	for _, c := range columns {
		row.Cells = append(row.Cells, c.cell(content))
	}
	if vw.res.groupResource().String() == "pods" {
		row.Conditions = rowConditions(content)
	}
	return row, nil
}

// withoutAnnotation is an object without one of its annotations. Tables are made of
// an internal form of objects, in which some annotations are fields.
func withoutAnnotation(object []byte, name string) []byte {
	content := map[string]any{}
	if err := utiljson.Unmarshal(object, &content); err != nil {
		return object
	}
	annotations, _ := at(content, "metadata", "annotations").(map[string]any)
	delete(annotations, name)
	if len(annotations) == 0 {
		unstructured.RemoveNestedField(content, "metadata", "annotations")
	}
	out, err := json.Marshal(content)
	if err != nil {
		return object
	}
	return out
}
