package controllerruntime_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/informerkit/informerkit/informer/controllerruntime"
	"github.com/informerkit/informerkit/informer/informertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	widget     = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	quiet      = controllerruntime.Options{Logger: slog.New(slog.DiscardHandler)}
)

// bubble runs a test on a server in memory, which has the given objects, the namespaces
// a and b, and widgets.
func bubble(t *testing.T, objs []client.Object, test func(t *testing.T, server *informertest.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := informertest.Start(t, informertest.Options{InMemory: true, Resources: []informertest.Resource{
			{Group: widget.Group, Versions: []string{widget.Version}, Kind: widget.Kind, Plural: "widgets"},
		}})
		for _, namespace := range []string{"a", "b", "c"} {
			require.NoError(t, server.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
		}
		for _, obj := range objs {
			require.NoError(t, server.Create(obj.DeepCopyObject()))
		}
		test(t, server)
	})
}

// newCache returns a cache that is not started.
func newCache(t *testing.T, server *informertest.Server, opts cache.Options, own controllerruntime.Options) *controllerruntime.Cache {
	t.Helper()
	made, err := controllerruntime.NewWith(own)(server.Config(), opts)
	require.NoError(t, err)
	return made.(*controllerruntime.Cache)
}

// run starts a cache, waits for it, and stops it at the end of the test.
func run(t *testing.T, c *controllerruntime.Cache) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			assert.NoError(t, <-ended)
		}
	}
	t.Cleanup(stop)
	require.True(t, c.WaitForCacheSync(t.Context()))
	return stop
}

// started is a cache that runs.
func started(t *testing.T, server *informertest.Server, opts cache.Options) *controllerruntime.Cache {
	t.Helper()
	c := newCache(t, server, opts, quiet)
	run(t, c)
	return c
}

func configMap(namespace, name string, labels ...string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{}},
		Data:       map[string]string{"key": "value of " + name},
	}
	for _, l := range labels {
		cm.Labels[l] = "yes"
	}
	return cm
}

func widgetNamed(namespace, name, size string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": size}}}
	u.SetGroupVersionKind(widget)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

func unstructuredOf(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u
}

func metadataOf(gvk schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(gvk)
	return m
}

// names lists ConfigMaps and returns their keys, sorted.
func names(t *testing.T, c client.Reader, opts ...client.ListOption) []string {
	t.Helper()
	var list corev1.ConfigMapList
	require.NoError(t, c.List(t.Context(), &list, opts...))
	keys := make([]string, 0, len(list.Items))
	for _, item := range list.Items {
		keys = append(keys, fmt.Sprintf("%s/%s", item.Namespace, item.Name))
	}
	slices.Sort(keys)
	return keys
}
