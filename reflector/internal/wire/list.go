package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/internal/object"
)

// List makes one LIST request. The body is decoded object by object while it
// arrives, and each gets the objects in their order, as ADDED events; an error that each
// returns ends the list, and is returned as it is.
//
//	a goroutine        all cores        the caller, which has sent the request
//	body ▶ read ─add─▶ pipeline ─take─▶ deliver ─▶ each
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
	body := r.limits.begin(resp.Body, req.Continue, true)
	// This unblocks a Read in another goroutine. The one is enough for
	// net/http, the other for what else may be behind a RoundTripper.
	unblock := func() {
		cancel()
		_ = resp.Body.Close()
	}
	var callback error // what each returned is passed on as it is
	a := r.codec.newList(isProto(resp), req, func(ev Event[T]) error {
		if err := body.object(); err != nil {
			return err
		}
		// Remembered, since it comes back through the pipeline and must not be wrapped
		// as an error of the answer.
		callback = each(ev)
		return callback
	})
	err = a.run(ctx, body, unblock)
	if errors.Is(err, errUnversioned) && r.discovered(ctx)+"List" == a.typ.kind {
		err = nil
	}
	switch {
	case callback != nil:
		return a.meta, callback
	case err != nil:
		return a.meta, bodyError(ctx, err)
	}
	r.limits.end(body, a.meta.Continue)
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
// the objects are those of the
// caller of List.
type listAnswer[T Object] struct {
	*codec[T]
	proto bool
	items *pipeline[T]
	typ   typeMeta
	meta  metav1.ListMeta
	seen  map[string]bool // fields
	n     int             // objects
	other uint64          // bytes that are not part of an object
	// status are the fields of a Status, which may come in place of a list.
	status map[string]json.RawMessage

	// early is the kind of the objects, if the list has stated it before them, and behind is
	// whether it may state it behind them. They are set before the first object is in the
	// pipeline.
	early  string
	behind bool

	// What follows belongs to the caller of List.

	each  func(Event[T]) error
	kinds *kinds[T]
	taken int        // events
	held  []Event[T] // whose kind stands behind the items
}

// newList starts to collect what an answer says about itself. The server selects the
// encoding from what Accept allows, and custom resources come as JSON even if protobuf was
// preferred, so the answer is decoded by its own Content-Type.
func (c *codec[T]) newList(proto bool, req Request, each func(Event[T]) error) *listAnswer[T] {
	d := &decoder[T]{codec: c, proto: proto, known: req.Known}
	return &listAnswer[T]{codec: c, proto: proto, items: newPipeline(d, 0), seen: map[string]bool{}, each: each, kinds: c.newKinds("")}
}

// run reads the answer, and hands over its objects.
func (a *listAnswer[T]) run(ctx context.Context, body io.Reader, unblock func()) error {
	err := a.items.each(ctx, func() error { return a.read(body) }, unblock, a.take)
	for _, ev := range a.held {
		if err == nil {
			err = a.deliver(ev, a.objectKind())
		}
	}
	if err == nil {
		err = a.kinds.verdict(true)
	}
	if err == nil {
		// Only now: what follows must not learn its kind from a list that failed.
		a.codec.newest.Store(&listKinds{a.typ.kind, a.kinds.kind})
	}
	return err
}

// take takes over the next event. Objects that state no kind have that of the list. If it
// stands behind them, they are held back until it is known: what a list means does not depend
// on the order of its fields.
func (a *listAnswer[T]) take(ev Event[T]) error {
	if len(a.held) > 0 || a.behind && !object.IsNil(ev.Object) && statedType(ev.Object.GetObjectKind()).kind == "" {
		a.held = append(a.held, ev)
		return nil
	}
	return a.deliver(ev, a.early)
}

// deliver hands an event over. A collection of another kind would otherwise report each of
// its objects as unreadable.
func (a *listAnswer[T]) deliver(ev Event[T], kind string) error {
	ev, err := a.kinds.check(ev, a.taken, kind)
	if err != nil {
		return err
	}
	a.taken++
	return a.each(ev)
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
func (a *listAnswer[T]) item(it item) error {
	a.n++
	_, err := a.items.add(it)
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

// begin is called before the items. After it the first item may be handed over at any time, so
// what is known of the list by then is checked, and again in finish.
func (a *listAnswer[T]) begin() error {
	a.early = a.objectKind()
	a.behind = a.typ.kind == "" && !a.metadataOnly && (a.codec.kind == "" || a.byOption)
	return a.checkType()
}

// objectKind is the kind of the objects that the kind of the list says: the two are related by
// a suffix, an API convention. A list of custom resources may have any name, and a plain List
// may hold objects of any kind.
func (a *listAnswer[T]) objectKind() string {
	if kind, isList := strings.CutSuffix(a.typ.kind, "List"); isList && !a.metadataOnly {
		return kind
	}
	return ""
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
		return fmt.Errorf("the answer is an empty %s %w, not a list of the resource", a.typ, errUnversioned)
	}
	if !a.seen["items"] && (a.meta.ResourceVersion == "" || !strings.HasSuffix(a.typ.kind, "List")) {
		return fmt.Errorf("the answer is a %s without items", a.typ)
	}
	return nil
}

// errUnversioned is that of a list without objects, whose kind is not known to be the right one.
var errUnversioned = errors.New("without a resourceVersion")

// isExpected reports whether the kind of the list is certainly the right one: that which T or
// the options state, or that of the last list.
func (a *listAnswer[T]) isExpected() bool {
	if a.metadataOnly {
		return a.typ.kind == metadataKind+"List"
	}
	newest := a.codec.newest.Load()
	return a.codec.kind != "" && a.typ.kind == a.codec.kind+"List" || newest != nil && a.typ.kind == newest.list
}

// checkType recognises answers that are not a list of the group and version, or of objects of
// another generated type, whose lists are named after them.
func (a *listAnswer[T]) checkType() error {
	kind := a.objectKind()
	switch {
	case a.typ.kind == "Table":
		return errors.New("the answer is a Table for human readers, not a list: a proxy has changed the Accept header")
	case a.typ.kind == "Status":
		if err := bareStatus(a.status); err != errNoType { //nolint:errorlint // returned as it is
			return err
		}
		return errors.New("the answer is a Status, not a list")
	case a.metadataOnly && a.typ.kind == metadataKind+"List", a.typ.kind == "List":
		return nil
	case a.typ.apiVersion != "" && a.typ.apiVersion != a.codec.apiVersion:
		return a.notAList()
	case a.typ.kind == "" || a.codec.kind == "" || a.byOption || kind == a.codec.kind:
		return nil
	case kind == "":
		return a.notAList()
	}
	return a.wrongCollection(typeMeta{a.typ.apiVersion, kind})
}

// notAList names what the answer is instead.
func (a *listAnswer[T]) notAList() error {
	return fmt.Errorf("the answer is a %s, not a list of %s objects", a.typ, a.codec.apiVersion)
}
