package deltafifo

import (
	"github.com/informerkit/informerkit/internal/object"
	"k8s.io/apimachinery/pkg/types"
)

// Object is what the queues carry: a pointer to a Kubernetes API object, such
// as *corev1.Pod or *unstructured.Unstructured.
type Object = object.Object

// DeltaType says what happened. It is the ChangeType of packages indexer and informer,
// so Added, Updated and Deleted compare with theirs, and has three more values: a queue
// also carries what happened to no single object. The name is client-go's.
type DeltaType = object.ChangeType

// The kinds of change.
const (
	// Added: the producer reported a new object.
	Added = object.Added
	// Updated: the producer reported a new state of an object.
	Updated = object.Updated
	// Deleted: the object is gone.
	Deleted = object.Deleted
	// Replaced: the result of a list. A [DeltaFIFO] has one for each listed
	// object; a [BatchFIFO] has one for the whole list.
	Replaced = object.Replaced
	// Sync: a known object that a resync delivers again, unchanged. A BatchFIFO
	// has no resync.
	Sync = object.Sync
	// Bookmark: nothing changed up to a version. A DeltaFIFO has no place for it.
	Bookmark = object.Bookmark
)

// Delta is one change of an object, as a [DeltaFIFO] delivers it. It is a value:
// copying it copies no object. The object in it is shared with other readers and must
// not be modified.
type Delta[T Object] struct {
	// Type is Added, Updated, Deleted, Replaced or Sync.
	Type DeltaType
	// FinalStateUnknown marks a Deleted delta as a tombstone: the object
	// was deleted while nothing watched, and Object is the last state that was
	// seen, not the last state that it had.
	FinalStateUnknown bool
	// Object is the state after the change; for Deleted the last state known,
	// which is nil in a tombstone of an object that was never seen.
	Object T
	// Key is the namespace and name of the object.
	Key types.NamespacedName
	// ResourceVersion is that of the list for Replaced; otherwise it is empty, as the
	// object has its own.
	ResourceVersion string
}

// Tombstone returns the delta as a tombstone, and whether it is one.
func (d Delta[T]) Tombstone() (DeletedFinalStateUnknown[T], bool) {
	if d.Type != Deleted || !d.FinalStateUnknown {
		return DeletedFinalStateUnknown[T]{}, false
	}
	return DeletedFinalStateUnknown[T]{Key: d.Key, Object: d.Object}, true
}

// Deltas is the history of one object that a consumer has not seen yet, oldest
// first.
type Deltas[T Object] []Delta[T]

// Oldest returns the first change, or the zero Delta if there is none.
func (d Deltas[T]) Oldest() Delta[T] {
	if len(d) == 0 {
		return Delta[T]{}
	}
	return d[0]
}

// Newest returns the last change, which holds the present state, or the zero
// Delta if there is none.
func (d Deltas[T]) Newest() Delta[T] {
	if len(d) == 0 {
		return Delta[T]{}
	}
	return d[len(d)-1]
}

// DeletedFinalStateUnknown is a tombstone: an object that is known to be gone
// although its deletion was not observed.
type DeletedFinalStateUnknown[T Object] struct {
	// Key names the object; required.
	Key types.NamespacedName
	// Object is the last state that was seen. It may be stale, and nil.
	Object T
}
