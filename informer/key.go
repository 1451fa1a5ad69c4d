package informer

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// FormatKey returns the string form of a key that client-go and kubectl use:
// "namespace/name", or "name" for a cluster-scoped object. (The String method of
// the key returns "/name" for those.)
func FormatKey(key types.NamespacedName) string {
	if key.Namespace == "" {
		return key.Name
	}
	return key.Namespace + "/" + key.Name
}

// ParseKey is the inverse of [FormatKey].
func ParseKey(s string) (types.NamespacedName, error) {
	namespace, name, namespaced := strings.Cut(s, "/")
	if !namespaced {
		namespace, name = "", s
	}
	if name == "" || namespaced && namespace == "" || strings.Contains(name, "/") {
		return types.NamespacedName{}, fmt.Errorf("informer: %q is not a key; it has the form namespace/name, or name for a cluster-scoped object", s)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}
