package wire

import (
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// listAnswer is what is known of a list while it is read. The fields of a list come in
// any order, so its kind may be known before its items or only behind them; whatever is
// wrong is found as soon as it can be, and at the latest by finish, before the
// reflector replaces the cache by it. It belongs to the goroutine that reads the body;
// only want is shared with the decoders.
type listAnswer[T Object] struct {
	c     *codec[T]
	items *pipeline[T]
	want  *expectation
	typ   typeMeta
	meta  metav1.ListMeta
	seen  map[string]bool // fields
	other uint64          // bytes that are not part of an object
}

// newList starts to collect what an answer says about itself.
func (c *codec[T]) newList(items *pipeline[T]) *listAnswer[T] {
	return &listAnswer[T]{c: c, items: items, want: c.expect(), seen: map[string]bool{}}
}

// decode sets how the items are decoded: those that are known in their version, as
// identify reads it, are not. Both functions run on several goroutines at once, so they
// must not change a.
func (a *listAnswer[T]) decode(identify func(raw []byte) (rawIdentity, bool), decode func(raw []byte, i int) (T, error)) {
	a.items.decode = decode
	if a.items.unchanged == nil {
		return
	}
	a.items.decode = func(raw []byte, i int) (T, error) {
		if id, ok := identify(raw); ok {
			if err := a.items.unchanged.find(id, a.want); err != nil {
				var none T
				return none, err
			}
		}
		return decode(raw, i)
	}
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
	case kind == "", a.c.metadataOnly:
	case a.c.kind != "" && kind != a.c.kind:
		return a.c.wrongCollection(typeMeta{a.typ.apiVersion, kind}, a.want.typ())
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
	if a.items.next == 0 && a.meta.ResourceVersion == "" && !a.isExpected() {
		return fmt.Errorf("the answer is an empty %s without a resourceVersion, not a list of the resource", a.typ)
	}
	if !a.seen["items"] && (a.meta.ResourceVersion == "" || !strings.HasSuffix(a.typ.kind, "List")) {
		return fmt.Errorf("the answer is a %s without items", a.typ)
	}
	// Only now: the watch that follows must not learn its kind from a list that failed.
	a.c.newest.Store(a.want)
	return nil
}

// isExpected reports whether the kind of the list is certainly the right one. It needs
// a kind that T or the options have stated. One that was learned from the list itself
// proves nothing about the list.
func (a *listAnswer[T]) isExpected() bool {
	return a.c.metadataOnly && a.typ.kind == "PartialObjectMetadataList" || a.c.kind != "" && a.typ.kind == a.c.kind+"List"
}

// checkType recognises answers that are not a list of the group and version. A plain
// List may hold objects of any kind, so it says nothing about them.
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

// notAList names what the answer is instead.
func (a *listAnswer[T]) notAList() error {
	return fmt.Errorf("the answer is a %s, not a list of %s objects", a.typ, a.want.apiVersion)
}
