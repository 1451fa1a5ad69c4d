package informertest

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// tableRow is one object of a table: its cells, and its metadata for clients that
// select or sort.
type tableRow struct {
	Cells  []any           `json:"cells"`
	Object json.RawMessage `json:"object"`
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
	return row, nil
}
