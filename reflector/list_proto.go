package reflector

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
// item, in all API types.
func (c *codec[T]) listProto(body io.Reader, items *ahead[T]) (metav1.ListMeta, error) {
	a := c.newList(items)
	br := bufio.NewReaderSize(body, 64<<10)
	magic := make([]byte, len(protoMagic))
	if _, err := io.ReadFull(br, magic); err != nil {
		return a.meta, midValue(err)
	}
	if !bytes.Equal(magic, protoMagic) {
		return a.meta, fmt.Errorf("%w: no k8s prefix", errProto)
	}
	w := &wireReader{r: br, left: math.MaxUint64, max: c.limit}
	for {
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
	if !a.seen["kind"] || !a.seen["items"] {
		return a.meta, io.ErrUnexpectedEOF
	}
	return a.meta, a.finish()
}

// part reads one field of the envelope of a list in protobuf.
func (a *listAnswer[T]) part(w *wireReader, num int, size uint64) error {
	switch num {
	case 1:
		b, err := w.take(size)
		if err == nil {
			err = a.once("kind")
		}
		if err == nil {
			a.typ, err = parseTypeMeta(b)
		}
		return err
	case 2:
		if err := a.once("items"); err != nil {
			return err
		}
		if a.typ.kind == "" {
			return errors.New("the answer is protobuf, but not a list: its kind does not come first")
		}
		if err := a.begin(); err != nil {
			return err
		}
		outer := w.left - size
		w.left = size
		a.items.decode = func(raw []byte, i int) (T, error) { return a.c.decodeProto(raw, typeMeta{}, a.want, i) }
		err := a.itemsProto(w)
		w.left = outer
		return err
	default:
		return w.skip(size)
	}
}

func (a *listAnswer[T]) itemsProto(w *wireReader) error {
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
			err = a.items.add(b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
