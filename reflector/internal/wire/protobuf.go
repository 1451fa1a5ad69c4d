package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// protoMagic starts every protobuf answer of an API server. The message runtime.Unknown
// follows: field 1 the type (1 apiVersion, 2 kind), field 2 the bytes of the object.
// It distinguishes the encoding from JSON (API concepts, "Kubernetes Protobuf encoding").
var protoMagic = []byte("k8s\x00")

// errProto is the error for bytes that are no protobuf. It names nothing in them.
var errProto = errors.New("invalid protobuf")

// protoField is a field of a protobuf message as it is on the wire.
//
// Numbers are not kept: all that this package reads of a message are its strings and
// messages.
type protoField struct {
	num  int
	kind int    // 0 varint, 1 fixed64, 2 length-delimited, 5 fixed32
	data []byte // of kind 2
}

// nextField splits the first field off a message in memory. A field is a tag, which is
// a varint of its number and its kind, and then a value whose length the kind says
// (protobuf.dev/programming-guides/encoding). Groups, kinds 3 and 4, are refused: no
// API type has any, and they nest without a size. The result refers to msg and copies
// nothing.
func nextField(msg []byte) (f protoField, rest []byte, err error) {
	// Field numbers go from 1 to 2^29-1; 0 is what a run of zero bytes would begin with.
	tag, n := binary.Uvarint(msg)
	if n <= 0 || tag>>3 == 0 || tag>>3 > 1<<29 {
		return f, nil, errProto
	}
	f.num, f.kind, msg = int(tag>>3), int(tag&7), msg[n:]
	skip := 0
	switch f.kind {
	case 0:
		if _, skip = binary.Uvarint(msg); skip <= 0 {
			return f, nil, errProto
		}
	case 1:
		skip = 8
	case 5:
		skip = 4
	case 2:
		size, n := binary.Uvarint(msg)
		if n <= 0 || size > uint64(len(msg)-n) {
			return f, nil, errProto
		}
		// The size was compared as uint64: converted to int first, it could be negative.
		f.data = msg[n : n+int(size)]
		skip = n + int(size)
	default:
		return f, nil, errProto
	}
	if skip > len(msg) {
		return f, nil, errProto
	}
	return f, msg[skip:], nil
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
// listProto, which must not hold all of it.
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

// ReadByte makes the reader an io.ByteReader for varints, which end with the message.
func (w *protoReader) ReadByte() (byte, error) {
	if w.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	w.left--
	// Counted before the read: if that fails, the message is lost anyway.
	return w.r.ReadByte()
}

// field reads the tag of the next field, and the size of a length-delimited
// one, whose bytes are not consumed. Other kinds are consumed.
func (w *protoReader) field() (num int, kind int, size uint64, err error) {
	// A varint has at most ten bytes; ReadUvarint refuses a longer one.
	tag, err := binary.ReadUvarint(w)
	if err != nil {
		return 0, 0, 0, midValue(err)
	}
	num, kind = int(tag>>3), int(tag&7)
	switch {
	case tag>>3 == 0 || tag>>3 > 1<<29:
		return 0, 0, 0, errProto
	case kind == 0:
		_, err = binary.ReadUvarint(w)
	case kind == 1:
		err = w.skip(8)
	case kind == 5:
		err = w.skip(4)
	case kind == 2:
		size, err = binary.ReadUvarint(w)
		if err == nil && size > w.left {
			err = fmt.Errorf("%w: a field exceeds its message", errProto)
		}
	default:
		err = errProto
	}
	return num, kind, size, midValue(err)
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
