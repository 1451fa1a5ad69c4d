package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// schemaNode is a type that contains itself, as the schemas of
// CustomResourceDefinitions do, with a decoder as lenient as generated ones.
type schemaNode struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Child *schemaNode
	level int
	most  *int // the deepest level reached
}

func (s *schemaNode) DeepCopyObject() runtime.Object { c := *s; return &c }

func (s *schemaNode) Reset() { *s = schemaNode{} }

var errWire = errors.New("proto: cannot decode")

// Unmarshal reads field 1, metadata, and field 2, another node. Like generated
// decoders it recurses without a bound, so that some megabytes could overflow the
// stack, and skips groups of unknown numbers.
func (s *schemaNode) Unmarshal(b []byte) error {
	if s.most != nil {
		*s.most = max(*s.most, s.level)
	}
	for len(b) > 0 {
		tag, n := generatedVarint(b)
		if n == 0 || int32(tag>>3) <= 0 || tag&7 == 4 {
			return errWire
		}
		if num := int32(tag >> 3); tag&7 == 2 && (num == 1 || num == 2) {
			size, m := generatedVarint(b[n:])
			if m == 0 || size > uint64(len(b)-n-m) {
				return io.ErrUnexpectedEOF
			}
			data := b[n+m:][:size]
			b = b[n+m+int(size):]
			if num == 1 {
				if err := s.ObjectMeta.Unmarshal(data); err != nil {
					return err
				}
				continue
			}
			s.Child = &schemaNode{level: s.level + 1, most: s.most}
			if err := s.Child.Unmarshal(data); err != nil {
				return err
			}
			continue
		}
		skip := generatedSkip(b)
		if skip == 0 {
			return errWire
		}
		b = b[skip:]
	}
	return nil
}

func generatedVarint(b []byte) (v uint64, n int) {
	for shift := uint(0); shift < 64; shift += 7 {
		if n >= len(b) {
			return 0, 0
		}
		c := b[n]
		n++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, n
		}
	}
	return 0, 0
}

// generatedSkip returns the size of the first field, a whole group if it is one.
func generatedSkip(b []byte) (size int) {
	for depth := 0; size < len(b); {
		tag, n := generatedVarint(b[size:])
		if n == 0 {
			return 0
		}
		size += n
		switch tag & 7 {
		case 0:
			_, n := generatedVarint(b[size:])
			if n == 0 {
				return 0
			}
			size += n
		case 1:
			size += 8
		case 2:
			length, n := generatedVarint(b[size:])
			if n == 0 || length > uint64(len(b)) {
				return 0
			}
			size += n + int(length)
		case 3:
			depth++
		case 4:
			if depth == 0 {
				return 0
			}
			depth--
		case 5:
			size += 4
		default:
			return 0
		}
		if size > len(b) {
			return 0
		}
		if depth == 0 {
			return size
		}
	}
	return 0
}

// nested returns a message with the given number of messages in each other in
// field 2, and before each of them what is given.
func nested(levels int, before ...byte) []byte {
	var reversed []byte // written from the inside to the outside
	for range levels {
		head := binary.AppendUvarint(append(bytes.Clone(before), 2<<3|2), uint64(len(reversed)))
		slices.Reverse(head)
		reversed = append(reversed, head...)
	}
	slices.Reverse(reversed)
	return reversed
}

// deepNode is a node that is named, and in which there are levels others.
func deepNode(t testing.TB, name string, levels int, before ...byte) []byte {
	meta, err := (&metav1.ObjectMeta{Name: name, ResourceVersion: "5"}).Marshal()
	require.NoError(t, err)
	msg := binary.AppendUvarint([]byte{1<<3 | 2}, uint64(len(meta)))
	return append(append(msg, meta...), nested(levels, before...)...)
}

// detours are what a generated decoder reads past, and a strict one would not.
var detours = map[string][]byte{
	"plainly":             nil,
	"behind a group":      {9<<3 | 3, 9<<3 | 4},
	"behind a full group": {9<<3 | 3, 1 << 3, 7, 9<<3 | 4},
	// Field 1<<40|9 is cut to 32 bits; eight bytes of content follow.
	"behind a long number": append(binary.AppendUvarint(nil, (1<<40|9)<<3|1), 0, 0, 0, 0, 0, 0, 0, 0),
	// The tenth byte has bits above the 64th.
	"behind an overflow": {9 << 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
}

func TestAMessageNestedTooDeeplyIsNotDecoded(t *testing.T) {
	t.Parallel()
	for name, before := range detours {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			most := 0
			require.NoError(t, (&schemaNode{most: &most}).Unmarshal(nested(3, before...)), "a generated decoder takes it")
			require.Equal(t, 3, most)
			require.False(t, protoTooDeep(nested(maxDepth, before...), maxDepth))
			require.True(t, protoTooDeep(nested(maxDepth+2, before...), maxDepth))
		})
	}
}

func TestProtobufNestedTooDeeplyIsQuarantined(t *testing.T) {
	t.Parallel()
	c, err := newCodec[*schemaNode]("v1")
	require.NoError(t, err)
	require.True(t, c.recursive)
	for name, before := range detours {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Each level is a header of the size of all that is inside it.
			var items []byte
			for _, raw := range [][]byte{deepNode(t, "good", 10, before...), deepNode(t, "deep", 100_000, before...)} {
				items = append(items, 2<<3|2)
				items = append(binary.AppendUvarint(items, uint64(len(raw))), raw...)
			}
			var objs []*schemaNode
			var errs []error
			_, err := listProto(c, bytes.NewReader(envelope(t, "schemaNodeList", marshaled(items))), collectAll(&objs, &errs))
			require.NoError(t, err)
			require.Len(t, objs, 1)
			require.Len(t, errs, 1)
			require.ErrorIs(t, errs[0], errTooDeep)
			require.Equal(t, "deep", errs[0].(*ObjectError).Key.Name)

			next := protoEvents(c, bytes.NewReader(frame(t, watch.Added, envelope(t, "schemaNode", marshaled(deepNode(t, "deep", 100_000, before...))))))
			ev, err := next()
			require.NoError(t, err)
			require.ErrorIs(t, ev.Err, errTooDeep)
			require.Equal(t, "deep", ev.Err.(*ObjectError).Key.Name)
		})
	}
}

// FuzzProtoDepth compares with what a decoder makes of the same bytes.
func FuzzProtoDepth(f *testing.F) {
	for _, before := range detours {
		f.Add(nested(4, before...))
		f.Add(deepNode(f, "a", 9, before...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		most := 0
		_ = (&schemaNode{most: &most}).Unmarshal(data)
		for _, depth := range []int{0, 1, 3, 8} {
			if most > depth+1 {
				require.True(t, protoTooDeep(data, depth), "decoded to level %d", most)
			}
		}
	})
}

func TestOnlyTypesThatContainThemselvesAreRecursive(t *testing.T) {
	t.Parallel()
	for want, types := range map[bool][]any{
		true:  {schemaNode{}, []schemaNode{}, map[string]schemaNode{}, struct{ A [2]*schemaNode }{}, struct{ M map[string][]schemaNode }{}},
		false: {corev1.Pod{}, appsv1.Deployment{}, metav1.PartialObjectMetadata{}, struct{ A, B metav1.ObjectMeta }{}, map[string]string{}},
	} {
		for _, v := range types {
			require.Equal(t, want, recursive(reflect.TypeOf(v)), "%T", v)
		}
	}
}

// brackets is a JSON array nested so deep.
func brackets(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

func TestTheDepthOfAValueIsThatOfItsBrackets(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{
		brackets(maxDepth):                        false,
		brackets(maxDepth + 1):                    true,
		brackets(9_000):                           true,
		brackets(20_000):                          true, // deeper than any JSON decoder goes
		`{"a":"` + brackets(2*maxDepth) + `"}`:    false,
		`[` + strings.Repeat(`[],`, 2000) + `1]`:  false,
		`{"a":[` + brackets(maxDepth-1) + `,{}]}`: true,
	} {
		require.Equal(t, want, tooDeep([]byte(value)))
	}
}

func TestJSONNestedTooDeeplyIsQuarantined(t *testing.T) {
	t.Parallel()
	c, err := newCodec[*corev1.ConfigMap]("v1")
	require.NoError(t, err)
	object := func(name string, levels int) string {
		return fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","x":%s,"metadata":{"name":%q,"namespace":"ns","resourceVersion":"5"}}`, brackets(levels), name)
	}
	good, deep := object("good", maxDepth-1), object("deep", maxDepth)
	t.Run("list", func(t *testing.T) {
		t.Parallel()
		body := `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[` + good + "," + deep + "," + good + `]}`
		var objs []*corev1.ConfigMap
		var errs []error
		_, err := listJSON(c, strings.NewReader(body), collectAll(&objs, &errs))
		require.NoError(t, err)
		require.Len(t, objs, 2)
		require.Len(t, errs, 1)
		require.ErrorIs(t, errs[0], errTooDeep)
		require.Equal(t, "ns/deep", errs[0].(*ObjectError).Key.String())
		require.Equal(t, 1, errs[0].(*ObjectError).Position)
	})
	t.Run("field of a list", func(t *testing.T) {
		t.Parallel()
		for _, field := range []string{"metadata", "kind", "apiVersion", "other"} {
			var objs []*corev1.ConfigMap
			var errs []error
			_, err := listJSON(c, strings.NewReader(`{"`+field+`":`+brackets(maxDepth+1)), collectAll(&objs, &errs))
			require.ErrorIs(t, err, errTooDeep, field)
		}
	})
	t.Run("watch", func(t *testing.T) {
		t.Parallel()
		event := func(typ, object string) string { return `{"type":"` + typ + `","object":` + object + "}\n" }
		next := jsonEvents(c, strings.NewReader(
			event("ADDED", object("good", maxDepth-2))+event("DELETED", deep)+event("ADDED", object("good", 1))+event("ERROR", deep)))
		ev, err := next()
		require.NoError(t, err)
		require.NoError(t, ev.Err)
		ev, err = next()
		require.NoError(t, err)
		require.Equal(t, watch.Deleted, ev.Type)
		require.ErrorIs(t, ev.Err, errTooDeep)
		require.Equal(t, "ns/deep", ev.Err.(*ObjectError).Key.String())
		ev, err = next()
		require.NoError(t, err)
		require.NoError(t, ev.Err)
		_, err = next()
		require.ErrorIs(t, err, errTooDeep, "an ERROR event ends the watch")
	})
}

func TestAMessageThatIsCutShortIsNotTooDeep(t *testing.T) {
	t.Parallel()
	whole := nested(5, 9<<3, 1)
	for n := range whole {
		require.False(t, protoTooDeep(whole[:n:n], maxDepth), n)
	}
}

func TestAListIsHardlyMoreThanItsObjects(t *testing.T) {
	t.Parallel()
	c, err := newCodec[*corev1.ConfigMap]("v1")
	require.NoError(t, err)
	for size, want := range map[int]error{maxEnvelope / 2: nil, maxEnvelope + 1: errEnvelope} {
		var objs []*corev1.ConfigMap
		var errs []error
		_, err := listJSON(c, strings.NewReader(`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[],"x":"`+strings.Repeat("x", size)+`"}`), collectAll(&objs, &errs))
		require.ErrorIs(t, err, want)
	}
}
