package informer

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/object"
)

// Object is what an informer can cache: a pointer to a generated API type,
// *unstructured.Unstructured or *metav1.PartialObjectMetadata.
type Object = object.Object

// ChangeType says what happened to an object: [Added], [Updated] or [Deleted]. Packages
// indexer and deltafifo have the same type and constants, so their values compare. It
// prints as its name, also in JSON.
type ChangeType = object.ChangeType

const (
	// Added means: an object that the handler has not seen, or has seen deleted.
	Added = object.Added
	// Updated means: a new state of an object that the handler has seen. With the
	// origin [Resync] it is the state that was delivered last.
	Updated = object.Updated
	// Deleted means: an object that the handler has seen does not exist any more.
	Deleted = object.Deleted
)

// Origin says how the change was found, or why the event is delivered.
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
	// Resync means: nothing happened. The handler asked to get each object again
	// from time to time, from the cache; unlike a relist, it asks the server nothing.
	Resync
	// PartRemoved means: the informer has stopped reading the namespace or the range of
	// hashes that the object is in, so a [Deleted] of this origin says nothing about
	// the object, which probably still exists. It is for handlers that keep state per
	// object in the cache. [EnqueueKey] and its like ignore it: what a worker finds
	// missing from the cache it would take for deleted.
	PartRemoved
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
	case PartRemoved:
		return "PartRemoved"
	}
	return fmt.Sprintf("Origin(%d)", uint8(o))
}

// MarshalText returns the name, so that JSON and structured logs have it rather than a
// number.
func (o Origin) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Event is one step of one object, as delivered to one handler: a change, as between
// two snapshots ([indexer.Change]), and how it was found. It is not an event of a watch
// ([reflector.WatchEvent]), which knows no old state, nor an Event object of the API.
//
// The objects are shared with the cache and with every other handler: they must
// not be modified. Call their DeepCopy before changing anything.
type Event[T Object] struct {
	// Key is the namespace and name of the object.
	Key types.NamespacedName
	// Old is the state that was delivered last; nil for Added.
	Old T
	// New is the state now. For Deleted it is the final state, as the server
	// reported it with the deletion, or nil if that was not received.
	New T
	// Type is what happened.
	Type ChangeType
	// Origin is how it was found.
	Origin Origin
	// FinalStateUnknown marks a Deleted whose final state was not received: the
	// deletion was found by a relist, by catching up, or because another object has
	// taken the name. Old is all there is then, and may be stale. Client-go delivers
	// a tombstone in this case, an object of another type.
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

// Handler gets what happens to the objects of an informer. OnEvent is called
// for one event at a time, in order; it should return soon, typically after
// putting a key into a queue. A handler that takes long delays only itself; see
// [HandlerOptions].
type Handler[T Object] interface {
	OnEvent(Event[T])
}

// HandlerFunc is a function as a [Handler].
type HandlerFunc[T Object] func(Event[T])

// OnEvent calls f.
func (f HandlerFunc[T]) OnEvent(e Event[T]) { f(e) }

// unusable is the handler that a constructor returns for impossible arguments.
// AddHandler refuses it with the reason.
type unusable[T Object] struct{ err error }

// OnEvent panics: only a caller other than an informer gets here.
func (u unusable[T]) OnEvent(Event[T]) { panic(u.err) }

// checkHandlers returns why one of the handlers cannot be used, or nil. PassedTo
// is the function that got them.
func checkHandlers[T Object](passedTo string, handlers ...Handler[T]) error {
	for _, h := range handlers {
		if u, ok := h.(unusable[T]); ok {
			return u.err
		}
		if f, ok := h.(HandlerFunc[T]); h == nil || ok && f == nil {
			return fmt.Errorf("informer: %s: the handler is nil; pass a HandlerFunc, HandlerFuncs, or what EnqueueKey returns", passedTo)
		}
	}
	return nil
}
