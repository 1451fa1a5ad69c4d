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
// one that speaks HTTP, [FromFuncs] one from the two functions of a clientset, and
// [Transform] one around another.
//
// An implementation makes one request per call and never retries: pages,
// deadlines and retries are the Reflector's. Both methods must return soon
// after ctx ends.
//
// A source with a method Served(ctx) (bool, error) is asked after a 404 whether
// the server has the resource. If it certainly has not (false, nil), the sink gets
// an empty collection, and [Health].ResourceRemoved is set. Other sources leave
// the sink as it is: a server that is starting answers 404, too.
type ListerWatcher[T Object] interface {
	// List makes one LIST request and hands over the objects one by one, in
	// the order of the answer, as they are decoded. An object that cannot be
	// decoded or transformed is handed over as an *[ObjectError] with a zero
	// obj, and the next ones follow. An error that each returns ends the list and
	// is returned unchanged.
	//
	// The result holds the resourceVersion and the continue token of the page.
	List(ctx context.Context, opts metav1.ListOptions, each func(obj T, err error) error) (metav1.ListMeta, error)

	// Watch starts one WATCH request. The stream ends when ctx does. If Watch
	// returns an error there is nothing to close.
	Watch(ctx context.Context, opts metav1.ListOptions) (Stream[T], error)
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
// types, and without the state before. The informer makes its Event from it.
type WatchEvent[T Object] struct {
	// Type is ADDED, MODIFIED, DELETED or BOOKMARK; whatever else the server
	// sent is handed over too, for the Reflector to report.
	Type watch.EventType
	// Object is the new state of the object, or the last one of a deleted
	// object. It is the zero T for bookmarks and if Err is set.
	Object T
	// ResourceVersion is the position in the history that the event stands
	// for. It is empty if Err is set and it could not be read.
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

// name is the key, or else the position.
func (e *ObjectError) name() string {
	if e.Key.Name == "" {
		return fmt.Sprintf("at position %d", e.Position)
	}
	return keyString(e.Key)
}

// Unwrap returns the cause.
func (e *ObjectError) Unwrap() error { return e.Err }

// keyString is namespace/name, or the name alone of a cluster-scoped object.
func keyString(k types.NamespacedName) string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// watchLister is what a ListerWatcher implements to say whether its server can
// be expected to know sendInitialEvents. One that does not implement it is not
// asked, unless [Options].Sync says so.
type watchLister interface{ SupportsWatchList() bool }

// validator is implemented by sources that know before the first request
// that they are unusable.
type validator interface{ validate() error }
