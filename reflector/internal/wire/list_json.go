package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// listJSON reads a list whose fields may come in any order: kinds known to the
// server send apiVersion and kind first, custom resources send items first.
func (c *codec[T]) listJSON(body io.Reader, items *pipeline[T]) (metav1.ListMeta, error) {
	a := c.newList(items)
	l := newLexer(body)
	// The limit is for each value; what is beside the items has one of its own.
	l.limit = c.limit
	// No field is required to come first, so what is known is checked in begin and
	// again in finish.
	err := l.fields(func(name string) error { return a.field(l, name) })
	if err == nil {
		err = a.finish()
	}
	if err != nil {
		return a.meta, err
	}
	// A list must be the whole body: a proxy that joins two answers, or adds text to
	// one, would otherwise go unnoticed.
	switch _, err := l.peek(); {
	case err == nil:
		return a.meta, errors.New("something follows the list")
	case err != io.EOF: //nolint:errorlint // the lexer returns the bare value
		return a.meta, err
	}
	return a.meta, nil
}

// field reads one field of a list in JSON. Unknown fields are skipped, but counted:
// the limit on bytes beside the objects is what ends an answer that never comes to its
// items. A field of a known name that comes twice would let the second hide the first.
func (a *listAnswer[T]) field(l *lexer, name string) error {
	switch name {
	case "items", "apiVersion", "kind", "metadata":
		if err := a.once(name); err != nil {
			return err
		}
	}
	// The array is the only field that is not held as a whole: its elements go to the
	// pipeline one by one.
	if name == "items" {
		// Called between the fields before the items and the first item: a list of
		// another kind is refused before any object reaches the cache.
		if err := a.begin(); err != nil {
			return err
		}
		a.decode(rawIdentityJSON, func(raw []byte, i int) (T, error) { return a.c.decodeJSON(raw, a.want, i) })
		return l.elements(func(raw []byte) error {
			// No decoder sees it; what identifies it is read without recursion.
			if l.deep {
				var none T
				return a.items.put(none, objectError(identifyJSON(raw), a.items.next, errTooDeep))
			}
			return a.items.add(raw)
		})
	}
	// All other fields are small and held as a whole. Those of unknown names are
	// counted by their size and then dropped.
	raw, err := l.value()
	if err == nil {
		err = a.beside(uint64(len(name) + len(raw)))
	}
	if err != nil {
		return err
	}
	switch {
	// json.Unmarshal recurses, so it must not see such a value at all.
	case l.deep:
		err = errTooDeep
	// Kind and version are kept with the list, and printed if something is wrong with
	// it, hence the bound.
	case name == "apiVersion":
		err = json.Unmarshal(raw, &a.typ.apiVersion)
		a.typ.apiVersion = Cut(a.typ.apiVersion)
	case name == "kind":
		err = json.Unmarshal(raw, &a.typ.kind)
		a.typ.kind = Cut(a.typ.kind)
	case name == "metadata":
		err = json.Unmarshal(raw, &a.meta)
	}
	if err != nil {
		return fmt.Errorf("%s of the list: %w", name, quoteless(err))
	}
	return nil
}
