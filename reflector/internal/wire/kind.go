package wire

import (
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
)

// maxWrongKind is after how many objects of another kind, and none of the right
// one, a collection is taken for one of that kind without reading on.
const maxWrongKind = 100

// expectation is the type that the objects of one list or stream must have. The
// kind is that which T says, or else that of the list, or of its first object
// that says one. It is not kept for the next list: a resource may have been
// removed, and come back with another kind.
//
// Decoders on several goroutines share it, so the kind is set once and atomically.
type expectation struct {
	apiVersion string
	kind       atomic.Pointer[string] // nil: not known yet
}

// newExpectation knows the kind from the start if it is not "".
func newExpectation(apiVersion, kind string) *expectation {
	e := &expectation{apiVersion: apiVersion}
	e.learn(kind)
	return e
}

// learn notes the kind if none is known.
func (e *expectation) learn(kind string) {
	if kind != "" && e.kind.Load() == nil {
		// The first one wins: later objects are compared with it, and must not change
		// it. The copy is what escapes, so that nothing is allocated once a kind is known.
		first := kind
		e.kind.CompareAndSwap(nil, &first)
	}
}

// typ returns what is known of the type by now.
func (e *expectation) typ() typeMeta {
	if kind := e.kind.Load(); kind != nil {
		return typeMeta{e.apiVersion, *kind}
	}
	return typeMeta{apiVersion: e.apiVersion}
}

// kindOf returns the kind that a Go type stands for, or "" if that is not known.
// The Go types that are generated with a protobuf decoder are named after their
// kind; so are structs that embed one, since they decode as it does.
func kindOf(typ reflect.Type) string {
	if !reflect.PointerTo(typ).Implements(reflect.TypeFor[protoObject]()) {
		return ""
	}
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Anonymous && f.Type.Kind() == reflect.Pointer {
			f.Type = f.Type.Elem()
		}
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			if kind := kindOf(f.Type); kind != "" {
				return kind
			}
		}
	}
	return typ.Name()
}

// protoObject is what generated API types implement.
type protoObject interface {
	Object
	protoMessage
}

// kindError says that an object has another type than it must have.
type kindError struct{ got, want typeMeta }

// Error is part of the message for the object, hence "it".
func (e *kindError) Error() string {
	return fmt.Sprintf("it is a %s, not a %s", e.got, e.want)
}

// String is apiVersion and kind.
func (t typeMeta) String() string { return Cut(t.apiVersion + " " + t.kind) }

// WrongKindError says that a collection is of another kind than T.
type WrongKindError struct {
	got, want typeMeta
	typ       reflect.Type // T is *typ
	option    bool         // the kind is that of Options
}

// Error names what has to be changed: the resource, the Go type, or the option that
// states the kind.
func (e *WrongKindError) Error() string {
	if e.option {
		return fmt.Sprintf("it is a collection of %s objects, but ResourceOptions.Kind says %s: either the resource or the option is the wrong one", e.got, e.want)
	}
	return fmt.Sprintf("it is a collection of %s objects, but *%s is for %s objects: either the resource or the type is the wrong one", e.got, e.typ, e.want)
}

// tally finds out whether a collection is of another kind than T says.
//
// One object of another kind is that object's error. If all are, the resource or the
// type is wrong, which the user must change, and one error that says so is better than
// one per object.
type tally struct {
	good, other int
	first       *kindError
}

// note counts an object. An object that was not decoded counts as good: the sink has
// it, in this version. Errors other than a wrong kind say nothing about the collection,
// and count for neither.
func (t *tally) note(err error) {
	if err == nil || isUnchanged(err) {
		t.good++
		return
	}
	var kind *kindError // here, as it is allocated for errors.As
	if errors.As(err, &kind) {
		// The first is kept for the message; the others say the same.
		if t.other++; t.first == nil {
			t.first = kind
		}
	}
}

// verdict returns an error for a collection of another kind: at its end, or earlier if
// there is no doubt. One object of the right kind settles it.
func (c *codec[T]) verdict(t *tally, end bool) error {
	if c.kind == "" || t.good > 0 || t.other == 0 || !end && t.other < maxWrongKind {
		return nil
	}
	return c.wrongCollection(t.first.got, t.first.want)
}

// wrongCollection names what has said the kind.
func (c *codec[T]) wrongCollection(got, want typeMeta) error {
	return &WrongKindError{got: got, want: want, typ: c.elem, option: c.byOption}
}
