package reflector_test

import (
	"context"
	"fmt"
	"reflect"
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

// sharing checks that objects of a source have equal parts once: those of a list and
// those of events. parts returns the part that is equal in all objects.
func sharing[T reflector.Object](t *testing.T, encoding reflector.Encoding, mode reflector.SyncMode, wrap func(reflector.ListerWatcher[T]) reflector.ListerWatcher[T], part func(T) uintptr) {
	t.Helper()
	t.Run(fmt.Sprintf("%T %s %s", *new(T), encoding, mode), func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			server := informertest.Start(t, informertest.Options{InMemory: true})
			create := func(name string) {
				require.NoError(t, server.Create(&corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": "web"}},
					Data:       map[string]string{"settings": "the same in all"},
				}))
			}
			for i := range 300 { // several chunks of the decoders
				create(fmt.Sprint("a", i))
			}
			plain, err := reflector.NewResource[T](server.Config(), scripted.ConfigMaps, reflector.ResourceOptions{Encoding: encoding})
			require.NoError(t, err)
			pool := reflector.NewInternPool()
			counts := func(lw reflector.ListerWatcher[T]) (n, distinct int) {
				sink := &mirror[T]{state: map[string]T{}}
				r, err := reflector.New(lw, sink, reflector.Options{Sync: mode})
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error)
				go func() { done <- r.Run(ctx) }()
				after(time.Second)
				for i := range 50 {
					require.NoError(t, server.Modify(scripted.ConfigMaps, "default", fmt.Sprint("a", i), func(u *unstructured.Unstructured) {
						u.SetAnnotations(map[string]string{"at": fmt.Sprint(time.Now())})
					}))
				}
				after(time.Second)
				cancel()
				require.NoError(t, <-done)
				require.NoError(t, r.Health().LastError)
				objs, err := server.List(scripted.ConfigMaps, "", nil)
				require.NoError(t, err)
				want := &mirror[*unstructured.Unstructured]{state: map[string]*unstructured.Unstructured{}}
				require.NoError(t, want.Replace(ctx, objs, ""))
				require.Equal(t, want.holds(), sink.holds())
				parts := map[uintptr]bool{}
				for _, o := range sink.state {
					parts[part(o)] = true
				}
				return len(sink.state), len(parts)
			}
			n, distinct := counts(reflector.Intern(wrap(plain), pool))
			// The first one of each place is only noted.
			require.Less(t, distinct, 10, "of %d", n)
			require.NotZero(t, pool.Stats().Parts)
			// The source that was given is as it was.
			n, distinct = counts(wrap(plain))
			require.Equal(t, n, distinct)
		})
	})
}

func address[M ~map[string]V, V any](m M) uintptr { return reflect.ValueOf(m).Pointer() }

func TestObjectsOfAResourceShareEqualParts(t *testing.T) {
	t.Parallel()
	for _, mode := range []reflector.SyncMode{reflector.SyncList, reflector.SyncAuto} {
		typed := func(o *corev1.ConfigMap) uintptr { return address(o.Data) }
		asIs := func(lw reflector.ListerWatcher[*corev1.ConfigMap]) reflector.ListerWatcher[*corev1.ConfigMap] {
			return lw
		}
		sharing(t, reflector.EncodingProtobuf, mode, asIs, typed)
		sharing(t, reflector.EncodingJSON, mode, asIs, typed)
		sharing(t, reflector.EncodingAuto, mode,
			func(lw reflector.ListerWatcher[*unstructured.Unstructured]) reflector.ListerWatcher[*unstructured.Unstructured] {
				return lw
			},
			func(o *unstructured.Unstructured) uintptr { return address(o.Object["data"].(map[string]any)) })
		sharing(t, reflector.EncodingAuto, mode,
			func(lw reflector.ListerWatcher[*metav1.PartialObjectMetadata]) reflector.ListerWatcher[*metav1.PartialObjectMetadata] {
				return lw
			},
			func(o *metav1.PartialObjectMetadata) uintptr { return address(o.Labels) })
	}
}

// A transform comes before, whatever the source is able to do.
func TestObjectsAreInternedBehindATransform(t *testing.T) {
	t.Parallel()
	sharing(t, reflector.EncodingAuto, reflector.SyncAuto,
		func(lw reflector.ListerWatcher[*corev1.ConfigMap]) reflector.ListerWatcher[*corev1.ConfigMap] {
			return reflector.Transform(lw, func(o *corev1.ConfigMap) (*corev1.ConfigMap, error) {
				o.Data = map[string]string{"made": "by the transform"}
				return o, nil
			})
		},
		func(o *corev1.ConfigMap) uintptr {
			if o.Data["made"] == "" {
				return 0
			}
			return address(o.Data)
		})
}

func TestWithoutAPoolASourceIsAsItWas(t *testing.T) {
	t.Parallel()
	s := &scripted.Server{}
	lw := sourceOf(t, s)
	require.Same(t, lw, reflector.Intern(lw, nil))
}
