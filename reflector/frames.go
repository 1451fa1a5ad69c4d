package reflector

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

// frames takes the body of the answer to a watch request apart.
type frames[T Object] interface {
	// split returns the next frame, which is valid until the next call.
	split() ([]byte, error)
	// typeOf returns the type of the event in a frame, or "" if that is not
	// easily seen.
	typeOf(frame []byte) watch.EventType
	// open decodes the event in a frame, on any goroutine. With an *ObjectError
	// comes an event that says what is known. Any other error ends the stream.
	open(frame []byte, position int) (Event[T], error)
	// tooDeep reports whether the frame that split has returned last must not be
	// opened, because it is nested too deeply, but refused.
	tooDeep() bool
	// refuse returns what can be read of a frame that is too deep.
	refuse(frame []byte, position int) (Event[T], error)
}

// jsonFrames are objects of the form {"type": …, "object": …}.
type jsonFrames[T Object] struct {
	*lexer
	codec *codec[T]
	want  *expectation
}

func newJSONFrames[T Object](body io.Reader, c *codec[T], want *expectation) *jsonFrames[T] {
	l := newLexer(body)
	l.limit = c.limit
	return &jsonFrames[T]{l, c, want}
}

func (f *jsonFrames[T]) split() ([]byte, error) { return f.value() }

func (f *jsonFrames[T]) typeOf(frame []byte) watch.EventType {
	typ, _, _ := cutFrame(frame)
	return typ
}

func (f *jsonFrames[T]) tooDeep() bool { return f.deep }

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
		return bookmark[T](&obj.ObjectMeta)
	case watch.Added, watch.Modified, watch.Deleted:
		obj, err := f.codec.decodeJSON(object, f.want, position)
		return event(typ, obj, err)
	default:
		return Event[T]{Type: typ}, nil
	}
}

// cutFrame returns the two fields of a watch event as API servers write it: in
// this order and with nothing behind. If there is something behind, it is at the
// end of object, which is then no JSON.
func cutFrame(frame []byte) (typ watch.EventType, object []byte, ok bool) {
	const head, middle = `{"type":"`, `","object":`
	rest, ok := bytes.CutPrefix(frame, []byte(head))
	if !ok {
		return "", nil, false
	}
	t, rest, ok := bytes.Cut(rest[:min(len(rest), 40)], []byte(middle))
	if !ok || len(rest) == 0 || rest[0] != '{' {
		return "", nil, false
	}
	start := len(head) + len(t) + len(middle)
	return eventType(t), frame[start : len(frame)-1], true
}

// splitFrame returns the two fields of any watch event.
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
			typ = cut(typ)
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
type protoFrames[T Object] struct {
	wireReader
	codec *codec[T]
	want  *expectation
}

func newProtoFrames[T Object](body io.Reader, c *codec[T], want *expectation) *protoFrames[T] {
	return &protoFrames[T]{wireReader{r: bufio.NewReaderSize(body, 16<<10), max: c.limit}, c, want}
}

// tooDeep leaves it to the decoding, which knows the type.
func (f *protoFrames[T]) tooDeep() bool { return false }

func (f *protoFrames[T]) refuse([]byte, int) (Event[T], error) { return Event[T]{}, errTooDeep }

func (f *protoFrames[T]) split() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(f.r, head[:]); err != nil {
		return nil, err
	}
	f.left = uint64(binary.BigEndian.Uint32(head[:]))
	return f.take(f.left)
}

func (f *protoFrames[T]) typeOf(frame []byte) watch.EventType {
	typ, err := bytesField(frame, 1)
	if err != nil {
		return ""
	}
	return eventType(typ)
}

func (f *protoFrames[T]) open(frame []byte, position int) (Event[T], error) {
	t, err1 := bytesField(frame, 1)
	ext, err2 := bytesField(frame, 2)
	if err := errors.Join(err1, err2); err != nil {
		return Event[T]{}, err
	}
	enveloped, err := bytesField(ext, 1)
	if err != nil {
		return Event[T]{}, err
	}
	typ := eventType(t)
	switch typ {
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark, watch.Error:
	case "":
		return Event[T]{}, errors.New("a watch event without a type")
	default:
		return Event[T]{Type: typ}, nil
	}
	tm, raw, err := unwrapProto(enveloped)
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
		return bookmark[T](&meta)
	default:
		obj, err := f.codec.decodeProto(raw, tm, f.want, position)
		return event(typ, obj, err)
	}
}

// eventType is free of charge for the types that are frequent.
func eventType(name []byte) watch.EventType {
	for _, t := range [...]watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
		if string(name) == string(t) {
			return t
		}
	}
	return cut(watch.EventType(name[:min(len(name), 2*maxForeign)]))
}

// event makes the event of an object, or of one that is unreadable.
func event[T Object](typ watch.EventType, obj T, err error) (Event[T], error) {
	if err != nil {
		return Event[T]{Type: typ}, err
	}
	return Event[T]{Type: typ, Object: obj, ResourceVersion: obj.GetResourceVersion()}, nil
}

// asEvent makes an event of an *ObjectError. Any other error stays one.
func asEvent[T Object](ev Event[T], err error) (Event[T], error) {
	if err == nil {
		return ev, nil // without what errors.As allocates
	}
	var oe *ObjectError
	if errors.As(err, &oe) {
		return Event[T]{Type: ev.Type, ResourceVersion: oe.ResourceVersion, Err: oe}, nil
	}
	return ev, err
}

func bookmark[T Object](meta metav1.Object) (Event[T], error) {
	if err := checkVersion(meta.GetResourceVersion()); err != nil {
		return Event[T]{}, fmt.Errorf("a BOOKMARK event with %w", err)
	}
	return Event[T]{
		Type:             watch.Bookmark,
		ResourceVersion:  meta.GetResourceVersion(),
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
