package wire

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Request is one LIST or WATCH request.
type Request struct {
	metav1.ListOptions
	// Known returns what is handed over in place of an object, which is then not decoded, or
	// nil to have it decoded. It is asked about the objects of a list and the initial events
	// of a watch, on several goroutines at once; uid and rv are valid during the call only.
	// Nil knows nothing.
	Known func(key types.NamespacedName, uid, rv []byte) any
	// Arrived, if not nil, is called when bytes of the answer have arrived, from any
	// goroutine, so that a big object on a slow connection is not taken for a stall.
	Arrived func()
	// Sent, if not nil, is called for each HTTP request beyond the first one, from any
	// goroutine: net/http follows a redirect, and repeats a GET when the connection that it
	// had kept turns out to be closed.
	Sent func()
}

// Event is one event of a watch, or one object of a list, as an ADDED event.
//
// An event whose object could not be decoded is still an event: its type and version are
// known, and the reflector needs both to keep its position.
type Event[T Object] struct {
	Type             watch.EventType
	Object           T   // zero for bookmarks, and if Known or Err is set
	Known            any // what Request.Known has returned
	ResourceVersion  string
	InitialEventsEnd bool  // the bookmark that ends the initial events
	Err              error // an *ObjectError: Object could not be decoded
}

// item is what an answer is split into: the object of one event, which is not decoded yet.
type item struct {
	typ watch.EventType // ADDED in a list
	// kind is what an envelope of protobuf says about the object.
	kind typeMeta
	raw  []byte // valid until the next one is read
}

// hasObject reports whether the event changes an object.
func (i *item) hasObject() bool {
	return i.typ == watch.Added || i.typ == watch.Modified || i.typ == watch.Deleted
}

// decoder turns the items of one answer into events, on any goroutine.
type decoder[T Object] struct {
	codec *codec[T]
	proto bool
	want  *expectation
	known func(key types.NamespacedName, uid, rv []byte) any
}

// event decodes an item. An object that cannot be decoded is an event with Err; the error is
// one that ends the answer.
func (d *decoder[T]) event(it item, position int) (Event[T], error) {
	switch it.typ {
	case watch.Added, watch.Modified, watch.Deleted:
		ev := Event[T]{Type: it.typ}
		if it.typ == watch.Added && d.known != nil {
			if ev.Known = d.find(it); ev.Known != nil {
				return ev, nil
			}
		}
		obj, err := d.codec.decode(it, d.proto, d.want)
		if err != nil {
			failed := d.identify(it).failed(position, err)
			ev.ResourceVersion, ev.Err = failed.ResourceVersion, failed
			return ev, nil
		}
		ev.Object, ev.ResourceVersion = obj, obj.GetResourceVersion()
		return ev, nil
	case watch.Bookmark:
		var meta metav1.PartialObjectMetadata
		if err := d.unmarshal(&meta, it.raw); err != nil {
			return Event[T]{}, fmt.Errorf("a BOOKMARK event without metadata: %w", quoteless(err))
		}
		return Bookmark[T](&meta)
	case watch.Error:
		var status metav1.Status
		if err := d.unmarshal(&status, it.raw); err != nil {
			return Event[T]{}, fmt.Errorf("an ERROR event without a Status: %w", quoteless(err))
		}
		if status.Code == 0 && status.Reason == "" && status.Message == "" {
			status.Message = "the server ended the watch with an empty error"
		}
		return Event[T]{}, &apierrors.StatusError{ErrStatus: cutStatus(status)}
	default:
		// Passed on without its object; the reflector counts it.
		return Event[T]{Type: it.typ}, nil
	}
}

// unmarshal decodes what is not an object of the collection.
func (d *decoder[T]) unmarshal(into protoMessage, raw []byte) error {
	switch {
	case d.proto:
		return unmarshalProto(into, raw)
	case tooDeep(raw):
		return errTooDeep
	default:
		return unmarshalJSON(into, raw, false)
	}
}

// identify reads what identifies the object of an item.
func (d *decoder[T]) identify(it item) identity {
	if d.proto {
		id := identifyProto(it.raw)
		id.kind = []byte(it.kind.kind)
		return id
	}
	return identifyJSON(it.raw)
}

// find asks whether an object need not be decoded. It must be decoded if its identity is in
// doubt or it is of another kind than the others.
func (d *decoder[T]) find(it item) any {
	id := d.identify(it)
	// Without a name and a version there is nothing to compare. The decoder finds out
	// whether the object is broken.
	if !id.certain || len(id.name) == 0 || len(id.uid) == 0 || len(id.rv) == 0 || len(id.rv) > maxForeign {
		return nil
	}
	// An object of another kind may have the same name as a cached one. It is decoded, so
	// that the check of its type reports it.
	kind, hasKind := string(id.kind), len(id.kind) > 0 && string(id.kind) != "PartialObjectMetadata"
	if want := d.want.kind.Load(); want != nil && hasKind && kind != *want {
		return nil
	}
	known := d.known(types.NamespacedName{Namespace: string(id.namespace), Name: string(id.name)}, id.uid, id.rv)
	if known != nil && hasKind {
		// A list of which nothing is decoded must still learn its kind, for the watch that
		// follows.
		d.want.learn(kind)
	}
	return known
}

// Bookmark returns the event of a BOOKMARK with the given metadata.
func Bookmark[T Object](meta metav1.Object) (Event[T], error) {
	if err := CheckVersion(meta.GetResourceVersion()); err != nil {
		return Event[T]{}, fmt.Errorf("a BOOKMARK event with %w", err)
	}
	return Event[T]{
		Type:            watch.Bookmark,
		ResourceVersion: meta.GetResourceVersion(),
		// kube-apiserver marks the end of the initial events by this annotation
		// (KEP-3157).
		InitialEventsEnd: meta.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true",
	}, nil
}

// eventType returns the constant for the frequent types, without an allocation, and
// a bounded copy of any other.
func eventType(name []byte) watch.EventType {
	// The conversion in the comparison does not allocate, and the constant is returned,
	// so that thousands of events share one string.
	for _, t := range [...]watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark} {
		if string(name) == string(t) {
			return t
		}
	}
	return Cut(watch.EventType(name[:min(len(name), 2*maxForeign)]))
}
