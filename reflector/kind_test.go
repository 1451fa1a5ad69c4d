package reflector_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// serve answers every list with the body that next returns.
func serve(t *testing.T, contentType string, next func() string) *rest.Config {
	return (&scripted.Server{List: scripted.Body(contentType, next)}).Config(t)
}

// listOnce makes one LIST request.
func listOnce[T reflector.Object](t *testing.T, lw reflector.ListerWatcher[T]) (objs []T, bad []error, err error) {
	_, err = lw.List(t.Context(), reflector.Request{}, func(ev reflector.WatchEvent[T]) error {
		o, err := ev.Object, ev.Err
		if err != nil {
			bad = append(bad, err)
		} else {
			objs = append(objs, o)
		}
		return nil
	})
	return objs, bad, err
}

// secretsIn returns a list of Secrets in JSON or protobuf.
func secretsIn(t *testing.T, encoding string, n int) string {
	list := &corev1.SecretList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
	var items []string
	for i := range n {
		list.Items = append(list.Items, corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s", i)}})
		items = append(items, fmt.Sprintf(`{"metadata":{"name":"s%d"}}`, i))
	}
	if encoding == "json" {
		return `{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[` + strings.Join(items, ",") + `]}`
	}
	raw, err := list.Marshal()
	require.NoError(t, err)
	u := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "SecretList"}, Raw: raw}
	b, err := u.Marshal()
	require.NoError(t, err)
	return "k8s\x00" + string(b)
}

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// embedded decodes as a ConfigMap does.
type embedded struct {
	corev1.ConfigMap
}

func TestACollectionOfAnotherKindIsOneError(t *testing.T) {
	t.Parallel()
	for encoding, mime := range map[string]string{"json": "application/json", "protobuf": "application/vnd.kubernetes.protobuf"} {
		for _, n := range []int{0, 3} {
			t.Run(fmt.Sprint(encoding, " ", n), func(t *testing.T) {
				t.Parallel()
				cfg := serve(t, mime, func() string { return secretsIn(t, encoding, n) })
				lw, err := reflector.NewResource[*appsv1.Deployment](cfg, secrets, reflector.ResourceOptions{})
				require.NoError(t, err)
				objs, bad, err := listOnce(t, lw)
				require.Empty(t, objs)
				require.Empty(t, bad)
				require.Equal(t, reflector.ClassWrongKind, reflector.Classify(err))
				require.ErrorContains(t, err, "cannot list secrets")
				require.ErrorContains(t, err, "it is a collection of v1 Secret objects, but *v1.Deployment is for v1 Deployment objects")

				lw2, err := reflector.NewResource[*embedded](cfg, secrets, reflector.ResourceOptions{})
				require.NoError(t, err)
				_, _, err = listOnce(t, lw2)
				require.Equal(t, reflector.ClassWrongKind, reflector.Classify(err))

				right, err := reflector.NewResource[*corev1.Secret](cfg, secrets, reflector.ResourceOptions{})
				require.NoError(t, err)
				objs2, bad, err := listOnce(t, right)
				require.NoError(t, err)
				require.Empty(t, bad)
				require.Len(t, objs2, n)
			})
		}
	}
}

func TestAnOptionNamesTheKindOfAUsersOwnStruct(t *testing.T) {
	t.Parallel()
	cfg := serve(t, "application/json", func() string { return widgetList })
	lw, err := reflector.NewResource[*slim](cfg, widgets, reflector.ResourceOptions{Kind: "Gadget"})
	require.NoError(t, err)
	_, _, err = listOnce(t, lw)
	require.Equal(t, reflector.ClassWrongKind, reflector.Classify(err))
	require.ErrorContains(t, err, "it is a collection of example.com/v1 Widget objects, but ResourceOptions.Kind says example.com/v1 Gadget: either the resource or the option is the wrong one")

	lw, err = reflector.NewResource[*slim](cfg, widgets, reflector.ResourceOptions{Kind: "Widget"})
	require.NoError(t, err)
	objs, bad, err := listOnce(t, lw)
	require.NoError(t, err)
	require.Empty(t, bad)
	require.Len(t, objs, 1)

	_, err = reflector.NewResource[*corev1.Secret](cfg, secrets, reflector.ResourceOptions{Kind: "Widget"})
	require.ErrorContains(t, err, `ResourceOptions.Kind is "Widget", but *v1.Secret is for objects of the kind Secret`)
	_, err = reflector.NewResource[*corev1.Secret](cfg, secrets, reflector.ResourceOptions{Kind: "Secret"})
	require.NoError(t, err)
}

func TestOneObjectOfAnotherKindIsNotACollectionOfIt(t *testing.T) {
	t.Parallel()
	body := `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"kind":"Secret","apiVersion":"v1","metadata":{"name":"odd"}},` + scripted.ConfigMap("a", "1") + `]}`
	lw, err := reflector.NewResource[*corev1.ConfigMap](serve(t, "application/json", func() string { return body }), scripted.ConfigMaps, reflector.ResourceOptions{})
	require.NoError(t, err)
	objs, bad, err := listOnce(t, lw)
	require.NoError(t, err)
	require.Len(t, objs, 1)
	require.Len(t, bad, 1)
	require.ErrorContains(t, bad[0], "decode: object odd: it is a v1 Secret, not a v1 ConfigMap")
}

func TestAnEndlessCollectionOfAnotherKindIsNotReadToItsEnd(t *testing.T) {
	t.Parallel()
	items := make([]string, 5000)
	for i := range items {
		items[i] = fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w%d"}}`, i)
	}
	body := `{"apiVersion":"example.com/v1","items":[` + strings.Join(items, ",") + `],"kind":"WidgetList","metadata":{"resourceVersion":"10"}}`
	lw, err := reflector.NewResource[*slim](serve(t, "application/json", func() string { return body }), widgets, reflector.ResourceOptions{Kind: "Gadget"})
	require.NoError(t, err)
	_, bad, err := listOnce(t, lw)
	require.Equal(t, reflector.ClassWrongKind, reflector.Classify(err))
	require.Len(t, bad, 99)
}

func TestTheKindIsThatOfTheNewestList(t *testing.T) {
	t.Parallel()
	n := 0
	cfg := serve(t, "application/json", func() string {
		n++
		kind := []string{"Error", "Widget", "Gadget"}[n-1]
		return fmt.Sprintf(`{"apiVersion":"example.com/v1","items":[{"apiVersion":"example.com/v1","kind":%q,"metadata":{"name":"w","resourceVersion":"3"}}],"kind":"%sList","metadata":{"resourceVersion":"10"}}`, kind, kind)
	})
	lw, err := reflector.NewResource[*unstructured.Unstructured](cfg, widgets, reflector.ResourceOptions{})
	require.NoError(t, err)
	for _, kind := range []string{"Error", "Widget", "Gadget"} {
		objs, bad, err := listOnce(t, lw)
		require.NoError(t, err)
		require.Empty(t, bad)
		require.Equal(t, kind, objs[0].GetKind())
	}
}

func TestAResourceThatComesBackWithAnotherKindIsCached(t *testing.T) {
	for _, mode := range []reflector.SyncMode{reflector.SyncList, reflector.SyncWatchList} {
		t.Run(string(mode), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				object := func(kind string) string {
					return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":%q,"metadata":{"name":"o-%s","namespace":"ns","uid":"u","resourceVersion":"3"}}`, kind, kind)
				}
				first := func(w httpWriter, r *httpRequest) {
					scripted.Linger(r, 20*time.Second)
					scripted.Send(w, "ERROR", string(scripted.StatusJSON(410, metav1.StatusReasonExpired, "too old")))
				}
				stream := func(kind string, then func(httpWriter, *httpRequest)) scripted.Answer {
					return func(w httpWriter, r *httpRequest, _ int) {
						scripted.Send(w, "ADDED", object(kind))
						scripted.Send(w, "BOOKMARK", scripted.Bookmark("10", true))
						then(w, r)
					}
				}
				s := &scripted.Server{
					List:      scripted.InTurn(oddLists("10", "WidgetList", object("Widget")), oddLists("20", "GadgetList", object("Gadget"))),
					Watch:     scripted.InTurn(func(w httpWriter, r *httpRequest, _ int) { scripted.Begin(w); first(w, r) }, scripted.Quiet),
					WatchList: scripted.InTurn(stream("Widget", first), stream("Gadget", func(_ httpWriter, r *httpRequest) { scripted.Hang(r) })),
				}
				source, err := reflector.NewResource[*slim](s.Config(t), widgets, reflector.ResourceOptions{})
				require.NoError(t, err)
				lw := reflector.Transform(source, func(w *slim) (*configMap, error) { return &configMap{ObjectMeta: w.ObjectMeta}, nil })
				sink := newRecorder()
				r := run(t, lw, sink, reflector.Options{Sync: mode})
				after(time.Second)
				require.Equal(t, "o-Widget@3", sink.holds())
				after(25 * time.Second)
				require.Equal(t, "o-Gadget@3", sink.holds())
				require.Empty(t, r.Health().Quarantine)
			})
		})
	}
}

func TestInitialEventsOfAnotherKindAreOneError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		secret := func(name string) string {
			return `{"apiVersion":"v1","kind":"Secret",` + scripted.ConfigMap(name, "1")[1:]
		}
		s := &scripted.Server{WatchList: initial(func(w httpWriter, r *httpRequest) {
			scripted.Send(w, "BOOKMARK", scripted.Bookmark("10", true))
			scripted.Hang(r)
		}, secret("a"), secret("b"))}
		sink := newRecorder()
		r := run(t, sourceOf(t, s), sink, reflector.Options{})
		after(500 * time.Millisecond)
		h := r.Health()
		require.Equal(t, reflector.ClassWrongKind, h.LastErrorClass, "%v", h.LastError)
		require.Equal(t, reflector.StateDegraded, h.State)
		require.Equal(t, 1, len(s.Requests()), "a LIST would fare no better")
		require.Empty(t, sink.calls())
	})
}
