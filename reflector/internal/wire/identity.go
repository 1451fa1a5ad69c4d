package wire

import (
	"bytes"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/types"
)

// identity is what identifies one version of an object, read from its bytes without decoding
// it. Two questions need it: whether the sink has the object already, so that it need not be
// decoded, and which one it is if it cannot be decoded: a cache must know which object of its
// own is not up to date.
//
// Each part may be empty: an object that is broken may still have a readable name. They are
// valid as long as the bytes of the object are.
type identity struct {
	kind, namespace, name, uid, rv []byte
	// certain says that a decoder reads the same.
	certain bool
}

// field returns the part for a field of the metadata, or nil for any other field.
func (id *identity) field(name []byte) *[]byte {
	switch string(name) {
	case "name":
		return &id.name
	case "namespace":
		return &id.namespace
	case "uid":
		return &id.uid
	case "resourceVersion":
		return &id.rv
	}
	return nil
}

// failed is the error for the object, which cannot be used.
func (id identity) failed(position int, cause error) *ObjectError {
	return &ObjectError{
		Key: types.NamespacedName{Namespace: identifier(id.namespace), Name: identifier(id.name)},
		UID: types.UID(identifier(id.uid)), ResourceVersion: identifier(id.rv), Position: position, Err: cause,
	}
}

// identifyProto reads field 1, which is the metadata in all API types: its fields 1 name,
// 3 namespace, 5 uid, 6 resourceVersion. The numbers are those of ObjectMeta in
// k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto, which cannot change.
//
// Decoders merge messages that come twice, so it is not certain then.
func identifyProto(raw []byte) (id identity) {
	id.certain = true
	var metadata []byte
	for n := 0; len(raw) > 0; {
		f, rest, err := nextField(raw)
		if err != nil {
			id.certain = false
			break
		}
		if raw = rest; f.num == 1 {
			n++
			metadata = f.data
			id.certain = id.certain && n == 1 && f.kind == 2
		}
	}
	for len(metadata) > 0 {
		f, rest, err := nextField(metadata)
		if err != nil {
			id.certain = false
			break
		}
		metadata = rest
		var part *[]byte
		switch f.num {
		case 1:
			part = &id.name
		case 3:
			part = &id.namespace
		case 5:
			part = &id.uid
		case 6:
			part = &id.rv
		default:
			continue
		}
		*part = f.data // the last one counts
		id.certain = id.certain && f.kind == 2
	}
	return id
}

// identifyJSON reads the metadata field by field, so that one of a wrong type hides only
// itself. It is not certain about a part that is not a string, has escapes, or comes twice.
func identifyJSON(raw []byte) identity {
	s := identityScanners.Get().(*identityScanner) //nolint:forcetypeassert // by New
	s.src = *bytes.NewBuffer(raw)
	s.dec.Reset(&s.src, textOptions)
	s.id, s.rest = identity{certain: true}, raw
	s.fields(func(name []byte) {
		switch {
		case string(name) == "kind":
			s.part(&s.id.kind)
		case string(name) != "metadata":
			s.skip()
		case s.dec.PeekKind() != '{':
			s.doubt()
			s.skip()
		default:
			if s.id.name != nil || s.id.namespace != nil || s.id.uid != nil || s.id.rv != nil {
				s.doubt()
			}
			s.fields(func(name []byte) {
				if part := s.id.field(name); part != nil {
					s.part(part)
				} else {
					s.skip()
				}
			})
			s.rest = raw[s.dec.InputOffset():]
		}
	})
	id := s.id
	s.src, s.id, s.rest = bytes.Buffer{}, identity{}, nil // it must not keep the bytes alive
	identityScanners.Put(s)
	return id
}

// identityScanners are used by all goroutines that decode.
var identityScanners = sync.Pool{New: func() any { return &identityScanner{dec: jsontext.NewDecoder(&bytes.Buffer{})} }}

// identityScanner reads the identity of one object.
type identityScanner struct {
	src bytes.Buffer
	dec *jsontext.Decoder
	id  identity
	// rest is what is behind the metadata.
	rest []byte
}

// finished reports whether nothing that counts can be behind the metadata. Its specification and
// its status are most of an object, and looking for two words is quicker than reading them.
func (s *identityScanner) finished() bool {
	return s.id.name != nil && bytes.IndexByte(s.rest, '\\') < 0 &&
		!bytes.Contains(s.rest, []byte(`metadata"`)) && !bytes.Contains(s.rest, []byte(`kind"`))
}

func (s *identityScanner) doubt() { s.id.certain = false }

// skip consumes a value.
func (s *identityScanner) skip() {
	if s.dec.SkipValue() != nil {
		s.doubt()
	}
}

// fields consumes an object and calls fn with the name of each of its fields, whose value fn
// has to consume. What is not an object is not consumed.
func (s *identityScanner) fields(fn func(name []byte)) {
	if s.dec.PeekKind() != '{' {
		s.doubt()
		return
	}
	_, _ = s.dec.ReadToken()
	for s.dec.PeekKind() == '"' {
		if s.dec.StackDepth() == 1 && s.finished() {
			return
		}
		quoted, err := s.dec.ReadValue()
		if err != nil {
			s.doubt()
			return
		}
		name, _ := unquote(quoted)
		fn(name)
	}
	if tok, err := s.dec.ReadToken(); err != nil || tok.Kind() != '}' {
		s.doubt()
	}
}

// part consumes the value of one part of the identity.
func (s *identityScanner) part(into *[]byte) {
	quoted, err := s.dec.ReadValue()
	if err != nil || quoted.Kind() != '"' {
		s.doubt()
		return
	}
	if *into != nil || !isASCII(quoted[1:len(quoted)-1]) {
		s.doubt()
	}
	// Of a field that comes twice the last one counts, as in a decoder.
	*into, _ = unquote(quoted)
}
