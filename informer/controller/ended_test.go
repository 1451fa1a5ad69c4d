package controller_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/workqueue"
)

// A write that ends an object has no version of its own: the server answers with the one before, or with a Status.
// The cache of the written resource lags, and events of another one ask for the key. Promise informer/controller/2
func TestAKeyWaitsForTheEndOfWhatItHasEnded(t *testing.T) {
	for name, end := range map[string]func(ctx context.Context, maps *controller.Resource[*corev1.ConfigMap], m *corev1.ConfigMap) error{
		"the last finalizer is removed": func(ctx context.Context, maps *controller.Resource[*corev1.ConfigMap], m *corev1.ConfigMap) error {
			_, err := maps.Modify(ctx, client.KeyOf(m), func(m *corev1.ConfigMap) error { client.RemoveFinalizer(m, "example.com/f"); return nil })
			return err
		},
		"by a patch": func(ctx context.Context, maps *controller.Resource[*corev1.ConfigMap], m *corev1.ConfigMap) error {
			_, err := maps.Patch(ctx, client.KeyOf(m), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
			return err
		},
		"a deletion": func(ctx context.Context, maps *controller.Resource[*corev1.ConfigMap], m *corev1.ConfigMap) error {
			return maps.Delete(ctx, client.KeyOf(m), metav1.DeleteOptions{})
		},
		"a deletion of this very one": func(ctx context.Context, maps *controller.Resource[*corev1.ConfigMap], m *corev1.ConfigMap) error {
			return maps.Delete(ctx, client.KeyOf(m), client.Exactly(m))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, server *informertest.Server) {
				m := configMap("a")
				deleted := name[0] == 'a'
				if !deleted {
					m.Finalizers = []string{"example.com/f"}
				}
				require.NoError(t, server.Create(m))
				require.NoError(t, server.Create(secretOf(m)))
				if !deleted {
					require.NoError(t, server.Delete(configMaps, "default", "a"))
				}
				// The object and the bookmark of the first list, and nothing else.
				server.Inject(informertest.Fault{Verb: "watch", Resource: "configmaps", Times: 1, Effect: informertest.StallWatch(2)})
				c := controller.New(options(t, server))
				maps := controller.For[*corev1.ConfigMap](c, configMaps)
				controller.Owns[*corev1.Secret](c, secrets)
				var ended, after atomic.Int32
				run(t, c, func(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
					m, err := maps.Get(key)
					if err != nil {
						after.Add(1)
						return workqueue.Result{}, client.IgnoreNotFound(err)
					}
					ended.Add(1)
					return workqueue.Result{}, client.IgnoreNotFound(end(ctx, maps, m))
				})
				for i := range 10 {
					time.Sleep(2 * time.Second)
					require.NoError(t, server.Modify(secrets, "default", "a", func(u *unstructured.Unstructured) { u.SetLabels(map[string]string{"x": fmt.Sprint(i)}) }))
				}
				assert.EqualValues(t, 1, ended.Load())
				server.BreakConnections()
				time.Sleep(10 * time.Second)
				assert.EqualValues(t, 1, ended.Load())
				assert.Positive(t, after.Load())
			})
		})
	}
}

// A Namespace that is being deleted has no finalizer in its metadata, but in its spec: a write of it has a version.
func TestAWriteOfANamespaceThatIsBeingDeletedIsSeen(t *testing.T) {
	inWorld(t, func(t *testing.T, server *informertest.Server) {
		namespaces := corev1.SchemeGroupVersion.WithResource("namespaces")
		require.NoError(t, server.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n"}}))
		held := configMap("held")
		held.Namespace, held.Finalizers = "n", []string{"example.com/f"}
		require.NoError(t, server.Create(held))
		require.NoError(t, server.Delete(namespaces, "", "n"))
		c := controller.New(options(t, server))
		all := controller.For[*corev1.Namespace](c, namespaces)
		var called calls
		run(t, c, func(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
			if key.Name != "n" {
				return workqueue.Result{}, nil
			}
			called.note(key)
			_, err := all.Modify(ctx, key, func(n *corev1.Namespace) error { n.Annotations = map[string]string{"seen": "yes"}; return nil })
			return workqueue.Result{}, err
		})
		assert.Equal(t, []string{"n", "n"}, called.take(), "the second call is for the event of the write")
	})
}

// A cache that is behind has an owner that is gone, or that has another UID now. Nothing is created for it.
func TestOwnAsksWhetherTheOwnerIsThereBeforeACreation(t *testing.T) {
	inWorld(t, func(t *testing.T, server *informertest.Server) {
		require.NoError(t, server.Create(configMap("a")))
		require.NoError(t, server.Create(configMap("b")))
		require.NoError(t, server.Create(configMap("c")))
		server.Inject(informertest.Fault{Verb: "watch", Resource: "configmaps", Times: 1, Effect: informertest.StallWatch(4)})
		c := controller.New(options(t, server))
		maps := controller.For[*corev1.ConfigMap](c, configMaps)
		owned := controller.Owns[*corev1.Secret](c, secrets)
		var called calls
		var ready atomic.Bool
		run(t, c, func(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
			m, err := maps.Get(key)
			if err != nil || !ready.Load() {
				return workqueue.Result{RequeueAfter: time.Second}, client.IgnoreNotFound(err)
			}
			called.note(key)
			_, _, err = owned.CreateOrUpdate(ctx, key, func(s *corev1.Secret) error { return maps.Own(ctx, s, m) })
			return workqueue.Result{}, client.IgnoreNotFound(err)
		})
		called.take()
		require.NoError(t, server.Delete(configMaps, "default", "a"))
		require.NoError(t, server.Delete(configMaps, "default", "b"))
		require.NoError(t, server.Create(configMap("b")))
		before := server.Count("get", "configmaps")
		ready.Store(true)
		assert.Equal(t, []string{"a", "b", "c", "c"}, called.take(), "the cache is behind; the second call is for the event of what c owns")
		assert.Equal(t, 1, server.Count("create", "secrets"))
		assert.Equal(t, before+3, server.Count("get", "configmaps"), "one before each creation, none for what exists")
		_, err := server.Get(secrets, "default", "c")
		require.NoError(t, err)
	})
}
