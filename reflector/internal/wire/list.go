package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// List makes one LIST request. The body is decoded object by object while it
// arrives, and each gets the objects in their order, as ADDED events; an error that each
// returns ends the list, and is returned as it is.
//
//	a goroutine        all cores        the caller, which has sent the request
//	body ▶ read ─add─▶ pipeline ─take─▶ guarded ─▶ each
//	       envelope    decode           kind
//
// Four things can end it: the body, an error in the body, an error of each, and ctx.
// Whichever comes first, both sides have ended when List returns.
func (r *Resource[T]) List(ctx context.Context, req Request, each func(Event[T]) error) (metav1.ListMeta, error) {
	// A context of its own, so that the request can be ended without ending the
	// caller's.
	request, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := r.get(request, req, r.listAccept)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	defer resp.Body.Close()
	var (
		callback error // what each returned is passed on as it is
		kinds    tally
	)
	// It runs on the caller's goroutine, in the order of the list, so kinds and callback
	// need no lock.
	guarded := func(ev Event[T]) error {
		kinds.note(ev.Err)
		// A collection of another kind would otherwise report each of its objects as
		// unreadable.
		if err := r.codec.verdict(&kinds, false); err != nil {
			return err
		}
		// Remembered, since it comes back through the pipeline and must not be wrapped
		// as an error of the answer.
		callback = each(ev)
		return callback
	}
	// This unblocks a Read in another goroutine. The one is enough for
	// net/http, the other for what else may be behind a RoundTripper.
	unblock := func() {
		cancel()
		_ = resp.Body.Close()
	}
	a := r.codec.newList(isProto(resp), req)
	err = a.items.each(ctx, func() error { return a.read(resp.Body) }, unblock, guarded)
	if err == nil {
		err = r.codec.verdict(&kinds, true)
	}
	switch {
	case callback != nil:
		return a.meta, callback
	case err != nil:
		return a.meta, bodyError(ctx, err)
	}
	// Only a body that was read to its end lets net/http use an HTTP/1.1 connection
	// again.
	drain(resp.Body)
	return a.meta, nil
}

// bodyError is the error for an answer that began well and could not be read
// to its end. It keeps the errors that say why: a cancelled context, a Status of the
// server, a broken connection. What is left is a body that is not what it should be.
func bodyError(ctx context.Context, err error) error {
	var status apierrors.APIStatus
	// The order matters: whatever a cancelled request makes of its body is a
	// consequence.
	if ctx.Err() != nil || errors.As(err, &status) || IsNetwork(err) {
		return err
	}
	var kind *WrongKindError
	if errors.As(err, &kind) {
		return err
	}
	return &DecodeError{err}
}

// listAnswer is what is known of a list while it is read. The fields of a list come in
// any order, so its kind may be known before its items or only behind them; whatever is
// wrong is found as soon as it can be, and at the latest by finish, before the
// reflector replaces the cache by it. It belongs to the goroutine that reads the body;
// only want is shared with the decoders.
type listAnswer[T Object] struct {
	*codec[T]
	proto bool
	items *pipeline[T]
	want  *expectation
	typ   typeMeta
	meta  metav1.ListMeta
	seen  map[string]bool // fields
	n     int             // objects
	other uint64          // bytes that are not part of an object
}

// newList starts to collect what an answer says about itself. The server selects the
// encoding from what Accept allows, and custom resources come as JSON even if protobuf was
// preferred, so the answer is decoded by its own Content-Type.
func (c *codec[T]) newList(proto bool, req Request) *listAnswer[T] {
	d := &decoder[T]{codec: c, proto: proto, want: c.expect(), known: req.Known}
	return &listAnswer[T]{codec: c, proto: proto, items: newPipeline(d, 0), want: d.want, seen: map[string]bool{}}
}

// read reads the body, and gives the objects to the pipeline.
func (a *listAnswer[T]) read(body io.Reader) error {
	body = &flushing[T]{body, a.items}
	if a.proto {
		return a.readProto(body)
	}
	return a.readJSON(body)
}

// item gives an object to the pipeline, which copies its bytes.
func (a *listAnswer[T]) item(raw []byte) error {
	a.n++
	_, err := a.items.add(item{typ: watch.Added, raw: raw})
	return err
}

// once refuses a field that comes again, as after another list.
//
// JSON decoders take the last of two equal fields, protobuf merges them. Two sets of
// items can only be a mistake, and believing one of them would delete objects from the
// cache.
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
//
// Without the bound, a body that is not a list could keep the reader busy without end,
// since bytes arrive and no object is ever too large.
func (a *listAnswer[T]) beside(n uint64) error {
	if a.other += n; a.other > maxEnvelope {
		return fmt.Errorf("%w: more than %d bytes beside the objects", errEnvelope, maxEnvelope)
	}
	return nil
}

var errEnvelope = errors.New("the answer is not only a list")

// begin is called before the items. What is known of the list by then says what they
// are. A kind that comes after them is that of a list of custom resources, which may
// have any name; its items have their own. After it the first item may reach the cache
// at any time.
func (a *listAnswer[T]) begin() error {
	if a.typ.kind == "" {
		return nil
	}
	if err := a.checkType(); err != nil {
		return err
	}
	// The kinds of built-in lists and their items are related by this suffix, an API
	// convention.
	kind, isList := strings.CutSuffix(a.typ.kind, "List")
	switch {
	case !isList:
		return a.notAList()
	case kind == "", a.codec.metadataOnly:
	case a.codec.kind != "" && kind != a.codec.kind:
		return a.codec.wrongCollection(typeMeta{a.typ.apiVersion, kind}, a.want.typ())
	default:
		a.want.learn(kind)
	}
	return nil
}

// finish recognises, at the end of an answer, what is not a list of the
// resource. An answer without objects empties the cache, so there must be no
// doubt that it is one.
//
// What it accepts may replace the whole cache.
func (a *listAnswer[T]) finish() error {
	if a.typ.kind == "" || a.typ.apiVersion == "" {
		return errors.New("the answer is JSON, but not a list: it has no kind or no apiVersion")
	}
	if err := a.checkType(); err != nil {
		return err
	}
	if err := CheckPosition(a.meta.ResourceVersion, a.meta.Continue); err != nil {
		return err
	}
	// Some aggregated servers send no resourceVersion. With objects of the right kind
	// that is accepted; without any, only the kind can show that it is the right list.
	if a.n == 0 && a.meta.ResourceVersion == "" && !a.isExpected() {
		return fmt.Errorf("the answer is an empty %s without a resourceVersion, not a list of the resource", a.typ)
	}
	if !a.seen["items"] && (a.meta.ResourceVersion == "" || !strings.HasSuffix(a.typ.kind, "List")) {
		return fmt.Errorf("the answer is a %s without items", a.typ)
	}
	// Only now: the watch that follows must not learn its kind from a list that failed.
	a.codec.newest.Store(a.want)
	return nil
}

// isExpected reports whether the kind of the list is certainly the right one. It needs
// a kind that T or the options have stated. One that was learned from the list itself
// proves nothing about the list.
func (a *listAnswer[T]) isExpected() bool {
	return a.codec.metadataOnly && a.typ.kind == "PartialObjectMetadataList" || a.codec.kind != "" && a.typ.kind == a.codec.kind+"List"
}

// checkType recognises answers that are not a list of the group and version. A plain
// List may hold objects of any kind, so it says nothing about them.
func (a *listAnswer[T]) checkType() error {
	switch {
	case a.typ.kind == "Table":
		return errors.New("the answer is a Table for human readers, not a list: a proxy has changed the Accept header")
	case a.typ.kind == "Status":
		return errors.New("the answer is a Status, not a list")
	case a.codec.metadataOnly && a.typ.kind == "PartialObjectMetadataList", a.typ.kind == "List":
		return nil
	case a.typ.apiVersion != "" && a.typ.apiVersion != a.want.apiVersion:
		return a.notAList()
	}
	return nil
}

// notAList names what the answer is instead.
func (a *listAnswer[T]) notAList() error {
	return fmt.Errorf("the answer is a %s, not a list of %s objects", a.typ, a.want.apiVersion)
}
