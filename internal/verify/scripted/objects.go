package scripted

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// ConfigMaps is the collection that the lists of this package are of.
var ConfigMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

// ConfigMap is the JSON of a ConfigMap in the namespace ns. Its UID follows from
// its name, and its data from its version.
func ConfigMap(name, rv string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"ns","uid":"uid-%s","resourceVersion":%q},"data":{"rv":%q}}`, name, name, rv, rv)
}

// Bookmark is the JSON of the object of a BOOKMARK event, of the one that ends the
// initial events if end is true.
func Bookmark(rv string, end bool) string {
	annotations := ""
	if end {
		annotations = `,"annotations":{"k8s.io/initial-events-end":"true"}`
	}
	return fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":%q%s}}`, rv, annotations)
}
