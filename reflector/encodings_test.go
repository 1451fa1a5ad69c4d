package reflector_test

import (
	"context"
	"fmt"
	"net/http"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// mirror is a sink for any type.
type mirror[T reflector.Object] struct {
	mu    sync.Mutex
	state map[string]T
}

func (m *mirror[T]) set(o T) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state[keyOf(o).String()] = o
	return nil
}

func (m *mirror[T]) Add(_ context.Context, o T) error       { return m.set(o) }
func (m *mirror[T]) Update(_ context.Context, o T) error    { return m.set(o) }
func (m *mirror[T]) Bookmark(context.Context, string) error { return nil }
func (m *mirror[T]) Delete(_ context.Context, o T) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.state, keyOf(o).String())
	return nil
}

func (m *mirror[T]) Replace(_ context.Context, objs []T, _ string) error {
	m.mu.Lock()
	clear(m.state)
	m.mu.Unlock()
	for _, o := range objs {
		_ = m.set(o)
	}
	return nil
}

func (m *mirror[T]) holds() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for k, o := range m.state {
		out = append(out, fmt.Sprintf("%s@%s %v %s", k, o.GetResourceVersion(), o.GetLabels(), o.GetUID()))
	}
	sort.Strings(out)
	return strings.Join(out, "\n")
}

// accepts notes the Content-Types of answers.
type accepts struct {
	http.RoundTripper
	mu   sync.Mutex
	seen map[string]bool
}

func (a *accepts) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := a.RoundTripper.RoundTrip(req)
	if err == nil {
		a.mu.Lock()
		typ, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
		a.seen[typ] = true
		a.mu.Unlock()
	}
	return resp, err
}

// mirrors checks that a sink of T ends up with what the server holds, and that
// the server answered in the encoding given.
func mirrors[T reflector.Object](t *testing.T, encoding reflector.Encoding, mode reflector.SyncMode, mime string, check func(*testing.T, T)) {
	t.Run(fmt.Sprintf("%T %s %s", *new(T), encoding, mode), func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			server := informertest.Start(t, informertest.Options{InMemory: true, Scheme: scripted.CoreTypes()})
			create := func(name string) {
				require.NoError(t, server.Create(&corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"l": name}},
					Data:       map[string]string{"k": "v"},
				}))
			}
			for i := range 300 { // several parcels
				create(fmt.Sprint("a", i))
			}
			cfg := server.Config()
			seen := &accepts{seen: map[string]bool{}}
			cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { seen.RoundTripper = rt; return seen })
			lw, err := reflector.NewResource[T](cfg, scripted.ConfigMaps, reflector.ResourceOptions{Encoding: encoding})
			require.NoError(t, err)
			sink := &mirror[T]{state: map[string]T{}}
			r, err := reflector.New(lw, sink, reflector.Options{Sync: mode})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- r.Run(ctx) }()
			after(time.Second)
			create("b")
			require.NoError(t, server.Delete(scripted.ConfigMaps, "default", "a0"))
			require.NoError(t, server.Modify(scripted.ConfigMaps, "default", "a1", func(u *unstructured.Unstructured) {
				u.SetLabels(map[string]string{"l": "changed"})
			}))
			after(time.Second)
			require.NoError(t, r.Health().LastError)

			objs, err := server.List(scripted.ConfigMaps, "", nil)
			require.NoError(t, err)
			want := &mirror[*unstructured.Unstructured]{state: map[string]*unstructured.Unstructured{}}
			require.NoError(t, want.Replace(ctx, objs, ""))
			require.Len(t, objs, 300)
			require.Equal(t, want.holds(), sink.holds())
			for _, o := range sink.state {
				check(t, o)
			}
			require.Equal(t, map[string]bool{mime: true}, seen.seen)
			cancel()
			require.NoError(t, <-done)
		})
	})
}

func TestEveryTypeAndEncodingMirrorsTheServer(t *testing.T) {
	t.Parallel()
	const json, proto = "application/json", "application/vnd.kubernetes.protobuf"
	for _, mode := range []reflector.SyncMode{reflector.SyncList, reflector.SyncAuto} {
		whole := func(t *testing.T, o *corev1.ConfigMap) {
			require.Equal(t, "v1 ConfigMap v", o.APIVersion+" "+o.Kind+" "+o.Data["k"])
		}
		mirrors(t, reflector.EncodingAuto, mode, proto, whole)
		mirrors(t, reflector.EncodingProtobuf, mode, proto, whole)
		mirrors(t, reflector.EncodingJSON, mode, json, whole)
		mirrors(t, reflector.EncodingAuto, mode, json, func(t *testing.T, o *unstructured.Unstructured) {
			require.Equal(t, "v1 ConfigMap", o.GetAPIVersion()+" "+o.GetKind())
			require.Equal(t, map[string]any{"k": "v"}, o.Object["data"])
		})
		metadata := func(t *testing.T, o *metav1.PartialObjectMetadata) {
			require.Equal(t, "PartialObjectMetadata", o.Kind)
		}
		mirrors(t, reflector.EncodingAuto, mode, proto, metadata)
		mirrors(t, reflector.EncodingJSON, mode, json, metadata)
	}
}
