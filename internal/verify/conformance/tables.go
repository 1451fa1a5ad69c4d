package conformance

import (
	"net/http"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var asTable = header{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}

// columns are the names of the columns of a table.
func columns(table object) []string {
	list, _ := table["columnDefinitions"].([]any)
	var names []string
	for _, c := range list {
		names = append(names, asString(c.(object)["name"]))
	}
	return names
}

var tableTests = []test{
	{"TablesHaveTheColumnsOfTheirKind", func(a *api) {
		for path, want := range map[string][]string{
			a.pods(): {"Name", "Ready", "Status", "Restarts", "Age", "IP", "Node", "Nominated Node", "Readiness Gates"},
			a.path("/apis/apps/v1", "deployments", nil): {"Name", "Ready", "Up-to-date", "Available", "Age", "Containers", "Images", "Selector"},
			a.replicasets(): {"Name", "Desired", "Current", "Ready", "Age", "Containers", "Images", "Selector"},
			a.path("/apis/apps/v1", "statefulsets", nil): {"Name", "Ready", "Age", "Containers", "Images"},
			a.path("/apis/apps/v1", "daemonsets", nil):   {"Name", "Desired", "Current", "Ready", "Up-to-date", "Available", "Node Selector", "Age", "Containers", "Images", "Selector"},
			a.path("/api/v1", "services", nil):           {"Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "Selector"},
			a.path("/api/v1", "secrets", nil):            {"Name", "Type", "Data", "Age"},
			a.configmaps():                               {"Name", "Data", "Age"},
		} {
			assert.Equal(a, want, columns(a.expect(http.StatusOK, "GET", path, nil, asTable)), path)
		}
	}},
	{"ARowIsAnObject", func(a *api) {
		a.expect(http.StatusCreated, "POST", a.pods(), pod("p"))
		table := a.expect(http.StatusOK, "GET", a.pods("p"), nil, asTable)
		assert.Equal(a, "Table", table["kind"])
		assert.Equal(a, "meta.k8s.io/v1", table["apiVersion"])
		rows, _ := table["rows"].([]any)
		require.Len(a, rows, 1)
		cells, _ := rows[0].(object)["cells"].([]any)
		require.Len(a, cells, 9)
		assert.Equal(a, []any{"p", "0/1", "Pending"}, cells[:3])
		assert.Equal(a, []any{"<none>", "<none>", "<none>", "<none>"}, cells[5:])
		a.isPartial(rows[0].(object)["object"].(object), "p")
		a.makeConfigmap("a")
		table = a.expect(http.StatusOK, "GET", a.configmaps("?includeObject=Object&fieldSelector=metadata.name%3Da"), nil, asTable)
		rows, _ = table["rows"].([]any)
		require.Len(a, rows, 1)
		assert.Equal(a, object{"k": "v"}, value(rows[0].(object)["object"].(object), "data"))
	}},
}
