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
// Decoders merge messages that come twice, so it is not certain then. Of an object that is cut
// short, what comes before the cut is found.
func identifyProto(raw []byte) (id identity) {
	id.certain = true
	id.proto(raw, func(num int, data []byte) {
		if num != 1 {
			return
		}
		id.certain = id.certain && data != nil && id.name == nil && id.namespace == nil && id.uid == nil && id.rv == nil
		id.proto(data, func(num int, data []byte) {
			var part *[]byte
			switch num {
			case 1:
				part = &id.name
			case 3:
				part = &id.namespace
			case 5:
				part = &id.uid
			case 6:
				part = &id.rv
			default:
				return
			}
			id.certain = id.certain && data != nil
			*part = data // the last one counts
		})
	})
	return id
}

// proto calls fn for the fields of a message.
func (id *identity) proto(msg []byte, fn func(num int, data []byte)) {
	for len(msg) > 0 {
		f, rest, err := nextField(msg)
		if err != nil {
			id.certain = false
			return
		}
		fn(f.num, f.data)
		msg = rest
	}
}

// identifyJSON reads the metadata field by field, so that one of a wrong type hides only
// itself. It is not certain about a part that is not a string, has escapes, or comes twice.
func identifyJSON(raw []byte) identity {
	s := identityScanners.Get().(*identityScanner) //nolint:forcetypeassert // by New
	s.src = *bytes.NewBuffer(raw)
	s.dec.Reset(&s.src, textOptions)
	s.raw, s.id = raw, identity{certain: true}
	s.fields(false)
	id := s.id
	s.src, s.id, s.raw = bytes.Buffer{}, identity{}, nil // it must not keep the bytes alive
	identityScanners.Put(s)
	return id
}

// identityScanners are used by all goroutines that decode.
var identityScanners = sync.Pool{New: func() any { return &identityScanner{dec: jsontext.NewDecoder(&bytes.Buffer{})} }}

// identityScanner reads the identity of one object.
type identityScanner struct {
	src bytes.Buffer
	dec *jsontext.Decoder
	raw []byte
	id  identity
}

// part returns the part that a field of the object, or of its metadata, is, or nil.
func (s *identityScanner) part(name []byte, metadata bool) *[]byte {
	switch {
	case !metadata && string(name) == "kind":
		return &s.id.kind
	case !metadata:
		return nil
	}
	switch string(name) {
	case "name":
		return &s.id.name
	case "namespace":
		return &s.id.namespace
	case "uid":
		return &s.id.uid
	case "resourceVersion":
		return &s.id.rv
	}
	return nil
}

// finished reports whether nothing that counts can be in the rest, behind the metadata. The
// specification and status are most of an object, and looking for two words is quicker than
// reading them.
func (s *identityScanner) finished() bool {
	rest := s.raw[s.dec.InputOffset():]
	return s.id.name != nil && bytes.IndexByte(rest, '\\') < 0 &&
		!bytes.Contains(rest, []byte(`metadata"`)) && !bytes.Contains(rest, []byte(`kind"`))
}

// fields reads an object, or its metadata.
func (s *identityScanner) fields(metadata bool) {
	if s.dec.PeekKind() != '{' {
		s.skip(true)
		return
	}
	_, _ = s.dec.ReadToken()
	for s.dec.PeekKind() == '"' {
		quoted, err := s.dec.ReadValue()
		if err != nil {
			break
		}
		name, _ := unquote(quoted)
		if part := s.part(name, metadata); part != nil {
			s.value(part)
			continue
		}
		if metadata || string(name) != "metadata" {
			s.skip(false)
			continue
		}
		if s.id.name != nil || s.id.namespace != nil || s.id.uid != nil || s.id.rv != nil {
			s.id.certain = false
		}
		s.fields(true)
		if s.dec.PeekKind() == '"' && s.finished() {
			return
		}
	}
	if tok, err := s.dec.ReadToken(); err != nil || tok.Kind() != '}' {
		s.id.certain = false
	}
}

// skip consumes a value, which may be one that is not expected.
func (s *identityScanner) skip(unexpected bool) {
	if s.dec.SkipValue() != nil || unexpected {
		s.id.certain = false
	}
}

// value consumes the value of one part. Of a field that comes twice the last one counts, as in
// a decoder.
func (s *identityScanner) value(part *[]byte) {
	quoted, err := s.dec.ReadValue()
	if err != nil || quoted.Kind() != '"' {
		s.id.certain = false
		return
	}
	if *part != nil || !isASCII(quoted[1:len(quoted)-1]) {
		s.id.certain = false
	}
	*part, _ = unquote(quoted)
}
