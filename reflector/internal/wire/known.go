package wire

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// After the first list nearly every object of a list, or of initial events, is one
// that the reader's sink has already, in this very version. UID and resourceVersion
// are read from the raw bytes; if the sink knows them, the object is not decoded.
// The function that knows travels in the context, past whatever wraps the source,
// and what it returns comes back in place of the object, as an error.

// Known says whether an object need not be decoded. It returns nil to have it
// decoded, or what is handed over in its place. It is called on several goroutines
// at once; uid and rv are valid during the call only.
type Known func(key types.NamespacedName, uid, rv []byte) Unchanged

// Unchanged takes the place of an object that was not decoded.
//
// It is an error so that it takes the path of an object that could not be decoded: there
// is no value of T to hand over, and the position in the list is kept.
type Unchanged interface {
	error
	// Unchanged marks it: it is not a failure.
	Unchanged()
}

// knownKey is where a context has its Known.
type knownKey struct{}

// WithKnown returns a context under which lists and initial events ask known before
// they decode an object.
func WithKnown(ctx context.Context, known Known) context.Context {
	return context.WithValue(ctx, knownKey{}, known)
}

// unchangedObjects asks Known about raw objects. A nil one knows nothing.
//
// It is used by all decoding goroutines at once. The pool gives each a block for its
// keys.
type unchangedObjects struct {
	known Known
	keys  sync.Pool // of *keyStrings
}

// unchangedIn returns what ctx knows, or nil.
func unchangedIn(ctx context.Context) *unchangedObjects {
	known, ok := ctx.Value(knownKey{}).(Known)
	if !ok {
		return nil
	}
	return &unchangedObjects{known: known, keys: sync.Pool{New: func() any { return &keyStrings{} }}}
}

// find returns what is handed over in place of a raw object, or nil if it must be
// decoded: its identity cannot be read, it is of another kind than the others, or
// the version is not known.
func (u *unchangedObjects) find(id rawIdentity, want *expectation) error {
	// Without a name and a version there is nothing to compare. The decoder finds out
	// whether the object is broken.
	if !id.complete() {
		return nil
	}
	// An object of another kind may have the same name as a cached one. It is decoded,
	// so that the check of its type reports it.
	if kind := want.kind.Load(); kind != nil && len(id.kind) > 0 && string(id.kind) != *kind && string(id.kind) != "PartialObjectMetadata" {
		return nil
	}
	keys := u.keys.Get().(*keyStrings) //nolint:forcetypeassert // by New
	unchanged := u.known(keys.key(id), id.uid, id.rv)
	// The keys that were made stay valid: a block is never written over, only filled up.
	u.keys.Put(keys)
	if unchanged == nil {
		return nil
	}
	// A list of which nothing is decoded must still learn its kind, for the watch that
	// follows.
	if want.kind.Load() == nil && len(id.kind) > 0 && string(id.kind) != "PartialObjectMetadata" {
		want.learn(string(id.kind))
	}
	return unchanged
}

// isUnchanged reports whether an error stands for an object that was not decoded.
func isUnchanged(err error) bool {
	if _, ok := err.(Unchanged); ok { //nolint:errorlint // nearly always the bare value
		return true
	}
	var u Unchanged
	return err != nil && errors.As(err, &u)
}

// concernsOne reports whether the objects after an error are not affected by it.
func concernsOne(err error) bool { return isUnchanged(err) || isObjectError(err) }

// rawIdentity is the identity of an object in its raw bytes, of which it is a part.
//
// Its slices point into the item. They are valid as long as that is.
type rawIdentity struct{ kind, namespace, name, uid, rv []byte }

// complete reports whether it names one version of one object.
func (id *rawIdentity) complete() bool {
	return len(id.name) > 0 && len(id.uid) > 0 && len(id.rv) > 0 && len(id.rv) <= maxForeign
}

// keyBlock is the number of bytes of names that are allocated at a time.
const keyBlock = 4 << 10

// keyStrings makes keys, a few hundred with one allocation. The namespace is mostly
// that of the key before.
//
// A key of strings is needed to look into a cache, and nearly all keys of a relist are
// needed only for that, so they share allocations.
type keyStrings struct {
	block     strings.Builder
	namespace string
}

// key returns the key of an object.
func (k *keyStrings) key(id rawIdentity) types.NamespacedName {
	if k.namespace != string(id.namespace) {
		k.namespace = k.str(id.namespace)
	}
	return types.NamespacedName{Namespace: k.namespace, Name: k.str(id.name)}
}

// str returns b as a string.
func (k *keyStrings) str(b []byte) string {
	// A full block is left to its keys. Growing it would move the bytes, and copy those
	// of all keys in it.
	if k.block.Cap()-k.block.Len() < len(b) {
		k.block = strings.Builder{}
		k.block.Grow(max(keyBlock, len(b)))
	}
	start := k.block.Len()
	k.block.Write(b)
	return k.block.String()[start:]
}

// rawIdentityProto reads the identity of an object in protobuf: field 1 is the
// metadata in all API types, with the fields 1 name, 3 namespace, 5 uid and
// 6 resourceVersion. ok is false if there is any doubt that a decoder would read the
// same: about metadata that comes twice, for one, of which it merges the fields.
func rawIdentityProto(raw []byte) (id rawIdentity, ok bool) {
	var metadata []byte
	for n := 0; len(raw) > 0; {
		f, rest, err := nextField(raw)
		if err != nil {
			return id, false
		}
		if raw = rest; f.num != 1 {
			continue
		}
		// Decoders merge messages that come twice; this scanner does not.
		if n++; n > 1 || f.kind != 2 {
			return id, false
		}
		metadata = f.data
	}
	for len(metadata) > 0 {
		f, rest, err := nextField(metadata)
		if err != nil {
			return id, false
		}
		metadata = rest
		var field *[]byte
		switch f.num {
		case 1:
			field = &id.name
		case 3:
			field = &id.namespace
		case 5:
			field = &id.uid
		case 6:
			field = &id.rv
		default:
			continue
		}
		if f.kind != 2 {
			return id, false
		}
		*field = f.data // the last one counts
	}
	return id, true
}

// rawIdentityJSON reads the identity of an object in JSON. ok is false if there is
// any doubt that a decoder would read the same: about escapes, fields that come
// twice, or values of another type.
func rawIdentityJSON(raw []byte) (id rawIdentity, ok bool) {
	s := jsonScanner{raw}
	ok = s.object(func(name []byte) bool {
		switch string(name) {
		case "kind":
			return s.field(&id.kind)
		case "metadata":
			if id.name != nil || id.uid != nil || id.rv != nil || id.namespace != nil {
				return false
			}
			return s.object(func(name []byte) bool {
				switch string(name) {
				case "name":
					return s.field(&id.name)
				case "namespace":
					return s.field(&id.namespace)
				case "uid":
					return s.field(&id.uid)
				case "resourceVersion":
					return s.field(&id.rv)
				}
				return s.skip()
			})
		}
		return s.skip()
	})
	return id, ok && len(s.rest) == 0
}

// jsonScanner walks over JSON that is in memory, without allocating. Its methods
// return false at what is not plain: the bytes are decoded then.
//
// It prefers a false "no" to a wrong "yes": an object that is decoded in vain costs
// time, one that is taken for unchanged by mistake would be stale in the cache.
type jsonScanner struct{ rest []byte }

// object consumes an object and calls field for each of its fields, which has to
// consume the value.
func (s *jsonScanner) object(field func(name []byte) bool) bool {
	if s.next() != '{' {
		return false
	}
	s.rest = s.rest[1:]
	if s.next() == '}' {
		s.rest = s.rest[1:]
		s.next()
		return true
	}
	for {
		name, ok := s.str()
		if !ok || s.next() != ':' {
			return false
		}
		s.rest = s.rest[1:]
		if !field(name) {
			return false
		}
		c := s.next()
		if c != ',' && c != '}' {
			return false
		}
		s.rest = s.rest[1:]
		if c == '}' {
			s.next()
			return true
		}
	}
}

// field consumes a string that has not come before.
func (s *jsonScanner) field(into *[]byte) bool {
	v, ok := s.str()
	// Of two equal fields decoders take the last; this scanner would have to know which.
	// It gives the object to the decoder instead.
	if !ok || *into != nil {
		return false
	}
	*into = v
	return true
}

// next skips white space and returns the next byte, or 0 at the end.
func (s *jsonScanner) next() byte {
	for i, c := range s.rest {
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			s.rest = s.rest[i:]
			return c
		}
	}
	s.rest = nil
	return 0
}

// str consumes a string without escapes, of printable ASCII characters.
func (s *jsonScanner) str() ([]byte, bool) {
	if s.next() != '"' {
		return nil, false
	}
	end := bytes.IndexByte(s.rest[1:], '"') + 1
	if end == 0 {
		return nil, false
	}
	// With its capacity cut, so that an append to it could not write into the item.
	v := s.rest[1:end:end]
	for _, c := range v {
		// Escapes would have to be decoded, and invalid UTF-8 replaced, exactly as the
		// decoder does. Names, UIDs and versions of API objects have neither, so such an
		// object is simply decoded.
		if c < ' ' || c >= 0x7f || c == '\\' {
			return nil, false
		}
	}
	s.rest = s.rest[end+1:]
	return v, true
}

// skip consumes a value of any type.
func (s *jsonScanner) skip() bool {
	s.next()
	// A lexer of the rest. Its err makes fill fail, so that it never reads from src.
	l := lexer{buf: s.rest}
	l.err = errOutOfBytes
	if _, err := l.value(); err != nil {
		return false
	}
	s.rest = s.rest[l.pos:]
	return true
}

// errOutOfBytes ends a value that goes on behind the bytes that are in memory. No
// caller sees it: the object is decoded then.
var errOutOfBytes = errors.New("the value does not end")
