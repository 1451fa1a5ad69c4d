package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// envelope encodes an object as API servers do.
func envelope(t testing.TB, kind string, m interface{ Marshal() ([]byte, error) }) []byte {
	raw, err := m.Marshal()
	require.NoError(t, err)
	u := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: raw}
	b, err := u.Marshal()
	require.NoError(t, err)
	return append(bytes.Clone(protoMagic), b...)
}

// frame encodes a watch event.
func frame(t testing.TB, typ watch.EventType, object []byte) []byte {
	ev := metav1.WatchEvent{Type: string(typ), Object: runtime.RawExtension{Raw: object}}
	b, err := ev.Marshal()
	require.NoError(t, err)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

func samplePods(n int) *corev1.PodList {
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "10", Continue: "more"}}
	for i := range n {
		list.Items = append(list.Items, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: fmt.Sprint("pod-", i), UID: "u", ResourceVersion: fmt.Sprint(i + 1),
				Labels: map[string]string{"a": "b"},
			},
			Spec: corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		})
	}
	return list
}

// collectAll gathers what a list hands over.
func collectAll[T Object](objs *[]T, errs *[]error) func(T, error) error {
	return func(o T, err error) error {
		if err != nil {
			*errs = append(*errs, err)
		} else {
			*objs = append(*objs, o)
		}
		return nil
	}
}

// listJSON and listProto read a list as List does.
func listJSON[T Object](c *codec[T], body io.Reader, fn func(T, error) error) (metav1.ListMeta, error) {
	return listWith(c, false, Request{}, body, fn)
}

func listProto[T Object](c *codec[T], body io.Reader, fn func(T, error) error) (metav1.ListMeta, error) {
	return listWith(c, true, Request{}, body, fn)
}

func listWith[T Object](c *codec[T], proto bool, req Request, body io.Reader, fn func(T, error) error) (metav1.ListMeta, error) {
	a := c.newList(proto, req, func(ev Event[T]) error { return fn(ev.Object, ev.Err) })
	err := a.run(context.Background(), body, func() {})
	return a.meta, err
}

// jsonEvents and protoEvents read a watch as Next does, behind the initial events.
func jsonEvents[T Object](c *codec[T], body io.Reader) func() (Event[T], error) {
	return eventsOf(&decoder[T]{codec: c}, body)
}

func protoEvents[T Object](c *codec[T], body io.Reader) func() (Event[T], error) {
	return eventsOf(&decoder[T]{codec: c, proto: true}, body)
}

func eventsOf[T Object](d *decoder[T], body io.Reader) func() (Event[T], error) {
	s := &Stream[T]{ctx: context.Background()}
	s.begin(d, body, d.codec.newKinds(d.codec.expected()))
	return func() (Event[T], error) {
		ev, err := s.event()
		if err == nil {
			ev, err = s.check(ev)
		}
		return ev, err
	}
}

func TestProtobufAndJSONDecodeAlike(t *testing.T) {
	t.Parallel()
	list := samplePods(3)
	body, err := json.Marshal(list)
	require.NoError(t, err)
	body = append([]byte(`{"kind":"PodList","apiVersion":"v1",`), body[1:]...)

	c, err := newCodec[*corev1.Pod]("v1", Options{})
	require.NoError(t, err)
	var fromJSON, fromProto []*corev1.Pod
	var errs []error
	meta, err := listJSON(c, bytes.NewReader(body), collectAll(&fromJSON, &errs))
	require.NoError(t, err)
	require.Equal(t, list.ListMeta, meta)
	meta, err = listProto(c, bytes.NewReader(envelope(t, "PodList", list)), collectAll(&fromProto, &errs))
	require.NoError(t, err)
	require.Equal(t, list.ListMeta, meta)
	require.Empty(t, errs)
	require.Equal(t, fromJSON, fromProto)
	require.Equal(t, "v1 Pod", fromProto[0].APIVersion+" "+fromProto[0].Kind)
	fromProto[0].TypeMeta = metav1.TypeMeta{}
	require.Equal(t, list.Items[0], *fromProto[0])
}

func TestItemsDecodedOnSeveralCoresKeepTheirOrder(t *testing.T) {
	t.Parallel()
	const n = 5000
	var body bytes.Buffer
	body.WriteString(`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[`)
	for i := range n {
		if i > 0 {
			body.WriteByte(',')
		}
		if i%1000 == 999 {
			fmt.Fprintf(&body, `{"metadata":{"name":"bad","resourceVersion":[]}}`)
			continue
		}
		fmt.Fprintf(&body, `{"metadata":{"name":"o%d"},"data":{"x":%q}}`, i, bytes.Repeat([]byte("x"), i%3000))
	}
	body.WriteString(`]}`)
	c, err := newCodec[*corev1.ConfigMap]("v1", Options{})
	require.NoError(t, err)
	i := 0
	each := func(o *corev1.ConfigMap, err error) error {
		if i%1000 == 999 {
			require.Equal(t, i, err.(*ObjectError).Position)
		} else {
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint("o", i), o.Name)
			require.Len(t, o.Data["x"], i%3000)
		}
		i++
		return nil
	}
	_, err = listJSON(c, bytes.NewReader(body.Bytes()), each)
	require.NoError(t, err)
	require.Equal(t, n, i)

	// What is broken in the middle ends it there.
	broken := bytes.Replace(body.Bytes(), []byte(`"o2500"}`), []byte(`"o2500"?}`), 1)
	i = 0
	_, err = listJSON(c, bytes.NewReader(broken), each)
	require.ErrorContains(t, err, "invalid JSON")
	require.Equal(t, 2500, i)

	// So does the callback.
	stop := errors.New("enough")
	_, err = listJSON(c, bytes.NewReader(body.Bytes()), func(o *corev1.ConfigMap, _ error) error {
		if o != nil && o.Name == "o100" {
			return stop
		}
		return nil
	})
	require.ErrorIs(t, err, stop)
}

func TestProtobufWatchEvents(t *testing.T) {
	t.Parallel()
	c, err := newCodec[*corev1.Pod]("v1", Options{})
	require.NoError(t, err)
	pod := samplePods(1).Items[0]
	end := corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "9", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	status := &metav1.Status{Code: 410, Reason: metav1.StatusReasonExpired, Message: "too old"}
	var stream []byte
	stream = append(stream, frame(t, watch.Added, envelope(t, "Pod", &pod))...)
	stream = append(stream, frame(t, watch.Modified, envelope(t, "Secret", &corev1.Secret{ObjectMeta: pod.ObjectMeta}))...)
	stream = append(stream, frame(t, watch.Bookmark, envelope(t, "Pod", &end))...)
	stream = append(stream, frame(t, "RENAMED", envelope(t, "Pod", &pod))...)
	stream = append(stream, frame(t, watch.Error, envelope(t, "Status", status))...)
	next := protoEvents(c, bytes.NewReader(stream))

	ev, err := next()
	require.NoError(t, err)
	require.Equal(t, watch.Added, ev.Type)
	require.Equal(t, "1", ev.ResourceVersion)
	require.Equal(t, pod.Spec, ev.Object.Spec)
	require.Equal(t, "Pod", ev.Object.Kind)
	ev, err = next()
	require.NoError(t, err)
	require.ErrorContains(t, ev.Err, "it is a v1 Secret, not a v1 Pod")
	ev, err = next()
	require.NoError(t, err)
	require.True(t, ev.InitialEventsEnd)
	require.Equal(t, "9", ev.ResourceVersion)
	ev, err = next()
	require.NoError(t, err)
	require.Equal(t, watch.EventType("RENAMED"), ev.Type)
	_, err = next()
	require.True(t, apierrors.IsResourceExpired(err), "%v", err)
	_, err = next()
	require.Equal(t, io.EOF, err)

	for cut := 1; cut < len(stream); cut++ {
		next := protoEvents(c, bytes.NewReader(stream[:cut]))
		for err = nil; err == nil || apierrors.IsResourceExpired(err); _, err = next() {
		}
		require.ErrorIs(t, midValue(err), io.ErrUnexpectedEOF)
	}
}

func TestProtobufListCutShortIsNotTakenForWhole(t *testing.T) {
	t.Parallel()
	c, err := newCodec[*corev1.Pod]("v1", Options{})
	require.NoError(t, err)
	// Without the trailing fields, which say nothing.
	body := envelope(t, "PodList", samplePods(2))
	whole := bytes.TrimSuffix(body, []byte("\x1a\x00\x22\x00"))
	for cut := range len(whole) {
		_, err := listProto(c, bytes.NewReader(whole[:cut]), func(*corev1.Pod, error) error { return nil })
		require.Error(t, err, "cut at %d of %d", cut, len(whole))
	}
}

func TestEndlessGarbageAfterAProtobufListIsRefused(t *testing.T) {
	t.Parallel()
	c, err := newCodec[*corev1.Pod]("v1", Options{})
	require.NoError(t, err)
	list := samplePods(1)
	whole := envelope(t, "PodList", list)
	for name, garbage := range map[string]string{"long fields": "ba", "short fields": "\x08\x01"} {
		_, err := listProto(c, io.MultiReader(bytes.NewReader(whole), repeated(garbage)), func(*corev1.Pod, error) error { return nil })
		require.Error(t, err, name)
	}
	// In the list itself, whose size is the word of the sender.
	inside := append(bytes.Clone(protoMagic), 0x0a, 0x0d, 0x0a, 0x02, 'v', '1', 0x12, 0x07, 'P', 'o', 'd', 'L', 'i', 's', 't', 0x12)
	inside = binary.AppendUvarint(inside, 1<<60)
	_, err = listProto(c, io.MultiReader(bytes.NewReader(inside), repeated("\x18\x01")), func(*corev1.Pod, error) error { return nil })
	require.ErrorIs(t, err, errEnvelope)
	// And in JSON.
	const head = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]`
	for name, garbage := range map[string]string{"fields": `,"x":1`, "white space": " \n"} {
		_, err := listJSON(c, io.MultiReader(strings.NewReader(head), repeated(garbage)), func(*corev1.Pod, error) error { return nil })
		require.ErrorIs(t, err, errEnvelope, name)
	}
	_, err = listJSON(c, io.MultiReader(strings.NewReader(head+"}"), repeated(" ")), func(*corev1.Pod, error) error { return nil })
	require.ErrorIs(t, err, errEnvelope)
}

// repeated reads as the same text without end.
type repeated string

func (r repeated) Read(p []byte) (n int, _ error) {
	for n+len(r) <= len(p) {
		n += copy(p[n:], r)
	}
	if n == 0 { // less than one fits: a byte at a time would tear it apart
		n = copy(p, r)
	}
	return n, nil
}

func TestABadProtobufItemIsHandedOverAsAnError(t *testing.T) {
	t.Parallel()
	c, err := newCodec[*corev1.Pod]("v1", Options{})
	require.NoError(t, err)
	list := samplePods(2)
	raw, err := list.Items[0].Marshal()
	require.NoError(t, err)
	bad := append(raw, 0x12, 0x05, 0xff) // a spec longer than the message
	msg := append([]byte{0x0a, 0x00, 0x12}, binary.AppendUvarint(nil, uint64(len(bad)))...)
	msg = append(msg, bad...)
	good, err := list.Items[1].Marshal()
	require.NoError(t, err)
	msg = append(append(append(msg, 0x12), binary.AppendUvarint(nil, uint64(len(good)))...), good...)
	var objs []*corev1.Pod
	var errs []error
	_, err = listProto(c, bytes.NewReader(envelope(t, "PodList", marshaled(msg))), collectAll(&objs, &errs))
	require.NoError(t, err)
	require.Len(t, errs, 1)
	require.Equal(t, "ns/pod-0", errs[0].(*ObjectError).Key.String())
	require.Len(t, objs, 1)
}

type marshaled []byte

func (m marshaled) Marshal() ([]byte, error) { return m, nil }

// FuzzProtoList and FuzzProtoWatch look for panics and endless loops.
func FuzzProtoList(f *testing.F) {
	// What follows the prefix, so that the fuzzer need not find it.
	f.Add(envelope(f, "PodList", samplePods(2))[len(protoMagic):])
	f.Fuzz(func(t *testing.T, data []byte) {
		data = append(bytes.Clone(protoMagic), data...)
		c, err := newCodec[*corev1.Pod]("v1", Options{})
		require.NoError(t, err)
		n := 0
		_, _ = listProto(c, bytes.NewReader(data), func(o *corev1.Pod, err error) error {
			n++
			require.True(t, (o == nil) == (err != nil))
			return nil
		})
		require.LessOrEqual(t, n, len(data))
	})
}

func FuzzProtoWatch(f *testing.F) {
	pod := samplePods(1).Items[0]
	f.Add(frame(f, watch.Added, envelope(f, "Pod", &pod)))
	f.Add(frame(f, watch.Error, envelope(f, "Status", &metav1.Status{Code: 410})))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := newCodec[*corev1.Pod]("v1", Options{})
		require.NoError(t, err)
		next := protoEvents(c, bytes.NewReader(data))
		for range len(data) {
			if _, err := next(); err != nil && !errors.As(err, new(apierrors.APIStatus)) {
				break
			}
		}
	})
}

// FuzzJSONList compares a list with what encoding/json makes of it.
func FuzzJSONList(f *testing.F) {
	f.Add([]byte(`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":""}},7,null]}`))
	f.Add([]byte(`{"items":[{"metadata":{"name":"a"}}],"kind":"ConfigMapList"}`))
	f.Add([]byte(`{"items":null,"kind":"ConfigMapList"}`))
	f.Add([]byte(`{"items":[{"metadata":{"name":"a"}}],"kind":"ConfigMapList","apiVersion":"v1","metadata":{"continue":"x"}}`))
	f.Add([]byte(`{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":"1"},"items":null}`))
	f.Add([]byte(`{"apiVersion":"v1","kind":"ErrorList","items":[],"error":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := newCodec[*corev1.ConfigMap]("v1", Options{})
		require.NoError(t, err)
		n := 0
		meta, err := listJSON(c, bytes.NewReader(data), func(o *corev1.ConfigMap, err error) error {
			n++
			require.True(t, (o == nil) == (err != nil))
			return nil
		})
		var want struct {
			Kind, APIVersion string
			Items            []json.RawMessage `json:"items"`
			Metadata         metav1.ListMeta   `json:"metadata"`
		}
		if err != nil || json.Unmarshal(data, &want) != nil || ambiguous(data, "items", "metadata", "kind", "apiVersion") {
			return
		}
		require.Equal(t, len(want.Items), n)
		require.Equal(t, want.Metadata, meta)
		// An answer without objects empties the cache: it must be a list for certain.
		require.NotEmpty(t, want.Kind)
		require.NotEmpty(t, want.APIVersion)
		require.True(t, n > 0 || meta.ResourceVersion != "" || want.Kind == "ConfigMapList", "%s", data)
	})
}

// FuzzJSONWatch looks for panics, and for events that are neither good nor bad.
func FuzzJSONWatch(f *testing.F) {
	f.Add([]byte(`{"type":"ADDED","object":{"metadata":{"name":"a"}}}` + "\n" + `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1"}}}`))
	f.Add([]byte(`{"type":"ERROR","object":{"code":410}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := newCodec[*unstructured.Unstructured]("v1", Options{})
		require.NoError(t, err)
		next := jsonEvents(c, bytes.NewReader(data))
		for range len(data) {
			ev, err := next()
			if err != nil {
				break
			}
			switch ev.Type {
			case watch.Added, watch.Modified, watch.Deleted:
				require.True(t, (ev.Object == nil) == (ev.Err != nil))
				if ev.Err == nil {
					require.NotEmpty(t, ev.Object.GetName())
				}
			}
		}
	})
}

func TestWireReaderStaysWithinItsMessage(t *testing.T) {
	t.Parallel()
	w := newProtoReader(bytes.NewReader([]byte{0x12, 0x7f, 1, 2, 3}), 16, 100)
	w.left = 5
	_, err := w.field()
	require.ErrorIs(t, err, errProto)
	require.ErrorIs(t, w.skip(100), io.ErrUnexpectedEOF)
	_, err = w.take(&w.small, 100)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// ambiguous reports whether data may use field names in other cases, escaped, or
// twice, of which encoding/json has its own opinion.
func ambiguous(data []byte, names ...string) bool {
	lower := strings.ToLower(string(data))
	for _, name := range names {
		if n := strings.Count(lower, name); n > 1 || n != strings.Count(string(data), `"`+name+`"`) {
			return true
		}
	}
	return bytes.ContainsAny(data, `\ſK`)
}
