package deltafifo

import (
	"github.com/informerkit/informerkit/internal/object"
	"k8s.io/apimachinery/pkg/types"
)

// Object is what the queues carry: a pointer to a Kubernetes API object, such
// as *corev1.Pod or *unstructured.Unstructured.
type Object = object.Object

// DeltaType says what happened.
type DeltaType string

// The kinds of change. Which face produces which is said on each.
const (
	// Added: the producer reported a new object. Both faces.
	Added DeltaType = "Added"
	// Updated: the producer reported a new state of an object. Both faces.
	Updated DeltaType = "Updated"
	// Deleted: the object is gone. Both faces.
	Deleted DeltaType = "Deleted"
	// Replaced: the result of a list. In the batch face one delta states the
	// whole collection, in Objects; in the classic face there is one delta for
	// each listed object, in Object.
	Replaced DeltaType = "Replaced"
	// Sync: a known object handed over again by a resync, without news. Only
	// the classic face.
	Sync DeltaType = "Sync"
	// Bookmark: nothing changed up to ResourceVersion. Only the batch face.
	Bookmark DeltaType = "Bookmark"
)

// Delta is one change. It is a value: copying it copies no object. The objects
// in it are shared with whoever else received them and must not be modified.
type Delta[T Object] struct {
	// Type says which of the fields below are set.
	Type DeltaType
	// Object is the state after the change; for Deleted the last state known,
	// which is nil in a tombstone of an object that nobody has seen. It is not
	// set for Bookmark, nor for Replaced in the batch face.
	Object T
	// Objects is the whole collection, in the order of the list; only for
	// Replaced in the batch face. An empty collection is a valid state.
	Objects []T
	// Key is the namespace and name of Object. It is the zero value where one
	// object is not what the delta is about: for Bookmark, and for Replaced in
	// the batch face.
	Key types.NamespacedName
	// ResourceVersion is that of the list for Replaced, and that of the
	// bookmark for Bookmark; otherwise it is empty, as the object has its own.
	ResourceVersion string
	// FinalStateUnknown marks a Deleted delta as a tombstone: the object
	// vanished while nobody watched, and Object is the last state that was
	// seen, not the last state that it had.
	FinalStateUnknown bool
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
