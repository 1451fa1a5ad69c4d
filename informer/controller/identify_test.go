package controller_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/workqueue"
)

// reconciles returns a test of a controller that reconciles a resource and owns Secrets: a Secret of an object leads
// to its key, and Own names the kind.
func reconciles[T informer.Object](resource schema.GroupVersionResource, owner informer.Object, kind string) func(*testing.T, *informertest.Server) {
	return func(t *testing.T, server *informertest.Server) {
		c := controller.New(options(t, server))
		all := controller.For[T](c, resource)
		controller.Owns[*corev1.Secret](c, secrets)
		var got calls
		run(t, c, func(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
			obj, err := all.Get(key)
			if err != nil {
				return workqueue.Result{}, err // a key of another namespace
			}
			got.note(key)
			made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}}
			assert.NoError(t, all.Own(ctx, made, obj))
			assert.Equal(t, kind, made.OwnerReferences[0].Kind)
			return workqueue.Result{}, nil
		})
		assert.Empty(t, got.take(), "no object is there when discovery is asked")
		require.NoError(t, server.Create(owner.DeepCopyObject().(informer.Object)))
		assert.Equal(t, []string{owner.GetName()}, got.take())
		now, err := server.Get(resource, owner.GetNamespace(), owner.GetName())
		require.NoError(t, err)
		yes := true
		require.NoError(t, server.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "owned", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: kind, Name: owner.GetName(), UID: now.GetUID(), Controller: &yes},
		}}}))
		assert.Equal(t, []string{owner.GetName()}, got.take(), "an object that it owns")
	}
}

func TestOwnersAreFoundByTheKindAndScopeOfDiscovery(t *testing.T) {
	t.Parallel()
	nodes, node := corev1.SchemeGroupVersion.WithResource("nodes"), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	for name, test := range map[string]func(*testing.T, *informertest.Server){
		"cluster-scoped":               reconciles[*corev1.Node](nodes, node, "Node"),
		"cluster-scoped, unstructured": reconciles[*unstructured.Unstructured](nodes, node, "Node"),
		"cluster-scoped, metadata":     reconciles[*metav1.PartialObjectMetadata](nodes, node, "Node"),
		"unstructured":                 reconciles[*unstructured.Unstructured](configMaps, configMap("a"), "ConfigMap"),
	} {
		t.Run(name, func(t *testing.T) { inWorld(t, test) })
	}
}

func TestAFailureOfDiscoveryIsRetriedAndReported(t *testing.T) {
	inWorld(t, func(t *testing.T, server *informertest.Server) {
		require.NoError(t, server.Create(configMap("a")))
		opts := options(t, server)
		var forbidden atomic.Bool
		forbidden.Store(true)
		opts.Config.Wrap(func(rt http.RoundTripper) http.RoundTripper {
			return roundTripper(func(req *http.Request) (*http.Response, error) {
				if req.URL.Path == "/api/v1" && forbidden.Load() {
					return &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody, Request: req}, nil
				}
				return rt.RoundTrip(req)
			})
		})
		c := controller.New(opts)
		controller.For[*corev1.ConfigMap](c, configMaps)
		var got calls
		run(t, c, func(_ context.Context, key types.NamespacedName) (workqueue.Result, error) {
			got.note(key)
			return workqueue.Result{}, nil
		})
		assert.Empty(t, got.take())
		assert.ErrorContains(t, c.Ready(), "waits for the kind and the scope of configmaps from discovery")
		assert.ErrorContains(t, c.Ready(), "system:discovery")
		forbidden.Store(false)
		time.Sleep(30 * time.Second)
		assert.Equal(t, []string{"a"}, got.take())
		assert.NoError(t, c.Ready())
	})
}
