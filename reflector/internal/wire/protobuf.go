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

// bytesField returns the last length-delimited field (the last one counts, as in
// any protobuf decoder) with the number num of a
// message in memory, or nil. With an error comes what was found before it.
//
// All identities and types are read with it: it takes one pass, allocates nothing, and
// returns a slice of the message.
func bytesField(msg []byte, num int) ([]byte, error) {
	var out []byte
	for len(msg) > 0 {
		f, rest, err := nextField(msg)
		if err != nil {
			return out, err
		}
		if f.num == num && f.kind == 2 {
			out = f.data
		}
		msg = rest
	}
	return out, nil
}

// typeMeta is what runtime.Unknown says about the object in it. It is runtime.TypeMeta
// in generated.proto, which has apiVersion in field 1 and kind in field 2.
type typeMeta struct{ apiVersion, kind string }

// parseTypeMeta reads apiVersion and kind; of long ones only the beginning is kept. Those
// that equal the known ones are these: the objects of a collection state the same type, and
// two strings for each would be garbage at once.
func parseTypeMeta(msg []byte, known typeMeta) (tm typeMeta, err error) {
	// Both are read in any case: an error message with one of the two is worth more
	// than none.
	av, err1 := bytesField(msg, 1)
	kind, err2 := bytesField(msg, 2)
	return typeMeta{nameOr(known.apiVersion, av), nameOr(known.kind, kind)}, errors.Join(err1, err2)
}

// nameOr returns name as a string, which is known if they are equal.
func nameOr(known string, name []byte) string {
	if string(name) == known { // without an allocation
		return known
	}
	return Cut(string(name))
}

// unwrapProto takes the envelope off one object in memory.
//
// It is for events and errors. The envelope of a list is read from the stream by
// readProto, which must not hold all of it.
func unwrapProto(b []byte, known typeMeta) (tm typeMeta, raw []byte, err error) {
	if !bytes.HasPrefix(b, protoMagic) {
		return tm, nil, fmt.Errorf("%w: no k8s prefix", errProto)
	}
	b = b[len(protoMagic):]
	typ, err := bytesField(b, 1)
	if err != nil {
		return tm, nil, err
	}
	if tm, err = parseTypeMeta(typ, known); err != nil {
		return tm, nil, err
	}
	raw, err = bytesField(b, 2)
	return tm, raw, err
}

// protoReader reads a protobuf list from a stream field by field, so that no
// more than one object of it is in memory as bytes.
//
// left is the one bound that all reads respect: a size that is wrong cannot make it read
// beyond the message that it is in.
type protoReader struct {
	r    *bufio.Reader
	left uint64 // bytes left of the message that is being read
	max  int    // bytes of one field in memory; 0 for the default
	buf  []byte // reused between fields
}

// field reads the header of the next field. The value of a length-delimited one is left to
// take or skip; that of any other kind is consumed.
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
		err = w.skip(h.size)
	}
	return h, err
}

// skip consumes n bytes of the message without keeping them. io.CopyN discards through
// a buffer of its own, so a large unknown field takes no memory.
func (w *protoReader) skip(n uint64) error {
	if n > w.left {
		return io.ErrUnexpectedEOF
	}
	w.left -= n
	_, err := io.CopyN(io.Discard, w.r, int64(n))
	return midValue(err)
}

// take reads size bytes, which are valid until the next call.
func (w *protoReader) take(size uint64) ([]byte, error) {
	switch {
	case size > w.left:
		return nil, io.ErrUnexpectedEOF
	case size > uint64(cmp.Or(w.max, defaultMaxObject)):
		return nil, tooLarge(cmp.Or(w.max, defaultMaxObject))
	}
	// Grown as the bytes arrive: the stated size may be wrong.
	w.buf = w.buf[:0]
	for uint64(len(w.buf)) < size {
		// At most a MiB more than has arrived: a few bytes of a broken server must not
		// make a client allocate the limit for nothing.
		chunk := min(size-uint64(len(w.buf)), 1<<20)
		old := len(w.buf)
		if uint64(cap(w.buf)-old) < chunk {
			w.buf = append(w.buf, make([]byte, chunk)...)
		} else {
			w.buf = w.buf[:old+int(chunk)]
		}
		if _, err := io.ReadFull(w.r, w.buf[old:]); err != nil {
			return nil, midValue(err)
		}
	}
	w.left -= size
	return w.buf, nil
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
	br := bufio.NewReaderSize(body, listBuffer)
	// Without the magic bytes the body is no answer of an API server, whatever its
	// Content-Type says.
	magic := make([]byte, len(protoMagic))
	if _, err := io.ReadFull(br, magic); err != nil {
		return midValue(err)
	}
	if !bytes.Equal(magic, protoMagic) {
		return fmt.Errorf("%w: no k8s prefix", errProto)
	}
	// The envelope states no size of its own: it ends with the body.
	w := &protoReader{r: br, left: math.MaxUint64, max: a.limit}
	for {
		// The end is regular only between two fields; anywhere else it is a cut, see
		// midValue.
		if _, err := br.Peek(1); err == io.EOF { //nolint:errorlint // bufio returns the bare value
			break
		}
		h, err := w.field()
		// Garbage often reads as fields of unknown numbers, and may never end.
		if err == nil && (h.kind != 2 || h.num != 2) {
			err = a.beside(uint64(h.n) + h.size)
		}
		if err == nil && h.kind == 2 {
			err = a.part(w, h.num, h.size)
		}
		if err != nil {
			return err
		}
	}
	// API servers write field 2 of the envelope for an empty list as well: the list has
	// metadata.
	if !a.seen["kind"] || !a.seen["items"] {
		return io.ErrUnexpectedEOF
	}
	return a.finish()
}

// part reads one field of the envelope of a list in protobuf. While it reads the
// items, the limits of the reader are those of the inner message: a size within it
// that exceeds it is found before a byte is read.
func (a *listAnswer[T]) part(w *protoReader, num int, size uint64) error {
	switch num {
	case 1:
		b, err := w.take(size)
		if err == nil {
			err = a.once("kind")
		}
		if err == nil {
			a.typ, err = parseTypeMeta(b, typeMeta{})
		}
		return err
	case 2:
		if err := a.once("items"); err != nil {
			return err
		}
		if a.typ.kind == "" {
			// Generated encoders write field 1 first. Items are decoded while they
			// arrive, and without the kind nothing says that field 2 is a list rather
			// than a single object.
			return errors.New("the answer is protobuf, but not a list: its kind does not come first")
		}
		if err := a.begin(); err != nil {
			return err
		}
		// The bound of the envelope is put back after the inner message.
		outer := w.left - size
		w.left = size
		err := a.itemsProto(w)
		w.left = outer
		return err
	default:
		return w.skip(size)
	}
}

// itemsProto reads the list message itself. Fields 1 and 2 are metadata and items;
// any other one is skipped and counted as bytes beside the objects.
func (a *listAnswer[T]) itemsProto(w *protoReader) error {
	for w.left > 0 {
		h, err := w.field()
		if err == nil && (h.kind != 2 || h.num != 2) {
			err = a.beside(uint64(h.n) + h.size)
		}
		if err != nil {
			return err
		}
		if h.kind != 2 {
			continue
		}
		b, err := w.take(h.size)
		if err != nil {
			return err
		}
		switch h.num {
		case 1:
			err = quoteless(unmarshalProto(&a.meta, b))
		case 2:
			err = a.item(b)
		}
		if err != nil {
			return err
		}
	}
	return nil
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
	protoReader
	head [4]byte // the size; a variable would be an allocation per frame
	want *expectation
}

// newProtoFrames reads frames from body, each of at most limit bytes.
func newProtoFrames(body io.Reader, limit int, want *expectation) *protoFrames {
	return &protoFrames{protoReader: protoReader{r: bufio.NewReaderSize(body, watchBuffer), max: limit}, want: want}
}

// next reads a frame and takes its three envelopes off: event, extension, runtime.Unknown.
// io.EOF in front of a size is the orderly end of the watch; within a frame it is a cut.
func (f *protoFrames) next() (it item, err error) {
	if _, err := io.ReadFull(f.r, f.head[:]); err != nil {
		return it, err
	}
	// take checks the stated size against the limit before it allocates anything.
	f.left = uint64(binary.BigEndian.Uint32(f.head[:]))
	frame, err := f.take(f.left)
	if err != nil {
		return it, err
	}
	// Both before either error is looked at: what is cut off behind the type is a cut
	// frame, not an event without an object.
	typ, err1 := bytesField(frame, 1)
	ext, err2 := bytesField(frame, 2)
	if err := errors.Join(err1, err2); err != nil {
		return it, err
	}
	enveloped, err := bytesField(ext, 1)
	if err != nil {
		return it, err
	}
	// The type is checked before the object is unwrapped: an event of a future type may
	// carry something else than an object in its envelope.
	switch it.typ = eventType(typ); {
	case it.typ == "":
		return it, errors.New("a watch event without a type")
	case it.hasObject(), it.typ == watch.Bookmark, it.typ == watch.Error:
		it.kind, it.raw, err = unwrapProto(enveloped, f.want.typ())
	}
	return it, err
}
