package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/internal/apijson"
	"github.com/informerkit/informerkit/internal/verify/scripted"
)

// schemaNode is a type that contains itself, as the schemas of CustomResourceDefinitions do.
type schemaNode struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Child *schemaNode `json:"child"`
}

func (s *schemaNode) DeepCopyObject() runtime.Object { c := *s; return &c }
func (s *schemaNode) Reset()                         { *s = schemaNode{} }
func (s *schemaNode) Unmarshal([]byte) error         { panic("decoded from protobuf") }

// Generated decoders recurse, and an overflow of the stack ends the process.
func TestATypeThatContainsItselfIsNotReadFromProtobuf(t *testing.T) {
	t.Parallel()
	gvr := schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	body := io.NopCloser(bytes.NewReader(envelope(t, "schemaNodeList", marshaled{})))
	r, err := New[*schemaNode](scripted.Response(mimeProto, body), gvr, Options{})
	require.NoError(t, err)
	require.Equal(t, mimeJSON, r.listAccept)
	_, err = r.List(t.Context(), Request{}, func(Event[*schemaNode]) error { return nil })
	require.ErrorAs(t, err, new(*NotAPIError), "whatever the server makes of the request")
	_, err = r.Watch(t.Context(), Request{})
	require.ErrorAs(t, err, new(*NotAPIError))
	_, err = New[*schemaNode](scripted.Response(mimeProto, body), gvr, Options{Encoding: EncodingProtobuf})
	require.ErrorContains(t, err, "cannot be decoded from protobuf")
}

func TestOnlyTypesThatContainThemselvesAreRecursive(t *testing.T) {
	t.Parallel()
	for want, types := range map[bool][]any{
		true:  {schemaNode{}, []schemaNode{}, map[string]schemaNode{}, struct{ A [2]*schemaNode }{}, struct{ M map[string][]schemaNode }{}},
		false: {corev1.Pod{}, appsv1.Deployment{}, metav1.PartialObjectMetadata{}, struct{ A, B metav1.ObjectMeta }{}, map[string]string{}},
	} {
		for _, v := range types {
			require.Equal(t, want, apijson.IsRecursive(reflect.TypeOf(v)), "%T", v)
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
		`{"a":"` + brackets(2*maxDepth) + `"}`:    false,
		`[` + strings.Repeat(`[],`, 2000) + `1]`:  false,
		`{"a":[` + brackets(maxDepth-1) + `,{}]}`: true,
	} {
		_, bad, err := newJSONReader(strings.NewReader(value), defaultMaxObject).value()
		require.NoError(t, err)
		require.Equal(t, want, errors.Is(bad, errTooDeep), value[:10])
	}
}

func TestJSONNestedTooDeeplyIsQuarantined(t *testing.T) {
	t.Parallel()
	c, err := newCodec[*corev1.ConfigMap]("v1", Options{})
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

func TestAListIsHardlyMoreThanItsObjects(t *testing.T) {
	t.Parallel()
	c, err := newCodec[*corev1.ConfigMap]("v1", Options{})
	require.NoError(t, err)
	for size, want := range map[int]error{maxEnvelope / 2: nil, maxEnvelope + 1: errEnvelope} {
		var objs []*corev1.ConfigMap
		var errs []error
		_, err := listJSON(c, strings.NewReader(`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[],"x":"`+strings.Repeat("x", size)+`"}`), collectAll(&objs, &errs))
		require.ErrorIs(t, err, want)
	}
}
