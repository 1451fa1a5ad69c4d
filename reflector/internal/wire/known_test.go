package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
)

// requireIdentity compares what was read of raw bytes with what was decoded.
func requireIdentity(t *testing.T, id identity, o metav1.Object) {
	t.Helper()
	got := []string{string(id.namespace), string(id.name), string(id.uid), string(id.rv)}
	require.Equal(t, []string{o.GetNamespace(), o.GetName(), string(o.GetUID()), o.GetResourceVersion()}, got)
}

func TestTheIdentityInRawJSONIsTheDecodedOne(t *testing.T) {
	t.Parallel()
	whole := identity{namespace: []byte("ns"), name: []byte("a"), uid: []byte("u"), rv: []byte("7"), certain: true}
	for raw, want := range map[string]*identity{
		`{"metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"7"}}`:                                                        &whole,
		` { "metadata" : { "uid" : "u" , "labels" : { "name" : "x" , "uid" : "y" } , "resourceVersion":"7","name":"a","namespace":"ns"} } `: &whole,
		`{"spec":{"metadata":{"name":"x"}},"metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"7"},"z":[{"name":"}"}]}`:    &whole,
		`{"data":{"a":"\"}\\"},"metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"7"}}`:                                   &whole,
		`{}`:                         {certain: true},
		`{"metadata":{}}`:            {certain: true},
		`{"metadata":null}`:          nil,
		`{"metadata":[]}`:            nil,
		`null`:                       nil,
		``:                           nil,
		`{"metadata":{"name":"a"}`:   nil,
		`{"metadata":{"name":7}}`:    nil,
		`{"metadata":{"name":null}}`: {certain: true},
		`{"metadata":{"name":"a","uid":null,"namespace":null,"resourceVersion":null}}`: {name: []byte("a"), certain: true},
		`{"metadata":{"name":"a","name":null}}`:                                        nil, // kept by a decoder into a string, dropped by one into a map
		`{"metadata":{"name":"\u0061"}}`:                                               nil,
		`{"metadata":{"n\u0061me":"a"}}`:                                               {name: []byte("a"), certain: true},
		`{"metadata":{"name":"ä"}}`:                                                    nil,
		`{"metadata":{"name":"a","name":"b"}}`:                                         nil,
		`{"metadata":{"name":"a"},"metadata":{"name":"b"}}`:                            nil,
		`{"metadata":{"name":"a"},"metadata":{"resourceVersion":""}}`:                  nil,
	} {
		id := identifyJSON([]byte(raw))
		require.Equal(t, want != nil, id.certain, raw)
		if id.certain {
			require.Equal(t, *want, id, raw)
		}
	}
}

func FuzzRawIdentityJSON(f *testing.F) {
	f.Add([]byte(`{"kind":"ConfigMap","metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"7"}}`))
	f.Add([]byte(`{"metadata":{"name":"a","labels":{"x":"\"}"},"uid":"u"},"data":{"metadata":"x"},"metadata":{}}`))
	f.Add([]byte(`{"metadata":{"name":"a"},"Metadata":{"name":"b"},"x":[1,{"name":null}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		id := identifyJSON(raw)
		if !id.certain {
			return
		}
		var typed corev1.ConfigMap
		if k8sjson.Unmarshal(raw, &typed) == nil {
			requireIdentity(t, id, &typed)
			require.Equal(t, typed.Kind, string(id.kind))
		}
		var u unstructured.Unstructured
		if k8sjson.Unmarshal(raw, &u.Object) == nil && u.Object != nil {
			requireIdentity(t, id, &u)
		}
	})
}

func FuzzRawIdentityProto(f *testing.F) {
	pod := samplePods(1).Items[0]
	raw, err := pod.Marshal()
	require.NoError(f, err)
	f.Add(raw)
	f.Add(append(bytes.Clone(raw), raw...))
	f.Add([]byte("\x0a\x06\x0a\x01a\x0a\x01b"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		id := identifyProto(raw)
		if !id.certain {
			return
		}
		var pod corev1.Pod
		if unmarshalProto(&pod, raw) == nil {
			requireIdentity(t, id, &pod)
		}
		var partial metav1.PartialObjectMetadata
		if unmarshalProto(&partial, raw) == nil {
			requireIdentity(t, id, &partial)
		}
	})
}

// same stands for an object that is known.
type same struct{}

// evenPods knows every other pod of samplePods.
func evenPods(key types.NamespacedName, uid, rv []byte) any {
	var n int
	if _, err := fmt.Sscanf(key.Name, "pod-%d", &n); err != nil || n%2 == 1 || key.Namespace != "ns" || string(uid) != "u" || string(rv) != fmt.Sprint(n+1) {
		return nil
	}
	return same{}
}

func TestKnownObjectsAreNotDecoded(t *testing.T) {
	inBothEncodings(t, func(t *testing.T, mime string) {
		list := samplePods(1000)
		list.Continue = ""
		body := envelope(t, "PodList", list)
		if mime == mimeJSON {
			raw, err := json.Marshal(list)
			require.NoError(t, err)
			body = append([]byte(`{"kind":"PodList","apiVersion":"v1",`), raw[1:]...)
		}
		r := pipedSource[*corev1.Pod](t, mime, io.NopCloser(bytes.NewReader(body)))
		n := 0
		_, err := r.List(t.Context(), Request{Known: evenPods}, func(ev Event[*corev1.Pod]) error {
			require.NoError(t, ev.Err)
			require.Equal(t, n%2 == 0, ev.Known == same{})
			require.Equal(t, n%2 == 0, ev.Object == nil)
			if o := ev.Object; o != nil {
				require.Equal(t, fmt.Sprint("pod-", n), o.Name)
			}
			n++
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, 1000, n)

		var events []byte
		for i := range list.Items {
			events = append(events, podFrame(t, mime, watch.Added, &list.Items[i])...)
		}
		events = append(events, podFrame(t, mime, watch.Modified, &list.Items[0])...)
		events = append(events, podFrame(t, mime, watch.Deleted, &list.Items[2])...)
		events = append(events, endOfInitialEvents(t, mime)...)
		events = append(events, podFrame(t, mime, watch.Added, &list.Items[4])...)
		s := initialEventsKnown[*corev1.Pod](t.Context(), t, mime, io.NopCloser(bytes.NewReader(events)), evenPods)
		for i := range list.Items {
			ev, err := s.Next()
			require.NoError(t, err)
			require.Equal(t, watch.Added, ev.Type)
			require.Equal(t, i%2 == 0, ev.Known == same{})
			require.Equal(t, i%2 == 0, ev.Object == nil)
		}
		for _, want := range []string{"MODIFIED pod-0", "DELETED pod-2", "BOOKMARK ", "ADDED pod-4"} {
			ev, err := s.Next()
			require.NoError(t, err)
			require.NoError(t, ev.Err)
			name := ""
			if ev.Object != nil {
				name = ev.Object.Name
			}
			require.Equal(t, want, fmt.Sprint(ev.Type, " ", name), "only initial objects")
		}
		require.NoError(t, s.Close())
	})
}

func TestObjectsOfAnotherKindAreDecodedThoughKnown(t *testing.T) {
	t.Parallel()
	body := `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[
		{"metadata":{"name":"pod-0","namespace":"ns","uid":"u","resourceVersion":"1"}},
		{"kind":"Node","metadata":{"name":"pod-0","namespace":"ns","uid":"u","resourceVersion":"1"}}]}`
	r := pipedSource[*corev1.Pod](t, mimeJSON, io.NopCloser(bytes.NewReader([]byte(body))))
	var got []Event[*corev1.Pod]
	_, err := r.List(t.Context(), Request{Known: evenPods}, func(ev Event[*corev1.Pod]) error {
		got = append(got, ev)
		return nil
	})
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Equal(t, same{}, got[0].Known)
	require.ErrorAs(t, got[1].Err, new(*ObjectError))
}

// BenchmarkUnchanged reads a list of 1,000 pods that are all known.
func BenchmarkUnchanged(b *testing.B) {
	list := busyPods(1000)
	asJSON, err := json.Marshal(list)
	require.NoError(b, err)
	asJSON = append([]byte(`{"kind":"PodList","apiVersion":"v1",`), asJSON[1:]...)
	known := func(types.NamespacedName, []byte, []byte) any { return same{} }
	each := func(*corev1.Pod, error) error { return nil }
	for name, body := range map[string][]byte{"json": asJSON, "proto": envelope(b, "PodList", list)} {
		for _, req := range []Request{{}, {Known: known}} {
			b.Run(fmt.Sprintf("%s/known=%t", name, req.Known != nil), func(b *testing.B) {
				c, err := newCodec[*corev1.Pod]("v1", Options{})
				require.NoError(b, err)
				b.ReportAllocs()
				b.SetBytes(int64(len(body)))
				for b.Loop() {
					_, _ = listWith(c, name == "proto", req, bytes.NewReader(body), each)
				}
			})
		}
	}
}
