package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// frames splits a watch response body into frames.
//
// split belongs to one goroutine, the reader of the body. open and identify take the
// frame as an argument instead of reading the stream, so that several frames can be
// decoded at once.
type frames[T Object] interface {
	// split returns the next frame, which is valid until the next call.
	split() ([]byte, error)
	// typeOf returns the type of the event in a frame, or "" if that is not
	// easily seen.
	typeOf(frame []byte) watch.EventType
	// open decodes the event in a frame, on any goroutine. With an *ObjectError
	// comes an event that says what is known. Any other error ends the stream.
	open(frame []byte, position int) (Event[T], error)
	// identify reads the identity of the object in an ADDED event without decoding
	// it, on any goroutine. ok is false for other events, and if there is any doubt.
	identify(frame []byte) (id rawIdentity, ok bool)
	// tooDeep reports whether the frame that split has returned last must not be
	// opened, because it is nested too deeply, but refused.
	tooDeep() bool
	// refuse returns what can be read of a frame that is too deep.
	refuse(frame []byte, position int) (Event[T], error)
}

// jsonFrames are objects of the form {"type": …, "object": …}.
//
// kube-apiserver sends one WatchEvent of meta/v1 after another, without an enclosing
// array.
type jsonFrames[T Object] struct {
	*lexer
	codec *codec[T]
	want  *expectation
}

// newJSONFrames reads frames from body, each of at most the codec's limit of bytes.
func newJSONFrames[T Object](body io.Reader, c *codec[T], want *expectation) *jsonFrames[T] {
	l := newLexer(body)
	l.limit = c.limit
	return &jsonFrames[T]{l, c, want}
}

// split finds the end of the frame by its braces. Frames need no separator; that
// kube-apiserver writes a line break behind each is nothing to rely on.
func (f *jsonFrames[T]) split() ([]byte, error) { return f.value() }

// typeOf looks only at frames of the usual form.
func (f *jsonFrames[T]) typeOf(frame []byte) watch.EventType {
	typ, _, _ := cutFrame(frame)
	return typ
}

// identify is for ADDED events alone, which is what initial events are. Those of a
// MODIFIED or DELETED event are about to change the cache, so they are decoded.
func (f *jsonFrames[T]) identify(frame []byte) (id rawIdentity, ok bool) {
	typ, object, ok := cutFrame(frame)
	if !ok || typ != watch.Added {
		return id, false
	}
	return rawIdentityJSON(object)
}

// tooDeep is known as soon as split has counted the brackets.
func (f *jsonFrames[T]) tooDeep() bool { return f.deep }

// refuse reads the type and the identity without recursion. An object that is too deep
// is one object that cannot be read; any other event that is too deep ends the stream,
// since its meaning is unknown.
func (f *jsonFrames[T]) refuse(frame []byte, position int) (Event[T], error) {
	typ, object, err := splitFrame(frame)
	switch {
	case err != nil:
		return Event[T]{}, err
	case typ != watch.Added && typ != watch.Modified && typ != watch.Deleted:
		return Event[T]{}, errTooDeep
	}
	return Event[T]{Type: typ}, objectError(identifyJSON(object), position, errTooDeep)
}

// open is quick with frames as API servers write them, and careful with what
// does not turn out to be one.
func (f *jsonFrames[T]) open(frame []byte, position int) (Event[T], error) {
	if typ, object, ok := cutFrame(frame); ok {
		// An error proves nothing yet: if fields follow the object, cutFrame returned
		// too many bytes. The slow way decides, and its error is the one that counts.
		if ev, err := f.event(typ, object, position); err == nil {
			return ev, nil
		}
	}
	typ, object, err := splitFrame(frame)
	if err != nil {
		return Event[T]{}, err
	}
	return f.event(typ, object, position)
}

// event decodes the object of an event by the type of the event. An ERROR carries a
// Status, a BOOKMARK an object of which only the metadata is set. An unknown type is
// passed on without its object, and the reflector counts it.
func (f *jsonFrames[T]) event(typ watch.EventType, object []byte, position int) (Event[T], error) {
	switch typ {
	case watch.Error:
		var status metav1.Status
		if err := json.Unmarshal(object, &status); err != nil {
			return Event[T]{}, fmt.Errorf("an ERROR event without a Status: %w", quoteless(err))
		}
		return Event[T]{}, statusError(status)
	case watch.Bookmark:
		var obj metav1.PartialObjectMetadata
		if err := json.Unmarshal(object, &obj); err != nil {
			return Event[T]{}, fmt.Errorf("a BOOKMARK event without metadata: %w", quoteless(err))
		}
		return Bookmark[T](&obj.ObjectMeta)
	case watch.Added, watch.Modified, watch.Deleted:
		obj, err := f.codec.decodeJSON(object, f.want, position)
		return event(typ, obj, err)
	default:
		return Event[T]{Type: typ}, nil
	}
}

// cutFrame returns the two fields of a watch event as API servers write it: in
// this order and with nothing behind. If there is something behind, it is at the
// end of object, which is then not valid JSON, and open falls back to splitFrame.
// It does not look at the bytes of the object, which is most of the frame.
func cutFrame(frame []byte) (typ watch.EventType, object []byte, ok bool) {
	const head, middle = `{"type":"`, `","object":`
	rest, ok := bytes.CutPrefix(frame, []byte(head))
	if !ok {
		return "", nil, false
	}
	// The longest type has eight letters. The bound keeps the search from running
	// through an object whose frame is of another form.
	t, rest, ok := bytes.Cut(rest[:min(len(rest), 40)], []byte(middle))
	if !ok || len(rest) == 0 || rest[0] != '{' {
		return "", nil, false
	}
	start := len(head) + len(t) + len(middle)
	// The last byte is the closing brace of the frame.
	return eventType(t), frame[start : len(frame)-1], true
}

// splitFrame returns the two fields of any watch event, in any order and among
// others. It visits every byte, and is the way for servers other than kube-apiserver.
func splitFrame(frame []byte) (typ watch.EventType, object []byte, err error) {
	l := lexBytes(frame)
	err = l.fields(func(name string) error {
		raw, err := l.value()
		if err != nil {
			return err
		}
		switch name {
		case "type":
			err = quoteless(json.Unmarshal(raw, &typ))
			// An unknown type is passed on and may end in a log, hence the bound.
			typ = Cut(typ)
			return err
		case "object":
			object = raw
		}
		return nil
	})
	if err == nil && typ == "" {
		err = errors.New("a watch event without a type")
	}
	if err != nil {
		return "", nil, fmt.Errorf("a watch event of %d bytes: %w", len(frame), err)
	}
	return typ, object, nil
}

// protoFrames are a 4-byte size and a WatchEvent message each: field 1 is the
// type, field 2 a RawExtension, whose field 1 is the object in its envelope.
//
//	00 00 01 2c │ 0a 05 A D D E D │ 12 … 0a … │ k8s 00 │ 0a … 12 …
//	size 300      field 1: type     2.1         magic    the runtime.Unknown:
//	                                                     1 kind, 2 object
//
// The size in front is what makes protobuf watches robust: whatever is in a frame,
// the next one begins behind it.
type protoFrames[T Object] struct {
	protoReader
	codec *codec[T]
	want  *expectation
}

// newProtoFrames reads frames from body, each of at most the codec's limit of bytes.
func newProtoFrames[T Object](body io.Reader, c *codec[T], want *expectation) *protoFrames[T] {
	return &protoFrames[T]{protoReader{r: bufio.NewReaderSize(body, 16<<10), max: c.limit}, c, want}
}

// tooDeep leaves it to the decoding, which knows the type.
func (f *protoFrames[T]) tooDeep() bool { return false }

// refuse is never called, as tooDeep never reports true.
func (f *protoFrames[T]) refuse([]byte, int) (Event[T], error) { return Event[T]{}, errTooDeep }

// split reads the size and then as many bytes. io.EOF in front of a size is the
// orderly end of the watch; within a frame it is a cut.
func (f *protoFrames[T]) split() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(f.r, head[:]); err != nil {
		return nil, err
	}
	// take checks the stated size against the limit before it allocates anything.
	f.left = uint64(binary.BigEndian.Uint32(head[:]))
	return f.take(f.left)
}

// typeOf reads field 1 and skips the object by its size.
func (f *protoFrames[T]) typeOf(frame []byte) watch.EventType {
	typ, err := bytesField(frame, 1)
	if err != nil {
		return ""
	}
	return eventType(typ)
}

// identify follows the fields that open would, down to the object's metadata, and
// allocates nothing. Only ADDED events qualify, as in JSON.
func (f *protoFrames[T]) identify(frame []byte) (id rawIdentity, ok bool) {
	if f.typeOf(frame) != watch.Added {
		return id, false
	}
	// Each part is what open reads; a missing one is empty, and has no identity.
	ext, err := bytesField(frame, 2)
	if err != nil {
		return id, false
	}
	enveloped, err := bytesField(ext, 1)
	if err != nil || !bytes.HasPrefix(enveloped, protoMagic) {
		return id, false
	}
	unknown := enveloped[len(protoMagic):]
	typ, err1 := bytesField(unknown, 1)
	kind, err2 := bytesField(typ, 2)
	raw, err3 := bytesField(unknown, 2)
	if err1 != nil || err2 != nil || err3 != nil {
		return id, false
	}
	id, ok = rawIdentityProto(raw)
	id.kind = kind
	return id, ok
}

// open takes the three envelopes off (event, extension, runtime.Unknown) and decodes
// by the type of the event. An unknown type is passed on without its object.
func (f *protoFrames[T]) open(frame []byte, position int) (Event[T], error) {
	// Both before either error is looked at: what is cut off behind the type is a cut
	// frame, not an event without an object.
	t, err1 := bytesField(frame, 1)
	ext, err2 := bytesField(frame, 2)
	if err := errors.Join(err1, err2); err != nil {
		return Event[T]{}, err
	}
	enveloped, err := bytesField(ext, 1)
	if err != nil {
		return Event[T]{}, err
	}
	// The type is checked before the object is unwrapped: an event of a future type may
	// carry something else than an object in its envelope.
	typ := eventType(t)
	switch typ {
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark, watch.Error:
	case "":
		return Event[T]{}, errors.New("a watch event without a type")
	default:
		return Event[T]{Type: typ}, nil
	}
	tm, raw, err := unwrapProto(enveloped, f.want.typ())
	if err != nil {
		return Event[T]{}, err
	}
	switch typ {
	case watch.Error:
		var status metav1.Status
		if err := unmarshalProto(&status, raw); err != nil {
			return Event[T]{}, fmt.Errorf("an ERROR event without a Status: %w", quoteless(err))
		}
		return Event[T]{}, statusError(status)
	case watch.Bookmark:
		// All API types have their metadata in field 1.
		var meta metav1.ObjectMeta
		b, err := bytesField(raw, 1)
		if err == nil {
			err = unmarshalProto(&meta, b)
		}
		if err != nil {
			return Event[T]{}, fmt.Errorf("a BOOKMARK event without metadata: %w", quoteless(err))
		}
		return Bookmark[T](&meta)
	default:
		obj, err := f.codec.decodeProto(raw, tm, f.want, position)
		return event(typ, obj, err)
	}
}

// eventType returns the constant for the frequent types, without an allocation, and
// a bounded copy of any other.
func eventType(name []byte) watch.EventType {
	// The conversion in the comparison does not allocate, and the constant is returned,
	// so that thousands of events share one string.
	for _, t := range [...]watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
		if string(name) == string(t) {
			return t
		}
	}
	return Cut(watch.EventType(name[:min(len(name), 2*maxForeign)]))
}

// event returns the event of an object. With an error comes the type alone: asEvent
// and the reflector need it to handle an object that cannot be read.
func event[T Object](typ watch.EventType, obj T, err error) (Event[T], error) {
	if err != nil {
		return Event[T]{Type: typ}, err
	}
	return Event[T]{Type: typ, Object: obj, ResourceVersion: obj.GetResourceVersion()}, nil
}

// asEvent turns an *ObjectError into an event. Any other error stays one.
func asEvent[T Object](ev Event[T], err error) (Event[T], error) {
	if err == nil {
		return ev, nil // without what errors.As allocates
	}
	if isUnchanged(err) {
		return Event[T]{Type: ev.Type, Err: err}, nil
	}
	var oe *ObjectError
	if errors.As(err, &oe) {
		return Event[T]{Type: ev.Type, ResourceVersion: oe.ResourceVersion, Err: oe}, nil
	}
	return ev, err
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

// statusError is the error for an ERROR event. A Status that says nothing is
// still an error.
func statusError(status metav1.Status) error {
	if status.Code == 0 && status.Reason == "" && status.Message == "" {
		status.Message = "the server ended the watch with an empty error"
	}
	return &apierrors.StatusError{ErrStatus: cutStatus(status)}
}
