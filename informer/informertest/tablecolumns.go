package informertest

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// textColumn, wideColumn and numberColumn are columns: of every table, of wide ones, of
// numbers.
func textColumn(name string, cell func(map[string]any) any) column {
	return column{printerColumn{Name: name, Type: "string"}, cell}
}

// wideColumn has priority 1, which kubectl shows with -o wide only.
func wideColumn(name string, cell func(map[string]any) any) column {
	return column{printerColumn{Name: name, Type: "string", Priority: 1}, cell}
}

func numberColumn(name string, path ...string) column {
	return column{printerColumn{Name: name, Type: "integer"}, func(o map[string]any) any { return numberAt(o, path...) }}
}

var (
	nameColumn = column{printerColumn{Name: "Name", Type: "string", Format: "name"}, func(o map[string]any) any { return at(o, "metadata", "name") }}
	ageColumn  = textColumn("Age", func(o map[string]any) any { return age(at(o, "metadata", "creationTimestamp")) })
	// Kinds without columns of their own show this one.
	createdColumn = column{printerColumn{Name: "Created At", Type: "date"}, func(o map[string]any) any { return at(o, "metadata", "creationTimestamp") }}
)

// valueOf is a cell that shows what is at a path.
func valueOf(path ...string) func(map[string]any) any {
	return func(o map[string]any) any { return orNone(at(o, path...)) }
}

// The columns that describe the containers of a template.
var (
	containerNames = func(path ...string) column {
		return wideColumn("Containers", func(o map[string]any) any { return each(at(o, path...), "name") })
	}
	images = func(path ...string) column {
		return wideColumn("Images", func(o map[string]any) any { return each(at(o, path...), "image") })
	}
	selectorColumn = wideColumn("Selector", func(o map[string]any) any { return orNone(selectorText(at(o, "spec", "selector"))) })
	template       = []string{"spec", "template", "spec", "containers"}
)

// tableColumns are the columns of the kinds that have some besides name and age,
// by the plural name and group.
var tableColumns = map[string][]column{
	"pods": {
		nameColumn, textColumn("Ready", podReady), textColumn("Status", podStatus), textColumn("Restarts", podRestarts), ageColumn,
		wideColumn("IP", valueOf("status", "podIP")), wideColumn("Node", valueOf("spec", "nodeName")),
		wideColumn("Nominated Node", valueOf("status", "nominatedNodeName")), wideColumn("Readiness Gates", readinessGates),
	},
	"deployments.apps": {
		nameColumn, textColumn("Ready", ratio("readyReplicas")), textColumn("Up-to-date", numberOf("status", "updatedReplicas")),
		textColumn("Available", numberOf("status", "availableReplicas")), ageColumn, containerNames(template...), images(template...), selectorColumn,
	},
	"replicasets.apps": {
		nameColumn, numberColumn("Desired", "spec", "replicas"), numberColumn("Current", "status", "replicas"), numberColumn("Ready", "status", "readyReplicas"),
		ageColumn, containerNames(template...), images(template...), selectorColumn,
	},
	"replicationcontrollers": {
		nameColumn, numberColumn("Desired", "spec", "replicas"), numberColumn("Current", "status", "replicas"), numberColumn("Ready", "status", "readyReplicas"),
		ageColumn, containerNames(template...), images(template...), selectorColumn,
	},
	"statefulsets.apps": {nameColumn, textColumn("Ready", ratio("readyReplicas")), ageColumn, containerNames(template...), images(template...)},
	"daemonsets.apps": {
		nameColumn, numberColumn("Desired", "status", "desiredNumberScheduled"), numberColumn("Current", "status", "currentNumberScheduled"),
		numberColumn("Ready", "status", "numberReady"), numberColumn("Up-to-date", "status", "updatedNumberScheduled"), numberColumn("Available", "status", "numberAvailable"),
		textColumn("Node Selector", func(o map[string]any) any {
			return orNone(selectorText(at(o, "spec", "template", "spec", "nodeSelector")))
		}),
		ageColumn, containerNames(template...), images(template...), selectorColumn,
	},
	"services": {
		nameColumn, textColumn("Type", valueOf("spec", "type")), textColumn("Cluster-IP", valueOf("spec", "clusterIP")), textColumn("External-IP", externalIP),
		textColumn("Port(s)", servicePorts), ageColumn, selectorColumn,
	},
	"configmaps":      {nameColumn, {printerColumn{Name: "Data", Type: "string"}, dataCount}, ageColumn},
	"secrets":         {nameColumn, textColumn("Type", valueOf("type")), {printerColumn{Name: "Data", Type: "string"}, dataCount}, ageColumn},
	"namespaces":      {nameColumn, textColumn("Status", valueOf("status", "phase")), ageColumn},
	"serviceaccounts": {nameColumn, ageColumn},
	"persistentvolumeclaims": {
		nameColumn, textColumn("Status", phase), textColumn("Volume", orEmpty("spec", "volumeName")),
		textColumn("Capacity", orEmpty("status", "capacity", "storage")), textColumn("Access Modes", accessModes("status", "accessModes")), textColumn("StorageClass", orEmpty("spec", "storageClassName")),
		textColumn("VolumeAttributesClass", func(o map[string]any) any { return unset(at(o, "spec", "volumeAttributesClassName")) }),
		ageColumn, wideColumn("VolumeMode", valueOf("spec", "volumeMode")),
	},
	"leases.coordination.k8s.io": {nameColumn, textColumn("Holder", orEmpty("spec", "holderIdentity")), ageColumn},
}

// columnsOf are the columns of a resource in one version.
func columnsOf(res Resource, version string) []column {
	for _, table := range []map[string][]column{tableColumns, clusterColumns} {
		if cols, ok := table[res.groupResource().String()]; ok {
			return cols
		}
	}
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
	return []column{nameColumn, createdColumn}
}
