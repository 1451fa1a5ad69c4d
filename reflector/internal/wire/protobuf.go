package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// protoMagic starts every protobuf answer of an API server. The message runtime.Unknown
// follows: field 1 the type (1 apiVersion, 2 kind), field 2 the bytes of the object.
// It distinguishes the encoding from JSON (API concepts, "Kubernetes Protobuf encoding").
var protoMagic = []byte("k8s\x00")

// errProto is the error for bytes that are no protobuf. It names nothing in them.
var errProto = errors.New("invalid protobuf")

// protoHeader is what is in front of the value of a field: a tag, which is a varint of the
// number and the kind, and for a length-delimited value its size
// (protobuf.dev/programming-guides/encoding).
type protoHeader struct {
	num  int
	kind int    // 0 varint, 1 fixed64, 2 length-delimited, 5 fixed32
	n    int    // bytes of the header
	size uint64 // bytes of the value
}

// maxHeader is how many bytes say how long a field is: those of two varints.
const maxHeader = 2 * binary.MaxVarintLen64

// parseHeader reads the header of the field that msg begins with. Groups, kinds 3 and 4, are
// refused: no API type has any, and they nest without a size.
func parseHeader(msg []byte) (h protoHeader, err error) {
	// Field numbers go from 1 to 2^29-1; 0 is what a run of zero bytes would begin with.
	tag, n := binary.Uvarint(msg)
	if n <= 0 || tag>>3 == 0 || tag>>3 > 1<<29 {
		return h, errProto
	}
	h = protoHeader{num: int(tag >> 3), kind: int(tag & 7), n: n}
	number, n := binary.Uvarint(msg[n:])
	switch h.kind {
	case 0:
		h.size = uint64(max(n, 0))
	case 1:
		h.size = 8
	case 2:
		h.n, h.size = h.n+n, number
	case 5:
		h.size = 4
	default:
		return h, errProto
	}
	if (h.kind == 0 || h.kind == 2) && n <= 0 {
		return h, errProto
	}
	return h, nil
}

// protoField is a field of a protobuf message in memory.
//
// Numbers are not kept: all that this package reads of a message are its strings and
// messages.
type protoField struct {
	num, kind int
	data      []byte // of kind 2; it is part of the message
}

// nextField splits the first field off a message in memory.
func nextField(msg []byte) (f protoField, rest []byte, err error) {
	h, err := parseHeader(msg)
	// The size is compared as uint64: converted to int first, it could be negative.
	if err != nil || h.size > uint64(len(msg)-h.n) {
		return f, nil, errProto
	}
	f = protoField{num: h.num, kind: h.kind}
	if h.kind == 2 {
		f.data = msg[h.n : h.n+int(h.size)]
	}
	return f, msg[h.n+int(h.size):], nil
}

// unwrapProto takes the envelope off one object in memory: a Status that is an error.
func unwrapProto(b []byte) (it item, err error) {
	w := newProtoReader(bytes.NewReader(b), len(b)+1, len(b))
	w.left = uint64(len(b))
	err = w.unknown(&it, typeMeta{})
	return it, err
}

// nameOr returns name as a string, which is known if they are equal: the objects of a
// collection state the same type, and two strings for each would be garbage at once.
func nameOr(known string, name []byte) string {
	if string(name) == known { // without an allocation
		return known
	}
	return Cut(string(name))
}

const (
	// listBuffer and watchBuffer are how many bytes of a body are read at once. A watch keeps
	// its buffer while it waits for events.
	listBuffer  = 64 << 10
	watchBuffer = 8 << 10
)

// protoReader reads protobuf messages from a stream field by field, so that no more than one
// object is in memory as bytes.
//
// left is the one bound that all reads respect: a size that is wrong cannot make it read
// beyond the message that it is in.
type protoReader struct {
	r     *bufio.Reader
	left  uint64 // bytes left of the message that is being read
	limit int    // bytes of one object
	// beside counts the bytes that are in no known field. Garbage often reads as fields of
	// unknown numbers, and may never end.
	beside uint64
	// Reused between fields: an object stays valid while the fields behind it are read.
	object, small []byte
}

// newProtoReader reads messages from body.
func newProtoReader(body io.Reader, size, limit int) *protoReader {
	return &protoReader{r: bufio.NewReaderSize(body, size), limit: limit}
}

// field reads the header of the next field. The value of a length-delimited one is left to
// take, skip or message; that of any other kind is consumed.
func (w *protoReader) field() (h protoHeader, err error) {
	head, short := w.r.Peek(int(min(maxHeader, w.left)))
	if h, err = parseHeader(head); err != nil {
		if short != nil {
			err = midValue(short)
		}
		return h, err
	}
	if err := w.skip(uint64(h.n)); err != nil {
		return h, err
	}
	if h.size > w.left {
		return h, fmt.Errorf("%w: a field exceeds its message", errProto)
	}
	if h.kind != 2 {
		err = w.other(h.size)
	}
	return h, err
}

// other consumes the value of a field that is not known.
func (w *protoReader) other(size uint64) error {
	if w.beside += maxHeader/2 + size; w.beside > maxEnvelope {
		return fmt.Errorf("%w: more than %d bytes beside the objects", errEnvelope, maxEnvelope)
	}
	return w.skip(size)
}

// skip consumes n bytes of the message without keeping them.
func (w *protoReader) skip(n uint64) error {
	if n > w.left {
		return io.ErrUnexpectedEOF
	}
	w.left -= n
	for n > 0 {
		k, err := w.r.Discard(int(min(n, 1<<30)))
		if n -= uint64(k); err != nil {
			return midValue(err)
		}
	}
	return nil
}

// take reads size bytes into a buffer.
func (w *protoReader) take(buf *[]byte, size uint64) ([]byte, error) {
	if size > w.left {
		return nil, io.ErrUnexpectedEOF
	}
	// Grown as the bytes arrive: the stated size may be wrong. At most a MiB more than has
	// arrived: a few bytes of a broken server must not allocate the limit for nothing.
	*buf = (*buf)[:0]
	for old := 0; uint64(old) < size; old = len(*buf) {
		chunk := int(min(size-uint64(old), 1<<20))
		*buf = slices.Grow(*buf, chunk)[:old+chunk]
		if _, err := io.ReadFull(w.r, (*buf)[old:]); err != nil {
			return nil, midValue(err)
		}
	}
	w.left -= size
	return *buf, nil
}

// text reads a short field.
func (w *protoReader) text(size uint64) ([]byte, error) {
	if size > maxEnvelope {
		return nil, fmt.Errorf("%w: a field of %d bytes", errEnvelope, size)
	}
	return w.take(&w.small, size)
}

// item reads an object. Of one that is too large only the beginning is read: there is its
// metadata.
func (w *protoReader) item(it *item, size uint64) (err error) {
	if cap(w.object) > 1<<20 {
		w.object = nil // a large object has made it grow
	}
	rest := uint64(0)
	if size > uint64(w.limit) {
		it.err = tooLarge(w.limit)
		rest = size - min(uint64(w.limit), maxEnvelope)
	}
	if it.raw, err = w.take(&w.object, size-rest); err != nil {
		return err
	}
	return w.skip(rest)
}

// message reads a field that is a message: fn is called for each of its length-delimited
// fields, whose value it consumes. The outermost one has no size, and ends with the body.
func (w *protoReader) message(size uint64, fn func(num int, size uint64) error) error {
	if size > w.left {
		return io.ErrUnexpectedEOF
	}
	// A size within the message that exceeds it is found before a byte is read.
	outer := w.left - size
	w.left = size
	for w.left > 0 {
		// The end is regular only between two fields; anywhere else it is a cut, see
		// midValue.
		if size == unsized {
			if _, err := w.r.Peek(1); err == io.EOF { //nolint:errorlint // bufio returns the bare value
				return nil
			}
		}
		h, err := w.field()
		if err == nil && h.kind == 2 {
			err = fn(h.num, h.size)
		}
		if err != nil {
			return err
		}
	}
	w.left = outer
	return nil
}

// unsized is the size of a message that ends with the body.
const unsized = math.MaxUint64

// unknown reads the envelope of an object, to the end of the message that it is in. Those of a
// type in it that equal the known ones are these.
func (w *protoReader) unknown(it *item, known typeMeta) error {
	magic, err := w.take(&w.small, min(w.left, uint64(len(protoMagic))))
	if err != nil {
		return err
	}
	if !bytes.Equal(magic, protoMagic) {
		// An event of a future type may carry something else: only an object must be one.
		it.err = fmt.Errorf("%w: no k8s prefix", errProto)
		return w.skip(w.left)
	}
	return w.message(w.left, func(num int, size uint64) error {
		switch num {
		case 1:
			return w.typeMeta(&it.kind, known, size)
		case 2:
			return w.item(it, size)
		}
		return w.skip(size)
	})
}

// typeMeta reads what runtime.Unknown says about the object in it: runtime.TypeMeta in
// generated.proto, which has apiVersion in field 1 and kind in field 2. Of long ones only the
// beginning is kept.
func (w *protoReader) typeMeta(typ *typeMeta, known typeMeta, size uint64) error {
	return w.message(size, func(num int, size uint64) error {
		text, err := w.text(size)
		switch {
		case err != nil:
		case num == 1:
			typ.apiVersion = nameOr(known.apiVersion, text)
		case num == 2:
			typ.kind = nameOr(known.kind, text)
		}
		return err
	})
}

// readProto reads a list message: field 1 is the metadata, field 2 repeats per
// item, in all API types (generated.proto of each API group). The list is in the same
// envelope as a single object:
//
//	k8s 00 │ 1: apiVersion and kind │ 2: the list ┬ 1: metadata
//	                                              └ 2: item, item, item …
//
// Its sizes are stated in front of its parts, so the list is walked without being
// held: only the item that is being split off is in memory as bytes. Both envelope
// fields must be there. An empty list is a few bytes, and so is an answer that was
// cut behind its first field: the one empties a cache rightly, the other wrongly.
func (a *listAnswer[T]) readProto(body io.Reader) error {
	w := newProtoReader(body, listBuffer, a.limit)
	w.left = uint64(len(protoMagic))
	magic, err := w.take(&w.small, w.left)
	if err != nil {
		return err
	}
	// Without the magic bytes the body is no answer of an API server, whatever its
	// Content-Type says.
	if !bytes.Equal(magic, protoMagic) {
		return fmt.Errorf("%w: no k8s prefix", errProto)
	}
	w.left = unsized
	err = w.message(unsized, func(num int, size uint64) error {
		switch num {
		case 1:
			if err := a.once("kind"); err != nil {
				return err
			}
			return w.typeMeta(&a.typ, typeMeta{}, size)
		case 2:
			return a.itemsProto(w, size)
		}
		return w.other(size)
	})
	switch {
	case err != nil:
		return err
	// API servers write field 2 of the envelope for an empty list as well: the list has
	// metadata.
	case !a.seen["kind"] || !a.seen["items"]:
		return io.ErrUnexpectedEOF
	}
	return a.finish()
}

// itemsProto reads the list message itself. Fields 1 and 2 are metadata and items.
func (a *listAnswer[T]) itemsProto(w *protoReader, size uint64) error {
	if err := a.once("items"); err != nil {
		return err
	}
	if a.typ.kind == "" {
		// Generated encoders write field 1 first. Items are decoded while they
		// arrive, and without the kind nothing says that field 2 is a list rather
		// than a single object.
		return errors.New("the answer is protobuf, but not a list: its kind does not come first")
	}
	if a.typ.kind == "Status" {
		b, err := w.text(size)
		if err == nil {
			err = protoStatus(b)
		}
		return err
	}
	if err := a.begin(); err != nil {
		return err
	}
	return w.message(size, func(num int, size uint64) error {
		switch num {
		case 1:
			b, err := w.text(size)
			if err == nil {
				err = quoteless(unmarshalProto(&a.meta, b))
			}
			return err
		case 2:
			it := item{typ: watch.Added}
			if err := w.item(&it, size); err != nil {
				return err
			}
			return a.item(it)
		}
		return w.other(size)
	})
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
type protoFrames struct {
	*protoReader
	head [4]byte // the size; a variable would be an allocation per frame
	// known is the type of the latest object: the next one has the same.
	known typeMeta
}

// newProtoFrames reads frames from body, with objects of at most limit bytes.
func newProtoFrames(body io.Reader, limit int) *protoFrames {
	return &protoFrames{protoReader: newProtoReader(body, watchBuffer, limit)}
}

// next reads a frame. io.EOF in front of a size is the orderly end of the watch; within a frame
// it is a cut.
func (f *protoFrames) next() (it item, err error) {
	if _, err := io.ReadFull(f.r, f.head[:]); err != nil {
		return it, err
	}
	f.left = uint64(binary.BigEndian.Uint32(f.head[:]))
	switch magic, _ := f.r.Peek(int(min(f.left, uint64(len(protoMagic))))); {
	case bytes.Equal(f.head[:], protoMagic):
		f.left = unsized
		return it, f.bareStatus()
	case bytes.Equal(magic, protoMagic):
		_ = f.skip(uint64(len(magic)))
		return it, f.bareStatus()
	}
	err = f.message(f.left, func(num int, size uint64) error {
		switch num {
		case 1:
			typ, err := f.text(size)
			it.typ = eventType(typ)
			return err
		case 2:
			return f.message(size, func(num int, size uint64) error {
				if num != 1 {
					return f.skip(size)
				}
				outer := f.left - size
				f.left = size
				err := f.unknown(&it, f.known)
				f.left = outer
				return err
			})
		}
		return f.skip(size)
	})
	switch {
	case err != nil:
	case it.typ == "":
		err = errNoType
	case it.hasObject():
		f.known = it.kind
		fallthrough
	case it.typ == watch.Bookmark, it.typ == watch.Error:
		if errors.Is(it.err, errProto) {
			err = it.err
		} else if it.raw == nil {
			err = errors.New("a watch event without an object")
		}
	}
	return it, err
}

// bareStatus reads an envelope behind its prefix, and returns the Status in it as an error: it
// stands in place of an event, with a size in front of it or without.
func (f *protoFrames) bareStatus() error {
	var it item
	err := f.message(f.left, func(num int, size uint64) error {
		switch num {
		case 1:
			return f.typeMeta(&it.kind, typeMeta{}, size)
		case 2:
			if it.kind.kind != "Status" {
				return errNoType
			}
			b, err := f.text(size)
			if err != nil {
				return err
			}
			// Nothing behind it is waited for: a body without a size may not end.
			return protoStatus(b)
		}
		return f.other(size)
	})
	return cmp.Or(err, errNoType)
}

// protoStatus is the error that a Status stands for.
func protoStatus(b []byte) error {
	var status metav1.Status
	if err := unmarshalProto(&status, b); err != nil {
		return fmt.Errorf("a Status in place of the answer: %w", quoteless(err))
	}
	return statusError(status)
}
