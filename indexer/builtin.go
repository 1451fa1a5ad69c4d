package indexer

import "k8s.io/apimachinery/pkg/types"

// Names of the built-in indexes; that of a label index is followed by the key.
const (
	NamespaceIndexName   = "namespace"
	OwnerUIDIndexName    = "ownerUID"
	LabelIndexNamePrefix = "label:"
)

// NamespaceIndex finds objects by namespace. The primary structure answers it,
// so that it costs neither memory nor time, and [Snapshot.ByNamespace] works
// without it; it exists for code that takes any index.
func NamespaceIndex[T Object]() *Index[T, string] {
	return &Index[T, string]{
		name: NamespaceIndexName,
		kind: byNamespace,
		values: func(dst []string, obj T) ([]string, error) {
			return append(dst, obj.GetNamespace()), nil
		},
	}
}

// OwnerUIDIndex finds objects by the UID of each of their owner references.
func OwnerUIDIndex[T Object]() *Index[T, types.UID] {
	return &Index[T, types.UID]{
		name: OwnerUIDIndexName,
		values: func(dst []types.UID, obj T) ([]types.UID, error) {
			for _, ref := range obj.GetOwnerReferences() {
				dst = append(dst, ref.UID)
			}
			return dst, nil
		},
	}
}

// LabelIndex finds objects by the value of the label with that key; objects
// without the label are not in it. [Snapshot.Select] uses it.
func LabelIndex[T Object](key string) *Index[T, string] {
	return &Index[T, string]{
		name:   LabelIndexNamePrefix + key,
		kind:   byLabel,
		label:  key,
		single: true,
		values: func(dst []string, obj T) ([]string, error) {
			if v, ok := obj.GetLabels()[key]; ok {
				dst = append(dst, v)
			}
			return dst, nil
		},
	}
}
