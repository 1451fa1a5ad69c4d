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
	// err says why the object cannot be decoded: it is too large, or nested too deeply. Then
	// raw is what is left of it to find out which one it is.
	err error
}

// hasObject reports whether the event changes an object.
func (i *item) hasObject() bool {
	return i.typ == watch.Added || i.typ == watch.Modified || i.typ == watch.Deleted
}

// decoder turns the items of one answer into events, on any goroutine.
type decoder[T Object] struct {
	codec *codec[T]
	proto bool
	known func(key types.NamespacedName, uid, rv []byte) any
}

// event decodes an item. An object that cannot be decoded is an event with Err; the error is
// one that ends the answer.
func (d *decoder[T]) event(it item, position int) (Event[T], error) {
	ev := Event[T]{Type: it.typ}
	switch it.typ {
	case watch.Added, watch.Modified, watch.Deleted:
		if it.typ == watch.Added && d.known != nil && it.err == nil {
			if ev.Known = d.find(it); ev.Known != nil {
				return ev, nil
			}
		}
		err := it.err
		var obj T
		switch {
		case err != nil:
		case d.proto:
			obj, err = d.codec.decodeProto(it.raw, it.kind)
		default:
			obj, err = d.codec.decodeJSON(it.raw)
		}
		switch {
		case err == errInvalid: //nolint:errorlint // returned as it is
			return ev, err
		case err != nil:
			failed := d.identify(it).failed(position, err)
			ev.ResourceVersion, ev.Err = failed.ResourceVersion, failed
			return ev, nil
		}
		ev.Object, ev.ResourceVersion = obj, obj.GetResourceVersion()
		return ev, nil
	case watch.Bookmark:
		var meta metav1.PartialObjectMetadata
		if err := d.unmarshal(&meta, it); err != nil {
			return ev, fmt.Errorf("a BOOKMARK event without metadata: %w", quoteless(err))
		}
		return Bookmark[T](&meta)
	case watch.Error:
		var status metav1.Status
		if err := d.unmarshal(&status, it); err != nil {
			return ev, fmt.Errorf("an ERROR event without a Status: %w", quoteless(err))
		}
		if status.Code == 0 && status.Reason == "" && status.Message == "" {
			status.Message = "the server ended the watch with an empty error"
		}
		return ev, &apierrors.StatusError{ErrStatus: cutStatus(status)}
	default:
		// Passed on without its object; the reflector counts it.
		return ev, nil
	}
}

// unmarshal decodes what is not an object of the collection.
func (d *decoder[T]) unmarshal(into protoMessage, it item) error {
	switch {
	case it.err != nil:
		return it.err
	case d.proto:
		return unmarshalProto(into, it.raw)
	default:
		return unmarshalJSON(into, it.raw, false)
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
// doubt, or if it is of another kind, so that the check of its type reports it.
func (d *decoder[T]) find(it item) any {
	id := d.identify(it)
	// Without a name and a version there is nothing to compare. The decoder finds out
	// whether the object is broken.
	if !id.certain || len(id.name) == 0 || len(id.uid) == 0 || len(id.rv) == 0 || len(id.rv) > maxForeign {
		return nil
	}
	if d.codec.kind != "" && len(id.kind) > 0 && string(id.kind) != d.codec.kind && string(id.kind) != metadataKind {
		return nil
	}
	return d.known(types.NamespacedName{Namespace: string(id.namespace), Name: string(id.name)}, id.uid, id.rv)
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
