package intern_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/intern"
	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

// cached reads objects through an informer with a pool, by list and by watch, and checks
// that they are the server's and have equal parts once. part returns the part that is
// equal in all objects. Then the server forces a relist.
func cached[T informer.Object](t *testing.T, encoding reflector.Encoding, mode reflector.SyncMode, before func(T) (T, error), part func(T) any) {
	t.Helper()
	t.Run(fmt.Sprintf("%T %s %s", *new(T), encoding, mode), func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			server := informertest.Start(t, informertest.Options{InMemory: true, Scheme: scripted.CoreTypes()})
			const n = 60
			for i := range n {
				require.NoError(t, server.Create(&corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("a", i), Labels: map[string]string{"app": "web"}},
					Data:       map[string]string{"settings": "the same in all"},
				}))
			}
			source, err := reflector.NewResource[T](server.Config(), configMaps, reflector.ResourceOptions{Encoding: encoding})
			require.NoError(t, err)
			pool := intern.NewPool()
			inf, err := informer.New(source, informer.Options[T]{
				Transform: intern.Transform(pool, before), Logger: slog.New(slog.DiscardHandler), Reflector: reflector.Options{Sync: mode},
			})
			require.NoError(t, err)
			done := make(chan error)
			ctx, cancel := context.WithCancel(t.Context())
			go func() { done <- inf.Run(ctx) }()
			<-inf.Synced()
			for i := range n / 2 {
				require.NoError(t, server.Modify(configMaps, "default", fmt.Sprint("a", i), func(u *unstructured.Unstructured) {
					u.SetAnnotations(map[string]string{"at": fmt.Sprint(i)})
				}))
			}
			last, err := server.Get(configMaps, "default", fmt.Sprint("a", n/2-1))
			require.NoError(t, err)
			require.NoError(t, inf.WaitForObject(ctx, last))
			objs, err := server.List(configMaps, "", nil)
			require.NoError(t, err)
			require.Len(t, objs, n)
			parts := map[uintptr]bool{}
			pointers := map[string]T{}
			for _, want := range objs {
				got, err := inf.Lister().Get(types.NamespacedName{Namespace: "default", Name: want.GetName()})
				require.NoError(t, err)
				require.Equal(t, want.GetUID(), got.GetUID())
				require.Equal(t, want.GetResourceVersion(), got.GetResourceVersion())
				require.Equal(t, want.GetAnnotations(), got.GetAnnotations())
				parts[reflect.ValueOf(part(got)).Pointer()] = true
				pointers[got.GetName()] = got
			}
			// The first one of each place is only noted.
			require.Less(t, len(parts), 6)
			require.NotZero(t, pool.Stats().Saved)

			// An object that a relist finds unchanged is the one that was there.
			server.Restart()
			require.NoError(t, server.Modify(configMaps, "default", "a0", func(u *unstructured.Unstructured) { u.SetLabels(nil) }))
			changed, err := server.Get(configMaps, "default", "a0")
			require.NoError(t, err)
			require.NoError(t, inf.WaitForObject(ctx, changed))
			for name, old := range pointers {
				got, err := inf.Lister().Get(types.NamespacedName{Namespace: "default", Name: name})
				require.NoError(t, err)
				require.Equal(t, name != "a0", any(got) == any(old), name)
			}
			cancel()
			require.NoError(t, <-done)
		})
	})
}

func TestObjectsOfAnInformerShareEqualParts(t *testing.T) {
	for _, mode := range []reflector.SyncMode{reflector.SyncList, ""} {
		typed := func(o *corev1.ConfigMap) any { return o.Data }
		cached(t, reflector.EncodingProtobuf, mode, nil, typed)
		cached(t, reflector.EncodingJSON, mode, nil, typed)
		cached(t, "", mode, nil, func(o *unstructured.Unstructured) any { return o.Object["data"] })
		cached(t, "", mode, nil, func(o *metav1.PartialObjectMetadata) any { return o.Labels })
	}
}

// What is stored is what is shared.
func TestOtherTransformsComeFirst(t *testing.T) {
	cached(t, "", "", func(o *corev1.ConfigMap) (*corev1.ConfigMap, error) {
		o.Data = map[string]string{"made": "by the transform"}
		return o, nil
	}, func(o *corev1.ConfigMap) any { return o.Data })
	failed := errors.New("failed")
	pool := intern.NewPool()
	_, err := intern.Transform(pool, nil, func(o *corev1.Pod) (*corev1.Pod, error) { return o, failed })(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}})
	require.ErrorIs(t, err, failed)
	require.Zero(t, pool.Stats())
}

func TestWithoutAPoolObjectsAreAsTheyWere(t *testing.T) {
	renamed := intern.Transform(nil, func(o *corev1.Pod) (*corev1.Pod, error) { o.Name = "renamed"; return o, nil })
	for range 3 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
		same, err := renamed(pod)
		require.NoError(t, err)
		require.Same(t, pod, same)
		require.Equal(t, "renamed", pod.Name)
	}
}
