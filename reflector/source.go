package reflector

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/internal/object"
)

// Object is what a collection consists of: a value with type information and
// object metadata, such as *corev1.Pod, *unstructured.Unstructured or
// *metav1.PartialObjectMetadata.
type Object = object.Object

// ListerWatcher reads one collection of an API server. [NewResource] returns
// one that speaks HTTP, [FromFuncs] one made of the two functions of a clientset, and
// [Transform] one around another.
//
// An implementation makes one request per call and never retries: pages,
// deadlines and retries are the Reflector's. Both methods must return soon
// after ctx ends. List may be called by another goroutine while a watch is open.
//
// What else a source can do it says by optional methods, which [As] finds:
//
//	String() string                      its name, for logs
//	Namespace() string                   the only namespace that it reads, "" for all
//	SupportsWatchList() bool             whether the server may know sendInitialEvents
//	InProcess() bool                     whether no server is behind it, as in a test
//	Changed() <-chan struct{}            closed to end the pause after a 404
//
// A watch of a source in the process is neither ended for its silence, nor its version
// checked.
//
// An object of another namespace than Namespace is quarantined.
type ListerWatcher[T Object] interface {
	// List makes one LIST request and calls each for the objects one by one, in the order
	// of the answer, as they are decoded: as events of type ADDED. An object that cannot
	// be decoded or transformed is one with Err set, and the next ones follow. An error
	// that each returns ends the list and is returned unchanged.
	//
	// The result holds the resourceVersion and the continue token of the page.
	List(ctx context.Context, req Request, each func(WatchEvent[T]) error) (metav1.ListMeta, error)

	// Watch starts one WATCH request. The stream ends when ctx does. If Watch
	// returns an error there is nothing to close.
	Watch(ctx context.Context, req Request) (Stream[T], error)
}

// Request is one LIST or WATCH request. The functions are optional for both sides: each
// may be nil, and a source may ignore them. They may be called from any goroutine, and
// several at once.
type Request struct {
	ListOptions metav1.ListOptions
	// Known is asked, before an object is decoded, for what the caller has of it in this
	// version. If that is not nil the object is not decoded, and it is handed over as
	// [WatchEvent].Known. The bytes are valid during the call.
	Known func(key types.NamespacedName, uid, resourceVersion []byte) any
	// Arrived is called when bytes of the answer arrive, so that one big object on a slow
	// connection is not taken for a server that stalls.
	Arrived func()
}

// Stream is a running watch, read by one goroutine.
type Stream[T Object] interface {
	// Next waits for the next event. It returns io.EOF when the server has
	// ended the watch in an orderly way, an error for which
	// [apierrors.APIStatus] holds when the server has sent an ERROR event, and
	// any other error when the connection or the encoding broke. After an
	// error every further call returns an error.
	Next() (WatchEvent[T], error)

	// Close ends the watch and frees what it holds. It may be called more than
	// once, and while another goroutine is in Next, which then returns an
	// error.
	Close() error
}

// WatchEvent is one event of a watch, as the server sent it: with the API's event
// types, and without the state before. An object of a list comes as ADDED.
type WatchEvent[T Object] struct {
	// Type is ADDED, MODIFIED, DELETED or BOOKMARK; whatever else the server
	// sent is handed over too, for the Reflector to report.
	Type watch.EventType
	// Object is the new state of the object, or the last one of a deleted
	// object. It is the zero T for bookmarks and if Known or Err is set.
	Object T
	// Known is what [Request].Known returned, in place of Object.
	Known any
	// ResourceVersion is the position in the history that the event stands
	// for. It is empty for objects of lists, and if Err is set and it could not be read.
	ResourceVersion string
	// InitialEventsEnd marks the bookmark that ends the initial events of a
	// watch that was asked to send them.
	InitialEventsEnd bool
	// Err, an *[ObjectError], says that the event's object could not be
	// decoded or transformed. The stream continues.
	Err error
}

// ObjectError says that one object could not be decoded or transformed, and
// as much of its identity as could be read.
type ObjectError struct {
	// Key is the namespace and name; the name is empty if it could not be read.
	Key types.NamespacedName
	// UID and ResourceVersion are empty if they could not be read.
	UID             types.UID
	ResourceVersion string
	// Position is the index of the object in its list or event in its stream,
	// from 0.
	Position int
	// Class is [ClassDecode] or [ClassTransform].
	Class ErrorClass
	// Err is the cause.
	Err error
}

// Error names the object by its key, or else by its position.
func (e *ObjectError) Error() string {
	return fmt.Sprintf("%s: object %s: %v", e.Class, e.name(), e.Err)
}

// name is namespace/name, the name alone of a cluster-scoped object, or else the position.
func (e *ObjectError) name() string {
	switch {
	case e.Key.Name == "":
		return fmt.Sprintf("at position %d", e.Position)
	case e.Key.Namespace == "":
		return e.Key.Name
	}
	return e.Key.String()
}

// Unwrap returns the cause.
func (e *ObjectError) Unwrap() error { return e.Err }

// As finds what a source can do: it returns the first of source, the source that its
// method Unwrap() any returns, and so on, that implements I. So a wrapper implements
// Unwrap, and an optional method only where its answer is another one.
func As[I any](source any) (found I, ok bool) {
	for ; source != nil; source = unwrap(source) {
		if found, ok = source.(I); ok {
			return found, true
		}
	}
	return found, false
}

// unwrap returns the source within a wrapper, or nil.
func unwrap(source any) any {
	if w, ok := source.(interface{ Unwrap() any }); ok {
		return w.Unwrap()
	}
	return nil
}

// validate returns what is wrong with a source or one within: what is known before the
// first request should not be retried for ever.
func validate(source any) error {
	for ; source != nil; source = unwrap(source) {
		if v, ok := source.(interface{ validate() error }); ok {
			if err := v.validate(); err != nil {
				return err
			}
		}
	}
	return nil
}

// namespaceOf is the only namespace that a source reads, or "".
func namespaceOf(lw any) string {
	if s, ok := As[interface{ Namespace() string }](lw); ok {
		return s.Namespace()
	}
	return ""
}

// sourceName is the name of a source that has one, or else its type of objects.
func sourceName[T Object](lw ListerWatcher[T]) string {
	if s, ok := As[fmt.Stringer](lw); ok {
		return s.String()
	}
	var zero T
	return fmt.Sprintf("%T", zero)
}
