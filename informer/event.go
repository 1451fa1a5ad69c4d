package informer

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/object"
)

// Object is what an informer can cache: a pointer to a generated API type,
// *unstructured.Unstructured or *metav1.PartialObjectMetadata.
type Object = object.Object

// EventType says what happened to an object, from the point of view of the
// handler that is told.
type EventType uint8

const (
	// Added means: an object that the handler has not been told of, or was told
	// is gone.
	Added EventType = iota + 1
	// Updated means: a new state of an object that the handler knows. With the origin
	// [Resync] it is the state it knows already.
	Updated
	// Deleted means: an object that the handler knows is gone.
	Deleted
)

// String returns "Added", "Updated" or "Deleted".
func (t EventType) String() string {
	switch t {
	case Added:
		return "Added"
	case Updated:
		return "Updated"
	case Deleted:
		return "Deleted"
	}
	return "EventType(0)"
}

// Origin says how the informer came to know, or why it tells.
type Origin uint8

const (
	// Watch means: the server reported this very change.
	Watch Origin = iota + 1
	// InitialList means: the object existed when the handler joined, or when the
	// informer listed for the first time.
	InitialList
	// Relist means: found by comparing the cache with a later list, after a watch
	// could not be resumed.
	Relist
	// CatchUp means: the handler was too slow and beyond its bound; the event stands
	// for everything that happened to the object in the meantime.
	CatchUp
	// Resync means: nothing happened; the handler asked to be told of each object
	// again from time to time.
	Resync
)

// String returns the name of the constant.
func (o Origin) String() string {
	switch o {
	case Watch:
		return "Watch"
	case InitialList:
		return "InitialList"
	case Relist:
		return "Relist"
	case CatchUp:
		return "CatchUp"
	case Resync:
		return "Resync"
	}
	return "Origin(0)"
}

// Event is one step of one object, as told to one handler.
//
// The objects are shared with the cache and with every other handler: they must
// not be modified. Call their DeepCopy before changing anything.
type Event[T Object] struct {
	// Key is the namespace and name of the object.
	Key types.NamespacedName
	// Old is the state that the handler was told last; nil for Added.
	Old T
	// New is the state now. For Deleted it is the final state, as the server
	// reported it with the deletion, or nil if nobody saw that.
	New T
	// Type is what happened.
	Type EventType
	// Origin is how it was found out.
	Origin Origin
	// FinalStateUnknown marks a Deleted whose final state was not seen, because
	// the deletion was found by a relist, by catching up, or by another object
	// having taken the name. Old is all there is then, and may be stale.
	FinalStateUnknown bool
}

// Object returns the latest state that the event has: New, or Old where New is
// nil. It is never nil.
func (e Event[T]) Object() T {
	if object.IsNil(e.New) {
		return e.Old
	}
	return e.New
}
