package reflector

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
