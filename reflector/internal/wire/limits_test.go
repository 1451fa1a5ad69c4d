package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/internal/verify/scripted"
)

// bigPods are pods of which the second has a status of so many bytes.
func bigPods(size int) *corev1.PodList {
	list := samplePods(4)
	list.Continue = ""
	list.Items[1].Status.Message = strings.Repeat(`x"}]`, size/4)
	return list
}

// An object that is too large is quarantined, with its identity, and the others are served,
// wherever it is.
func TestAnObjectThatIsTooLargeDoesNotHoldUpTheOthers(t *testing.T) {
	inBothEncodings(t, func(t *testing.T, mime string) {
		for _, size := range []int{3000, 40_000, 300_000} {
			list := bigPods(size)
			check := func(i int, ev Event[*corev1.Pod]) {
				t.Helper()
				if i != 1 {
					require.NoError(t, ev.Err)
					require.Equal(t, fmt.Sprint("pod-", i), ev.Object.Name)
					return
				}
				var oe *ObjectError
				require.ErrorAs(t, ev.Err, &oe)
				require.ErrorContains(t, oe, "it has more than 2000 bytes; ResourceOptions.MaxObjectSize")
				require.Equal(t, []any{"ns/pod-1", "u", "2", 1}, []any{oe.Key.String(), string(oe.UID), oe.ResourceVersion, oe.Position})
				require.Equal(t, "2", ev.ResourceVersion)
			}
			body := envelope(t, "PodList", list)
			if mime == mimeJSON {
				raw, err := json.Marshal(list)
				require.NoError(t, err)
				body = append([]byte(`{"kind":"PodList","apiVersion":"v1",`), raw[1:]...)
			}
			source := func(body []byte) *Resource[*corev1.Pod] {
				r, err := New[*corev1.Pod](scripted.Response(mime, io.NopCloser(bytes.NewReader(body))),
					schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Options{MaxObjectSize: 2000})
				require.NoError(t, err)
				return r
			}
			n := 0
			_, err := source(body).List(t.Context(), Request{}, func(ev Event[*corev1.Pod]) error {
				check(n, ev)
				n++
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, 4, n)
			for _, initial := range []bool{false, true} {
				for _, typ := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
					var events []byte
					for i := range list.Items {
						events = append(events, podFrame(t, mime, typ, &list.Items[i])...)
					}
					s, err := source(events).Watch(t.Context(), Request{ListOptions: metav1.ListOptions{SendInitialEvents: &initial}})
					require.NoError(t, err)
					for i := range list.Items {
						ev, err := s.Next()
						require.NoError(t, err)
						require.Equal(t, typ, ev.Type)
						check(i, ev)
					}
					_, err = s.Next()
					require.Equal(t, io.EOF, err)
					require.NoError(t, s.Close())
				}
			}
		}
	})
}

// What identifies an object is found wherever it stands in it.
func TestTheIdentityOfAnObjectThatIsTooLargeIsFound(t *testing.T) {
	t.Parallel()
	const metadata = `"metadata":{"labels":{"name":"x","metadata":{"name":"y"}},"name":"a","namespace":"ns","uid":"u","resourceVersion":"7"}`
	long := strings.Repeat(`\"x\\`, 20_000)
	for name, object := range map[string]string{
		"behind":           `{"spec":"` + long + `",` + metadata + `}`,
		"before":           `{` + metadata + `,"spec":"` + long + `"}`,
		"between":          `{"data":{"metadata":{"name":"` + long + `"}},` + metadata + `,"x":[{"metadata":"` + long + `"}]}`,
		"many fields":      `{"data":{` + strings.Repeat(`"k":"v",`, 20_000) + `"k":1},` + metadata + `}`,
		"pretty":           `{"spec":"` + long + `", "metadata": {` + "\n" + metadata[len(`"metadata":{`):] + `}`,
		"a long key":       `{"` + long + `":1,` + metadata + `}`,
		"deep":             `{"a":` + brackets(9_000) + `,` + metadata + `}`,
		"in the metadata":  `{"metadata":{"annotations":{"x":"` + long + `"},` + metadata[len(`"metadata":{`):] + `}`,
		"in a short array": `{"x":["` + long + `"],` + metadata + `}`,
	} {
		for chunk := range []int{1, 7, 8192} {
			f := newJSONFrames(io.MultiReader(&slow{strings.NewReader(`{"object":` + object + `,"type":"ADDED"}{"type":"ADDED","object":{"metadata":{"name":"b"}}}`), chunk + 1}), 1000)
			it, err := f.next()
			require.NoError(t, err, name)
			require.Error(t, it.err, name)
			require.Less(t, len(it.raw), 2*maxEnvelope, name)
			id := identifyJSON(it.raw)
			require.Equal(t, "ns/a/u/7", fmt.Sprintf("%s/%s/%s/%s", id.namespace, id.name, id.uid, id.rv), name)
			it, err = f.next()
			require.NoError(t, err, name)
			require.NoError(t, it.err, name)
		}
	}
	// A name that was cut would be another name.
	f := newJSONFrames(strings.NewReader(`{"type":"ADDED","object":{"metadata":{"name":"`+long+`"}}}`), 1000)
	it, err := f.next()
	require.NoError(t, err)
	require.Empty(t, identifyJSON(it.raw).failed(0, it.err).Key.Name)
}

// FuzzJSONValue compares with encoding/json where a value ends, and with the whole object what
// identifies one that is skipped.
func FuzzJSONValue(f *testing.F) {
	for _, text := range append(dynamicTexts, oddTexts...) {
		f.Add([]byte(text), uint8(len(text)))
	}
	f.Add([]byte(`{ "metadata" : { "name" : "a\"\\" , "labels":{"name":"b"},"uid":"u"},"x":[{"metadata":{"uid":"v"}}]}`), uint8(3))
	f.Fuzz(func(t *testing.T, raw []byte, chunk uint8) {
		if !json.Valid(raw) {
			return
		}
		body := func() io.Reader {
			return &slow{bytes.NewReader(append(append([]byte{'['}, raw...), `,"next"]`...)), int(chunk) + 1}
		}
		next := func(r *jsonReader) {
			r.limit = 10
			v, _, err := r.value()
			require.NoError(t, err)
			require.Equal(t, `"next"`, string(v))
		}
		r := newJSONReader(body(), len(raw)+1)
		_, err := r.token(10)
		require.NoError(t, err)
		v, bad, err := r.value()
		require.NoError(t, err)
		if bad == nil {
			require.Equal(t, string(bytes.Trim(raw, " \n\r\t")), string(v))
		}
		next(r)
		if whole := bytes.TrimLeft(raw, " \n\r\t"); whole[0] == '{' && len(raw) < maxForeign {
			r = newJSONReader(body(), 1)
			_, err = r.token(10)
			require.NoError(t, err)
			v, bad, err = r.value()
			require.NoError(t, err)
			require.Error(t, bad)
			v = bytes.Clone(v) // valid until the next read
			next(r)
			if want := identifyJSON(whole); want.certain {
				got := identifyJSON(v)
				require.Equal(t, want, got)
			}
		}
	})
}

// slow reads some bytes at a time.
type slow struct {
	io.Reader
	n int
}

func (s *slow) Read(p []byte) (int, error) { return s.Reader.Read(p[:min(len(p), s.n)]) }

// endless is a list of different objects without end, in pages of so many.
func endless(page int) http.RoundTripper {
	var n atomic.Int64 // a page may still be written when the next one is asked for
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		body, w := io.Pipe()
		go func() {
			_, err := io.WriteString(w, `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"x"}}`)
			for i := 0; err == nil && i < page; i++ {
				_, err = fmt.Fprintf(w, `,{"metadata":{"name":"pod-%d"}}`, n.Add(1))
			}
			_, _ = io.WriteString(w, `],"metadata":{"resourceVersion":"1","continue":"more"}}`)
			_ = w.Close()
		}()
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {mimeJSON}}, Body: body, Request: req}, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestACollectionIsBounded(t *testing.T) {
	t.Parallel()
	gvr := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	for name, c := range map[string]struct {
		page int
		opts Options
		want string
	}{
		"objects":          {1 << 30, Options{MaxObjects: 1000}, "more than 1000 objects; ResourceOptions.MaxObjects"},
		"objects in pages": {100, Options{MaxObjects: 1000}, "more than 1000 objects"},
		"bytes":            {1 << 30, Options{MaxBytes: 100_000}, "more than 100000 bytes; ResourceOptions.MaxBytes"},
		"bytes in pages":   {100, Options{MaxBytes: 100_000}, "more than 100000 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := New[*corev1.Pod](&rest.Config{Host: "http://x", Transport: endless(c.page)}, gvr, c.opts)
			require.NoError(t, err)
			objects, pages := 0, 0
			var token string
			for err == nil {
				var meta metav1.ListMeta
				pages++
				meta, err = r.List(t.Context(), Request{ListOptions: metav1.ListOptions{Continue: token}}, func(Event[*corev1.Pod]) error { objects++; return nil })
				token = meta.Continue
			}
			require.ErrorContains(t, err, c.want)
			require.ErrorAs(t, err, new(*DecodeError))
			require.Greater(t, objects, 900)
			require.Equal(t, c.page < 1000, pages > 5)
			// A reading that begins from scratch counts from scratch.
			if c.page < 1000 {
				_, err = r.List(t.Context(), Request{}, func(Event[*corev1.Pod]) error { return nil })
				require.NoError(t, err)
			}
		})
	}
	yes := true
	body := strings.Repeat(`{"type":"ADDED","object":{"metadata":{"name":"a"}}}`, 1001)
	r, err := New[*corev1.Pod](scripted.Response(mimeJSON, io.NopCloser(strings.NewReader(body))), gvr, Options{MaxObjects: 1000})
	require.NoError(t, err)
	s, err := r.Watch(t.Context(), Request{ListOptions: metav1.ListOptions{SendInitialEvents: &yes}})
	require.NoError(t, err)
	for err == nil {
		_, err = s.Next()
	}
	require.ErrorContains(t, err, "more than 1000 objects")
	require.NoError(t, s.Close())
	for _, opts := range []Options{{MaxObjects: -1}, {MaxBytes: -1}, {MaxObjectSize: -1}} {
		_, err := New[*corev1.Pod](&rest.Config{}, gvr, opts)
		require.ErrorContains(t, err, "is negative")
	}
}

// Whatever it is that comes a byte at a time, its end does not move away for ever.
func TestAListThatDripsEnds(t *testing.T) {
	for name, c := range map[string]struct{ head, drip string }{
		"white space":  {``, ` `},
		"in the list":  {`{"kind":"PodList","apiVersion":"v1","items":[`, "\n"},
		"objects":      {`{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}`, `,{"metadata":{"name":"a"}}`},
		"in an object": {`{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"`, `x`},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				body, w := io.Pipe()
				go func() {
					_, err := io.WriteString(w, c.head)
					for err == nil {
						time.Sleep(time.Second)
						_, err = io.WriteString(w, c.drip)
					}
				}()
				start := time.Now()
				_, err := pipedSource[*corev1.Pod](t, mimeJSON, body).List(t.Context(), Request{}, func(Event[*corev1.Pod]) error { return nil })
				require.ErrorContains(t, err, "the list comes too slowly")
				require.Less(t, time.Since(start), 2*time.Minute)
				time.Sleep(time.Minute) // until the server has noticed
			})
		})
	}
	// Without an end, but fast.
	_, err := pipedSource[*corev1.Pod](t, mimeJSON, io.NopCloser(repeated(" "))).List(t.Context(), Request{}, func(Event[*corev1.Pod]) error { return nil })
	require.ErrorContains(t, err, "bytes of white space")
}

func TestASlowLinkThatKeepsComingIsNoDrip(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		body, w := io.Pipe()
		go func() {
			_, err := io.WriteString(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"a","annotations":{"x":"`)
			for i := 0; err == nil && i < 600; i++ {
				time.Sleep(time.Second)
				_, err = io.WriteString(w, strings.Repeat("x", 2*minRate))
			}
			_, _ = io.WriteString(w, `"}}}]}`)
			_ = w.Close()
		}()
		n := 0
		_, err := pipedSource[*corev1.Pod](t, mimeJSON, body).List(t.Context(), Request{}, func(Event[*corev1.Pod]) error { n++; return nil })
		require.NoError(t, err)
		require.Equal(t, 1, n)
	})
}

// lists answers lists in turn, and asks for discovery.
func lists(t *testing.T, opts Options, discovery string, bodies ...string) *Resource[*unstructured.Unstructured] {
	t.Helper()
	transport := roundTripper(func(req *http.Request) (*http.Response, error) {
		body := discovery
		if strings.HasSuffix(req.URL.Path, "/pods") {
			body, bodies = bodies[0], bodies[1:]
		} else {
			assert.Equal(t, "/apis/metrics.k8s.io/v1beta1", req.URL.Path)
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {mimeJSON}}, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
	})
	r, err := New[*unstructured.Unstructured](&rest.Config{Host: "http://x", Transport: transport},
		schema.GroupVersionResource{Group: "metrics.k8s.io", Version: "v1beta1", Resource: "pods"}, opts)
	require.NoError(t, err)
	return r
}

func TestAnEmptyListWithoutAVersionIsAcceptedIfItsKindIsKnown(t *testing.T) {
	t.Parallel()
	const (
		empty     = `{"kind":"PodMetricsList","apiVersion":"metrics.k8s.io/v1beta1","metadata":{},"items":[]}`
		one       = `{"kind":"PodMetricsList","apiVersion":"metrics.k8s.io/v1beta1","metadata":{},"items":[{"metadata":{"name":"a"}}]}`
		other     = `{"kind":"NodeMetricsList","apiVersion":"metrics.k8s.io/v1beta1","metadata":{},"items":[]}`
		discovery = `{"resources":[{"name":"nodes","kind":"NodeMetrics"},{"name":"pods","kind":"PodMetrics"}]}`
	)
	for name, c := range map[string]struct {
		namespace, kind, discovery string
		bodies                     []string
		want                       []bool
	}{
		"by an earlier list": {"", "", "", []string{one, empty, other}, []bool{true, true, false}},
		"by discovery":       {"", "", discovery, []string{empty, empty}, []bool{true, true}},
		"in a namespace":     {"v1beta1", "", discovery, []string{empty}, []bool{true}},
		"by the options":     {"", "PodMetrics", "", []string{empty, other}, []bool{true, false}},
		"not known":          {"", "", "", []string{empty, one, empty}, []bool{false, true, true}},
		"another":            {"", "", discovery, []string{other}, []bool{false}},
	} {
		r := lists(t, Options{Kind: c.kind, Namespace: c.namespace}, c.discovery, c.bodies...)
		for i, want := range c.want {
			_, err := r.List(t.Context(), Request{}, func(Event[*unstructured.Unstructured]) error { return nil })
			require.Equal(t, want, err == nil, "%s %d: %v", name, i, err)
		}
	}
}

// All orders of the fields of a list mean the same.
func TestTheMeaningOfAListDoesNotDependOnTheOrderOfItsFields(t *testing.T) {
	t.Parallel()
	type outcome struct{ objects, err string }
	for name, c := range map[string]struct {
		kind, items string
		opts        Options
		want        outcome
	}{
		"items without a kind":   {"WidgetList", `{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}`, Options{}, outcome{"a:Widget b:Widget ", ""}},
		"items with a kind":      {"WidgetList", `{"kind":"Widget","apiVersion":"metrics.k8s.io/v1beta1","metadata":{"name":"a"}}`, Options{}, outcome{"a:Widget ", ""}},
		"some with a kind":       {"WidgetList", `{"metadata":{"name":"a"}},{"kind":"Widget","metadata":{"name":"b"}},{"kind":"Other","metadata":{"name":"c"}}`, Options{}, outcome{"a:Widget b:Widget !it is a  Other", ""}},
		"a list of another name": {"Widgets", `{"kind":"Widget","metadata":{"name":"a"}}`, Options{}, outcome{"a:Widget ", ""}},
		"that says no kind":      {"Widgets", `{"metadata":{"name":"a"}}`, Options{}, outcome{"!neither it nor its list states a kind", ""}},
		"that of the options":    {"Widgets", `{"metadata":{"name":"a"}}`, Options{Kind: "Widget"}, outcome{"a:Widget ", ""}},
		"another than that":      {"OtherList", `{"metadata":{"name":"a"}}`, Options{Kind: "Widget"}, outcome{"", "it is a collection of"}},
		"nothing":                {"WidgetList", ``, Options{}, outcome{"", ""}},
		"a plain list":           {"List", `{"metadata":{"name":"a"}}`, Options{Kind: "Widget"}, outcome{"a:Widget ", ""}},
	} {
		fields := []string{`"kind":"` + c.kind + `"`, `"items":[` + c.items + `]`, `"metadata":{"resourceVersion":"1"}`, `"apiVersion":"metrics.k8s.io/v1beta1"`}
		for range 24 {
			body := "{" + strings.Join(fields, ",") + "}"
			var got outcome
			_, err := lists(t, c.opts, "", body).List(t.Context(), Request{}, func(ev Event[*unstructured.Unstructured]) error {
				if ev.Err != nil {
					got.objects += "!" + ev.Err.(*ObjectError).Err.Error()
				} else {
					got.objects += ev.Object.GetName() + ":" + ev.Object.GetKind() + " "
					require.Equal(t, "metrics.k8s.io/v1beta1", ev.Object.GetAPIVersion())
				}
				return nil
			})
			if c.want.err == "" {
				require.NoError(t, err, "%s: %s", name, body)
				require.Equal(t, c.want.objects, got.objects[:min(len(got.objects), len(c.want.objects))], "%s: %s", name, body)
				require.Equal(t, len(c.want.objects) == 0, len(got.objects) == 0)
			} else {
				require.ErrorContains(t, err, c.want.err, "%s: %s", name, body)
			}
			// The next order, by a walk through most of them.
			fields = append(fields[1:], fields[0])
			if fields[0][1] == 'k' {
				fields[1], fields[2] = fields[2], fields[1]
			}
		}
	}
}

// warnings keeps what it gets.
type warnings []string

func (w *warnings) HandleWarningHeader(code int, _, text string) {
	*w = append(*w, fmt.Sprint(code, " ", len(text), " ", text[:5]))
}

func TestTheWarningHandlerOfTheConfigIsCalled(t *testing.T) {
	t.Parallel()
	answer := func(status int, body string) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			h := http.Header{"Content-Type": {mimeJSON}, "Warning": {`299 - "v1 is deprecated"`, `299 - "` + strings.Repeat("x", 5000) + `"`, "nonsense"}}
			return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
		})
	}
	for name, transport := range map[string]http.RoundTripper{
		"good": answer(200, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`), "bad": answer(500, ``),
	} {
		var got warnings
		r, err := New[*corev1.Pod](&rest.Config{Host: "http://x", Transport: transport, WarningHandler: &got}, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Options{})
		require.NoError(t, err)
		want := warnings{"299 16 v1 is", "299 1024 xxxxx"}
		_, err = r.List(t.Context(), Request{}, func(Event[*corev1.Pod]) error { return nil })
		require.Equal(t, name == "good", err == nil)
		require.Equal(t, want, got, name)
		if s, err := r.Watch(t.Context(), Request{}); err == nil {
			require.NoError(t, s.Close())
		}
		require.Equal(t, append(want, want...), got, name)
	}
}
