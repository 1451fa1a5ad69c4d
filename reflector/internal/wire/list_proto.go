package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// listProto reads a list message: field 1 is the metadata, field 2 repeats per
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
func (c *codec[T]) listProto(body io.Reader, items *pipeline[T]) (metav1.ListMeta, error) {
	a := c.newList(items)
	br := bufio.NewReaderSize(body, 64<<10)
	// Without the magic bytes the body is no answer of an API server, whatever its
	// Content-Type says.
	magic := make([]byte, len(protoMagic))
	if _, err := io.ReadFull(br, magic); err != nil {
		return a.meta, midValue(err)
	}
	if !bytes.Equal(magic, protoMagic) {
		return a.meta, fmt.Errorf("%w: no k8s prefix", errProto)
	}
	// The envelope states no size of its own: it ends with the body.
	w := &protoReader{r: br, left: math.MaxUint64, max: c.limit}
	for {
		// The end is regular only between two fields; anywhere else it is a cut, see
		// midValue.
		if _, err := br.Peek(1); err == io.EOF { //nolint:errorlint // bufio returns the bare value
			break
		}
		before := w.left
		num, kind, size, err := w.field()
		// Garbage often reads as fields of unknown numbers, and may never end.
		if err == nil && (kind != 2 || num != 2) {
			err = a.beside(before - w.left + size)
		}
		if err == nil && kind == 2 {
			err = a.part(w, num, size)
		}
		if err != nil {
			return a.meta, err
		}
	}
	// API servers write field 2 of the envelope for an empty list as well: the list has
	// metadata.
	if !a.seen["kind"] || !a.seen["items"] {
		return a.meta, io.ErrUnexpectedEOF
	}
	return a.meta, a.finish()
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
		a.decode(rawIdentityProto, func(raw []byte, i int) (T, error) { return a.c.decodeProto(raw, typeMeta{}, a.want, i) })
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
		before := w.left
		num, kind, size, err := w.field()
		if err == nil && (kind != 2 || num != 2) {
			err = a.beside(before - w.left + size)
		}
		if err != nil {
			return err
		}
		if kind != 2 {
			// field has consumed the value of any other kind.
			continue
		}
		b, err := w.take(size)
		if err != nil {
			return err
		}
		switch num {
		case 1:
			err = quoteless(unmarshalProto(&a.meta, b))
		case 2:
			// add copies the bytes, since take reuses its buffer for the next field.
			err = a.items.add(b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
