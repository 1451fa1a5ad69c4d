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
	var (
		callback error // what each returned is passed on as it is
		kinds    tally
	)
	guarded := func(obj T, err error) error {
		kinds.note(err)
		if err := r.codec.verdict(&kinds, false); err != nil {
			return err
		}
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
		err = r.codec.verdict(&kinds, true)
	}
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

// listAnswer is what is known of a list while it is read.
type listAnswer[T Object] struct {
	c     *codec[T]
	items *ahead[T]
	want  *expectation
	typ   typeMeta
	meta  metav1.ListMeta
	seen  map[string]bool // fields
	other uint64          // bytes that are not part of an object
}

func (c *codec[T]) newList(items *ahead[T]) *listAnswer[T] {
	return &listAnswer[T]{c: c, items: items, want: c.expect(), seen: map[string]bool{}}
}

// listJSON reads a list whose fields may come in any order: kinds known to the
// server send apiVersion and kind first, custom resources send items first.
func (c *codec[T]) listJSON(body io.Reader, items *ahead[T]) (metav1.ListMeta, error) {
	a := c.newList(items)
	l := newLexer(body)
	l.limit = c.limit
	err := l.fields(func(name string) error { return a.field(l, name) })
	if err == nil {
		err = a.finish()
	}
	if err != nil {
		return a.meta, err
	}
	switch _, err := l.peek(); {
	case err == nil:
		return a.meta, errors.New("something follows the list")
	case err != io.EOF: //nolint:errorlint // the lexer returns the bare value
		return a.meta, err
	}
	return a.meta, nil
}

// field reads one field of a list in JSON.
func (a *listAnswer[T]) field(l *lexer, name string) error {
	switch name {
	case "items", "apiVersion", "kind", "metadata":
		if err := a.once(name); err != nil {
			return err
		}
	}
	if name == "items" {
		if err := a.begin(); err != nil {
			return err
		}
		a.items.decode = func(raw []byte, i int) (T, error) { return a.c.decodeJSON(raw, a.want, i) }
		return l.elements(func(raw []byte) error {
			if l.deep {
				var none T
				return a.items.put(none, objectError(identifyJSON(raw), a.items.next, errTooDeep))
			}
			return a.items.add(raw)
		})
	}
	raw, err := l.value()
	if err == nil {
		err = a.beside(uint64(len(name) + len(raw)))
	}
	if err != nil {
		return err
	}
	switch {
	case l.deep:
		err = errTooDeep
	case name == "apiVersion":
		err = json.Unmarshal(raw, &a.typ.apiVersion)
		a.typ.apiVersion = cut(a.typ.apiVersion)
	case name == "kind":
		err = json.Unmarshal(raw, &a.typ.kind)
		a.typ.kind = cut(a.typ.kind)
	case name == "metadata":
		err = json.Unmarshal(raw, &a.meta)
	}
	if err != nil {
		return fmt.Errorf("%s of the list: %w", name, quoteless(err))
	}
	return nil
}

// once refuses a field that comes again, as after another list.
func (a *listAnswer[T]) once(field string) error {
	if a.seen[field] {
		return fmt.Errorf("the answer has the field %s twice", field)
	}
	a.seen[field] = true
	return nil
}

// maxEnvelope is how many bytes of an answer may be something else than objects.
// The type of the list and its metadata are all that is known to be there.
const maxEnvelope = 64 << 10

// beside counts bytes that are not part of an object.
func (a *listAnswer[T]) beside(n uint64) error {
	if a.other += n; a.other > maxEnvelope {
		return fmt.Errorf("%w: more than %d bytes beside the objects", errEnvelope, maxEnvelope)
	}
	return nil
}

var errEnvelope = errors.New("the answer is not only a list")

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

// begin is called before the items. What is known of the list by then says what
// they are. A kind that comes after them is that of a list of custom resources,
// which may have any name; its items have their own.
func (a *listAnswer[T]) begin() error {
	if a.typ.kind == "" {
		return nil
	}
	if err := a.checkType(); err != nil {
		return err
	}
	kind, isList := strings.CutSuffix(a.typ.kind, "List")
	switch {
	case !isList:
		return a.notAList()
	case kind == "", a.c.metadataOnly:
	case a.c.kind != "" && kind != a.c.kind:
		return &collectionError{typeMeta{a.typ.apiVersion, kind}, a.want.typ(), a.c.elem}
	default:
		a.want.learn(kind)
	}
	return nil
}

// finish recognises, at the end of an answer, what is not a list of the
// resource. An answer without objects empties the cache, so there must be no
// doubt that it is one.
func (a *listAnswer[T]) finish() error {
	if a.typ.kind == "" || a.typ.apiVersion == "" {
		return errors.New("the answer is JSON, but not a list: it has no kind or no apiVersion")
	}
	if err := a.checkType(); err != nil {
		return err
	}
	if len(a.meta.ResourceVersion) > maxForeign || len(a.meta.Continue) > maxContinue {
		return fmt.Errorf("the answer has a resourceVersion of %d bytes and a continue token of %d bytes", len(a.meta.ResourceVersion), len(a.meta.Continue))
	}
	if a.items.next == 0 && a.meta.ResourceVersion == "" && !a.isExpected() {
		return fmt.Errorf("the answer is an empty %s without a resourceVersion, not a list of the resource", a.typ)
	}
	if !a.seen["items"] && (a.meta.ResourceVersion == "" || !strings.HasSuffix(a.typ.kind, "List")) {
		return fmt.Errorf("the answer is a %s without items", a.typ)
	}
	a.c.newest.Store(a.want)
	return nil
}

// maxContinue bounds the bytes of a continue token, which is part of a URL.
const maxContinue = 8 << 10

// isExpected reports whether the kind of the list is certainly the right one.
func (a *listAnswer[T]) isExpected() bool {
	return a.c.metadataOnly && a.typ.kind == "PartialObjectMetadataList" || a.c.kind != "" && a.typ.kind == a.c.kind+"List"
}

// checkType recognises answers that are not a list of the group and version.
func (a *listAnswer[T]) checkType() error {
	switch {
	case a.typ.kind == "Table":
		return errors.New("the answer is a Table for human readers, not a list: a proxy has changed the Accept header")
	case a.typ.kind == "Status":
		return errors.New("the answer is a Status, not a list")
	case a.c.metadataOnly && a.typ.kind == "PartialObjectMetadataList", a.typ.kind == "List":
		return nil
	case a.typ.apiVersion != "" && a.typ.apiVersion != a.want.apiVersion:
		return a.notAList()
	}
	return nil
}

func (a *listAnswer[T]) notAList() error {
	return fmt.Errorf("the answer is a %s, not a list of %s objects", a.typ, a.want.apiVersion)
}

func isObjectError(err error) bool {
	var oe *ObjectError
	return errors.As(err, &oe)
}

// brokenBody is the error for an answer that began well and could not be read
// to its end.
func brokenBody(ctx context.Context, err error) error {
	var status apierrors.APIStatus
	if ctx.Err() != nil || errors.As(err, &status) || isNetwork(err) {
		return err
	}
	switch Classify(err) {
	case ClassNotSharded, ClassWrongKind:
		return err
	}
	return &decodeError{err}
}
