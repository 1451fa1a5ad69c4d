package indexer

import "k8s.io/apimachinery/pkg/types"

// Names of the built-in indexes; that of a label index is followed by the key.
const (
	ownerUIDIndexName    = "ownerUID"
	labelIndexNamePrefix = "label:"
)

// OwnerUIDIndex finds objects by the UID of each of their owner references.
func OwnerUIDIndex[T Object]() *Index[T, types.UID] {
	return &Index[T, types.UID]{
		name: ownerUIDIndexName,
		kind: byOwner,
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
		name:   labelIndexNamePrefix + key,
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
