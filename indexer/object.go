package indexer

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/object"
)

// Object is what an [Indexer] stores: a pointer to an API type.
type Object = object.Object

// FormatKey returns a key in client-go's string form: "namespace/name", or "name" for
// a cluster-scoped object. [ParseKey] is its inverse, unless the name has a slash, which the
// API server accepts in none. (The String method of the key puts a slash before the name of a
// cluster-scoped object.)
func FormatKey(key types.NamespacedName) string {
	if key.Namespace == "" {
		return key.Name
	}
	return key.Namespace + "/" + key.Name
}

// ParseKey returns the key of which s is the string form, as [FormatKey] returns it.
// It fails if there is no name or more than one slash. It accepts a slash before the
// name of a cluster-scoped object.
func ParseKey(s string) (types.NamespacedName, error) {
	namespace, name, found := strings.Cut(s, "/")
	if !found {
		namespace, name = "", s
	}
	if name == "" || strings.Contains(name, "/") {
		return types.NamespacedName{}, fmt.Errorf("indexer: %q is not a key; expected \"namespace/name\", or \"name\" of a cluster-scoped object", s)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// identical reports whether a and b are the same pointer. Stored objects are
// immutable, so two versions of an object are never the same pointer.
//
// The comparison as interfaces compares type and pointer, and reads neither object.
func identical[T Object](a, b T) bool { return any(a) == any(b) }
