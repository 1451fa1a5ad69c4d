package reflector

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Watch implements [ListerWatcher].
func (r *resource[T]) Watch(ctx context.Context, opts metav1.ListOptions) (Stream[T], error) {
	opts.Watch = true
	ctx, cancel := context.WithCancel(ctx)
	resp, err := r.get(ctx, "watch", opts, r.watchAccept)
	if err != nil {
		cancel()
		return nil, err
	}
	s := &httpStream[T]{r: r, ctx: ctx, cancel: cancel, body: resp.Body}
	if isProto(resp) {
		s.next = protoFrames(resp.Body, r.codec)
	} else {
		s.next = jsonFrames(resp.Body, r.codec)
	}
	return s, nil
}

// httpStream is the body of the answer to a watch request.
type httpStream[T Object] struct {
	r      *resource[T]
	ctx    context.Context //nolint:containedctx // the life of one request
	cancel context.CancelFunc
	body   io.Closer
	next   func() (Event[T], error)
	err    error
}

// Next implements [Stream].
func (s *httpStream[T]) Next() (Event[T], error) {
	if s.err != nil {
		return Event[T]{}, s.err
	}
	ev, err := s.next()
	if err == nil {
		return ev, nil
	}
	if err != io.EOF { //nolint:errorlint // the bare value means an orderly end
		err = s.r.failed("watch", brokenBody(s.ctx, err))
	}
	s.err = err
	return Event[T]{}, err
}

// Close implements [Stream].
func (s *httpStream[T]) Close() error {
	// Cancelling is what makes a Read in another goroutine return.
	s.cancel()
	return s.body.Close()
}

// jsonFrames reads objects of the form {"type": …, "object": …}.
func jsonFrames[T Object](body io.Reader, c *codec[T]) func() (Event[T], error) {
	l, n := newLexer(body), -1
	return func() (Event[T], error) {
		frame, err := l.value()
		if err != nil {
			return Event[T]{}, err
		}
		n++
		typ, object, err := splitFrame(frame)
		if err != nil {
			return Event[T]{}, err
		}
		switch typ {
		case watch.Error:
			var status metav1.Status
			if err := json.Unmarshal(object, &status); err != nil {
				return Event[T]{}, fmt.Errorf("an ERROR event without a Status: %w", err)
			}
			return Event[T]{}, statusError(status)
		case watch.Bookmark:
			var obj metav1.PartialObjectMetadata
			if err := json.Unmarshal(object, &obj); err != nil {
				return Event[T]{}, fmt.Errorf("a BOOKMARK event without metadata: %w", err)
			}
			return bookmark[T](&obj.ObjectMeta), nil
		case watch.Added, watch.Modified, watch.Deleted:
			obj, err := c.decodeJSON(object, c.expected(), n)
			return event(typ, obj, err)
		default:
			return Event[T]{Type: typ}, nil
		}
	}
}

// splitFrame returns the two fields of a watch event. API servers write them in
// this order and nothing behind them, so that the object needs no second look
// for where it ends; if it turns out to be no object, the frame is taken apart
// with care.
func splitFrame(frame []byte) (typ watch.EventType, object []byte, err error) {
	const head, middle = `{"type":"`, `","object":`
	if rest, ok := bytes.CutPrefix(frame, []byte(head)); ok {
		if t, rest, ok := bytes.Cut(rest, []byte(middle)); ok && len(rest) > 2 && len(t) < 20 && rest[0] == '{' {
			object = bytes.TrimRight(rest[:len(rest)-1], " \t\r\n")
			if end := lexBytes(object); end.compound() == nil && end.pos == len(object) {
				return watch.EventType(t), object, nil
			}
		}
	}
	l := lexBytes(frame)
	err = l.fields(func(name string) error {
		raw, err := l.value()
		if err != nil {
			return err
		}
		switch name {
		case "type":
			return json.Unmarshal(raw, &typ)
		case "object":
			object = raw
		}
		return nil
	})
	if err == nil && typ == "" {
		err = errors.New("a watch event without a type")
	}
	if err != nil {
		return "", nil, fmt.Errorf("%w in %.80q", err, frame)
	}
	return typ, object, nil
}

// protoFrames reads frames of a 4-byte size and a WatchEvent message: field 1
// is the type, field 2 a RawExtension, whose field 1 is the object in its
// envelope.
func protoFrames[T Object](body io.Reader, c *codec[T]) func() (Event[T], error) {
	br, n := bufio.NewReaderSize(body, 16<<10), -1
	w := &wireReader{r: br}
	return func() (Event[T], error) {
		var head [4]byte
		if _, err := io.ReadFull(br, head[:]); err != nil {
			return Event[T]{}, err
		}
		n++
		size := uint64(binary.BigEndian.Uint32(head[:]))
		w.left = size
		frame, err := w.take(size)
		if err != nil {
			return Event[T]{}, err
		}
		t, err1 := bytesField(frame, 1)
		ext, err2 := bytesField(frame, 2)
		if err := errors.Join(err1, err2); err != nil {
			return Event[T]{}, err
		}
		enveloped, err := bytesField(ext, 1)
		if err != nil {
			return Event[T]{}, err
		}
		typ := watch.EventType(t)
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
				return Event[T]{}, fmt.Errorf("an ERROR event without a Status: %w", err)
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
				return Event[T]{}, fmt.Errorf("a BOOKMARK event without metadata: %w", err)
			}
			return bookmark[T](&meta), nil
		default:
			obj, err := c.decodeProto(raw, tm, c.expected(), n)
			return event(typ, obj, err)
		}
	}
}

// event makes the event of a decoded object. An error that is no *ObjectError
// ends the stream.
func event[T Object](typ watch.EventType, obj T, err error) (Event[T], error) {
	if err == nil {
		return Event[T]{Type: typ, Object: obj, ResourceVersion: obj.GetResourceVersion()}, nil
	}
	var oe *ObjectError
	if !errors.As(err, &oe) {
		return Event[T]{}, err
	}
	return Event[T]{Type: typ, ResourceVersion: oe.ResourceVersion, Err: oe}, nil
}

func bookmark[T Object](meta metav1.Object) Event[T] {
	return Event[T]{
		Type:             watch.Bookmark,
		ResourceVersion:  meta.GetResourceVersion(),
		InitialEventsEnd: meta.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true",
	}
}

// statusError is the error for an ERROR event. A Status that says nothing is
// still an error.
func statusError(status metav1.Status) error {
	if status.Code == 0 && status.Reason == "" && status.Message == "" {
		status.Message = "the server ended the watch with an empty error"
	}
	return &apierrors.StatusError{ErrStatus: status}
}
