package deltafifo

import (
	"github.com/informerkit/informerkit/internal/object"
	"k8s.io/apimachinery/pkg/types"
)

// Object is what the queue carries: a pointer to a Kubernetes API object, such
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
	// Replaced: the result of a list. In a batch it is one delta with the whole list;
	// [Batch.ByObject] has one for each listed object.
	Replaced = object.Replaced
	// Sync: a resync. In a batch it is one delta without an object; ByObject has one
	// for each known object, which is delivered again, unchanged.
	Sync = object.Sync
	// Bookmark: nothing changed up to a version. ByObject has no place for it.
	Bookmark = object.Bookmark
)

// Delta is one change. It is a value of three words, since a queue may have
// thousands of them: copying it copies no object. The object in it is shared with
// other readers and must not be modified.
type Delta[T Object] struct {
	Type DeltaType
	// FinalStateUnknown marks a Deleted as a tombstone: the object was deleted while
	// nothing watched, and Object is the last state that was seen, not the last
	// state that it had. Only ByObject has tombstones.
	FinalStateUnknown bool
	putBack           bool // by AddIfNotPresent: delivered even if it deletes what is not known

	// Object is the state after the change; for Deleted the last state known. It is
	// nil in what is about the whole collection: a list, a bookmark, a resync.
	Object T
	// List is set for Replaced and Bookmark only.
	List *List[T]
}

// List is the state of a whole collection, as a list or a bookmark states it.
type List[T Object] struct {
	// Objects are all objects, in the order of the list. A bookmark has none; for a
	// list, an empty collection is a valid state.
	Objects []T
	// ResourceVersion is that of the list, or of the bookmark.
	ResourceVersion string
}

// Key returns the namespace and name of the object. The delta must have one.
func (d Delta[T]) Key() types.NamespacedName { return object.KeyOf(d.Object) }

// aboutAll reports whether the delta is about the whole collection, not one object.
func (d *Delta[T]) aboutAll() bool { return object.IsNil(d.Object) }

// Deltas are changes, oldest first. From [Batch.ByObject] they are what happened to one
// object since the consumer saw it last.
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
