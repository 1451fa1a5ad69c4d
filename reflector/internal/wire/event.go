package wire

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/internal/object"
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
		if err == nil { // here, because a panic on this goroutine would end the process
			err = object.Check(obj)
		}
		if err != nil {
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
		return ev, statusError(status)
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
		return unmarshalJSON(into, it.raw)
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

// identity is what identifies one version of an object, read from its bytes without decoding
// it. Two questions need it: whether the sink has the object already, so that it need not be
// decoded, and which one it is if it cannot be decoded: a cache must know which object of its
// own is not up to date.
//
// Each part may be empty: an object that is broken may still have a readable name. They are
// valid as long as the bytes of the object are.
type identity struct {
	kind, namespace, name, uid, rv []byte
	// certain says that a decoder reads the same.
	certain bool
}

// failed is the error for the object, which cannot be used.
func (id identity) failed(position int, cause error) *ObjectError {
	return &ObjectError{
		Key: types.NamespacedName{Namespace: identifier(string(id.namespace)), Name: identifier(string(id.name))},
		UID: identifier(types.UID(id.uid)), ResourceVersion: identifier(string(id.rv)), Position: position, Err: cause,
	}
}

// identifyProto reads field 1, which is the metadata in all API types: its fields 1 name,
// 3 namespace, 5 uid, 6 resourceVersion. The numbers are those of ObjectMeta in
// k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto, which cannot change.
//
// Decoders merge messages that come twice, so it is not certain then. Of an object that is cut
// short, what comes before the cut is found.
func identifyProto(raw []byte) (id identity) {
	id.certain = true
	id.proto(raw, func(num int, data []byte) {
		if num != 1 {
			return
		}
		id.certain = id.certain && data != nil && id.name == nil && id.namespace == nil && id.uid == nil && id.rv == nil
		id.proto(data, func(num int, data []byte) {
			var part *[]byte
			switch num {
			case 1:
				part = &id.name
			case 3:
				part = &id.namespace
			case 5:
				part = &id.uid
			case 6:
				part = &id.rv
			default:
				return
			}
			id.certain = id.certain && data != nil
			*part = data // the last one counts
		})
	})
	return id
}

// proto calls fn for the fields of a message.
func (id *identity) proto(msg []byte, fn func(num int, data []byte)) {
	for len(msg) > 0 {
		f, rest, err := nextField(msg)
		if err != nil {
			id.certain = false
			return
		}
		fn(f.num, f.data)
		msg = rest
	}
}

// identifyJSON reads the metadata field by field, so that one of a wrong type hides only
// itself. It is not certain about a part that is not a string, has escapes, or comes twice.
func identifyJSON(raw []byte) (id identity) {
	r := identityReaders.Get().(*identityReader) //nolint:forcetypeassert // by New
	r.text = *bytes.NewBuffer(raw)
	r.dec.Reset(&r.text, textOptions)
	id.certain = true
	before := false
	err := r.object(func(name []byte) (more bool, err error) {
		switch {
		case string(name) == "kind":
			return true, id.json(&r.jsonReader, &id.kind)
		case string(name) != "metadata":
			return true, r.pass()
		}
		id.certain = id.certain && !before
		before = true
		if r.dec.PeekKind() != '{' {
			id.certain = false
			return true, r.pass()
		}
		err = r.object(func(name []byte) (bool, error) {
			switch string(name) {
			case "name":
				return true, id.json(&r.jsonReader, &id.name)
			case "namespace":
				return true, id.json(&r.jsonReader, &id.namespace)
			case "uid":
				return true, id.json(&r.jsonReader, &id.uid)
			case "resourceVersion":
				return true, id.json(&r.jsonReader, &id.rv)
			}
			return true, r.pass()
		})
		if err != nil || id.name == nil {
			return true, err
		}
		// The specification and status are most of an object, and looking for two words is
		// quicker than reading them.
		rest := raw[r.dec.InputOffset():]
		return r.dec.PeekKind() != '"' || bytes.IndexByte(rest, '\\') >= 0 || bytes.Contains(rest, []byte(`metadata"`)) || bytes.Contains(rest, []byte(`kind"`)), nil
	})
	id.certain = id.certain && err == nil
	r.text = bytes.Buffer{}
	r.dec.Reset(&r.text, textOptions) // it must not keep the bytes alive
	identityReaders.Put(r)
	return id
}

// identityReader reads one object, which it does not copy.
type identityReader struct {
	jsonReader
	text bytes.Buffer
}

// pass consumes a value, all of which is held already.
func (r *identityReader) pass() error {
	_, err := r.dec.ReadValue()
	return err
}

// identityReaders are used by all goroutines that decode.
var identityReaders = sync.Pool{New: func() any {
	return &identityReader{jsonReader: jsonReader{dec: jsontext.NewDecoder(&bytes.Buffer{})}}
}}

// json reads one part. Of a field that comes twice the last one counts, as in a decoder.
func (id *identity) json(r *jsonReader, part *[]byte) error {
	quoted, err := r.dec.ReadValue()
	if err != nil {
		return err
	}
	if quoted[0] != '"' {
		id.certain = id.certain && *part == nil && string(quoted) == "null"
		return nil
	}
	id.certain = id.certain && *part == nil && isASCII(quoted[1:len(quoted)-1])
	*part, err = unquote(quoted)
	return err
}
