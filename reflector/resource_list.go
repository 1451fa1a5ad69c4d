package reflector

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// List implements [ListerWatcher]: the body is decoded object by object while
// it arrives.
func (r *resource[T]) List(ctx context.Context, opts metav1.ListOptions, each func(T, error) error) (metav1.ListMeta, error) {
	request, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := r.get(request, "list", opts, r.listAccept)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	defer resp.Body.Close()
	read := r.codec.listJSON
	if isProto(resp) {
		read = r.codec.listProto
	}
	var callback error // what each returned is passed on as it is
	guarded := func(obj T, err error) error {
		if err == nil {
			if err := r.shard.checkObject(r.opts.ShardSelector, obj); err != nil {
				return err
			}
		}
		callback = each(obj, err)
		return callback
	}
	// This makes a Read in another goroutine return. The one is enough for
	// net/http, the other for what else may be behind a RoundTripper.
	abort := func() {
		cancel()
		_ = resp.Body.Close()
	}
	var meta metav1.ListMeta
	items := newAhead[T](nil)
	err = items.each(ctx, func() (err error) {
		meta, err = read(resp.Body, items)
		return err
	}, abort, guarded)
	if err == nil {
		err = r.shard.checkList(r.opts.ShardSelector, meta.ShardInfo, r.codec.protobuf() && !r.codec.metadataOnly)
	}
	switch {
	case callback != nil:
		return meta, callback
	case err != nil:
		return meta, r.failed("list", brokenBody(ctx, err))
	}
	drain(resp.Body)
	return meta, nil
}

// listJSON reads a list whose fields may come in any order: kinds known to the
// server send apiVersion and kind first, custom resources send items first.
func (c *codec[T]) listJSON(body io.Reader, items *ahead[T]) (metav1.ListMeta, error) {
	var (
		l    = newLexer(body)
		meta metav1.ListMeta
		list typeMeta
		want = c.expected()
		seen bool // items
	)
	err := l.fields(func(name string) error {
		if name == "items" {
			seen = true
			if err := c.checkList(list, &want, false); err != nil {
				return err
			}
			if items.decode == nil {
				want := want
				items.decode = func(raw []byte, i int) (T, error) { return c.decodeJSON(raw, want, i) }
			}
			return l.elements(items.add)
		}
		raw, err := l.value()
		if err != nil {
			return err
		}
		switch name {
		case "apiVersion":
			err = json.Unmarshal(raw, &list.apiVersion)
		case "kind":
			err = json.Unmarshal(raw, &list.kind)
		case "metadata":
			err = json.Unmarshal(raw, &meta)
		}
		return err
	})
	if err == nil {
		err = c.checkList(list, &want, seen)
	}
	if err == nil && list.kind == "" && !seen {
		err = errors.New("the answer is JSON, but not a list")
	}
	return meta, err
}

// maxEnvelope is how many bytes may stand around a list. The types of the list
// are all that is known to stand there.
const maxEnvelope = 64 << 10

// listProto reads a list message: field 1 is the metadata, field 2 repeats per
// item, in all API types.
func (c *codec[T]) listProto(body io.Reader, items *ahead[T]) (metav1.ListMeta, error) {
	var (
		br   = bufio.NewReaderSize(body, 64<<10)
		meta metav1.ListMeta
		want = c.expected()
		seen bool // the list itself
	)
	magic := make([]byte, len(protoMagic))
	if _, err := io.ReadFull(br, magic); err != nil {
		return meta, midValue(err)
	}
	if !bytes.Equal(magic, protoMagic) {
		return meta, fmt.Errorf("%w: no k8s prefix", errProto)
	}
	w := &wireReader{r: br, left: math.MaxUint64}
	var list typeMeta
	for other := uint64(0); ; {
		if _, err := br.Peek(1); err == io.EOF { //nolint:errorlint // bufio returns the bare value
			break
		}
		before := w.left
		num, kind, size, err := w.field()
		if err != nil {
			return meta, err
		}
		// Garbage often reads as fields of unknown numbers, and may never end.
		if kind != 2 || num != 2 {
			if other += before - w.left + size; other > maxEnvelope {
				return meta, fmt.Errorf("%w: more than %d bytes beside the list", errProto, maxEnvelope)
			}
		}
		switch {
		case kind != 2:
		case num == 1:
			b, err := w.take(size)
			if err != nil {
				return meta, err
			}
			if list, err = parseTypeMeta(b); err != nil {
				return meta, err
			}
			if err := c.checkList(list, &want, false); err != nil {
				return meta, err
			}
		case num == 2:
			seen = true
			outer := w.left - size
			w.left = size
			if items.decode == nil {
				want := want
				items.decode = func(raw []byte, i int) (T, error) { return c.decodeProto(raw, typeMeta{}, want, i) }
			}
			if meta, err = itemsProto(w, items); err != nil {
				return meta, err
			}
			w.left = outer
		default:
			if err := w.skip(size); err != nil {
				return meta, err
			}
		}
	}
	if list.kind == "" || !seen {
		return meta, io.ErrUnexpectedEOF
	}
	return meta, nil
}

func itemsProto[T Object](w *wireReader, items *ahead[T]) (meta metav1.ListMeta, err error) {
	for w.left > 0 {
		num, kind, size, err := w.field()
		if err != nil {
			return meta, err
		}
		if kind != 2 {
			continue
		}
		b, err := w.take(size)
		if err != nil {
			return meta, err
		}
		switch num {
		case 1:
			if err := unmarshalProto(&meta, b); err != nil {
				return meta, err
			}
		case 2:
			if err := items.add(b); err != nil {
				return meta, err
			}
		}
	}
	return meta, nil
}

// checkList recognises answers that are no list of the resource and learns the
// kind of its objects. After the items it learns nothing: then it is a list of
// custom resources, whose kind may have any name, and the items have their own.
func (c *codec[T]) checkList(list typeMeta, want *typeMeta, items bool) error {
	switch {
	case list.kind == "":
		return nil // not yet seen
	case list.kind == "Table":
		return errors.New("the answer is a Table for human readers, not a list: a proxy has changed the Accept header")
	case list.kind == "Status":
		return errors.New("the answer is a Status, not a list")
	case c.metadataOnly && list.kind == "PartialObjectMetadataList":
		return nil
	case !items && !strings.HasSuffix(list.kind, "List") || list.apiVersion != "" && list.apiVersion != want.apiVersion && list.kind != "List":
		return fmt.Errorf("the answer is a %s %s, not a list of %s objects", list.apiVersion, list.kind, want.apiVersion)
	}
	if kind := strings.TrimSuffix(list.kind, "List"); kind != "" && !c.metadataOnly && !items {
		c.learn(kind)
		want.kind = kind
	}
	return nil
}

func isObjectError(err error) bool {
	var oe *ObjectError
	return errors.As(err, &oe)
}

// brokenBody is the error for an answer that began well and could not be read
// to its end.
func brokenBody(ctx context.Context, err error) error {
	var status apierrors.APIStatus
	if ctx.Err() != nil || errors.As(err, &status) || isNetwork(err) || Classify(err) == ClassNotSharded {
		return err
	}
	return &decodeError{err}
}
