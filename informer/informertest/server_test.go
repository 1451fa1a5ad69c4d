package informertest_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/informerkit/informerkit/informer/informertest"
)

var (
	widgets    = schema.GroupVersionResource{Group: "example.test", Version: "v1", Resource: "widgets"}
	widgetKind = informertest.Resource{Group: "example.test", Versions: []string{"v1"}, Kind: "Widget", StatusSubresource: true}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

func TestIncompleteResourcesAreRefused(t *testing.T) {
	t.Parallel()
	for name, res := range map[string]informertest.Resource{
		"no kind":      {Group: "example.test", Versions: []string{"v1"}},
		"no version":   {Group: "example.test", Kind: "Widget"},
		"bad version":  {Group: "example.test", Kind: "Widget", Versions: []string{"a/b"}},
		"bad plural":   {Group: "example.test", Kind: "Widget", Versions: []string{"v1"}, Plural: "a/b"},
		"empty string": {Group: "example.test", Kind: "Widget", Versions: []string{""}},
	} {
		_, err := informertest.NewServer(informertest.Options{Resources: []informertest.Resource{res}})
		assert.ErrorContains(t, err, "informertest: resource", name)
	}
}

func TestGoSideRoundTrip(t *testing.T) {
	t.Parallel()
	s := informertest.Start(t, informertest.Options{Resources: []informertest.Resource{widgetKind}})
	w := widget("a")
	w.Object["status"] = map[string]any{"ready": true}
	w.SetLabels(map[string]string{"l": "1"})
	require.NoError(t, s.Create(w))
	assert.Equal(t, s.ResourceVersion(), w.GetResourceVersion())
	assert.True(t, apierrors.IsAlreadyExists(s.Create(widget("a"))))

	require.NoError(t, s.Modify(widgets, "default", "a", func(u *unstructured.Unstructured) {
		u.Object["status"] = map[string]any{"ready": false}
	}))
	assert.True(t, apierrors.IsConflict(s.Update(w)), "its version is old by now")
	got, err := s.Get(widgets, "default", "a")
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"ready": false}, got.Object["status"])
	got.Object["changed"] = true
	again, err := s.Get(widgets, "default", "a")
	require.NoError(t, err)
	assert.NotContains(t, again.Object, "changed", "what Get returns is a copy")

	require.NoError(t, s.Create(widget("b")))
	list, err := s.List(widgets, "", labels.SelectorFromSet(labels.Set{"l": "1"}))
	require.NoError(t, err)
	require.Len(t, list, 1)
	list, err = s.List(widgets, "default", nil)
	require.NoError(t, err)
	require.Len(t, list, 2)

	require.NoError(t, s.Delete(widgets, "default", "a"))
	_, err = s.Get(widgets, "default", "a")
	assert.True(t, apierrors.IsNotFound(err))
	assert.True(t, apierrors.IsNotFound(s.Delete(widgets, "default", "a")))
	assert.True(t, apierrors.IsNotFound(s.Modify(widgets, "default", "a", func(*unstructured.Unstructured) {})))
}

func TestKindsThatAreNotServedAreNamed(t *testing.T) {
	t.Parallel()
	s := informertest.Start(t, informertest.Options{})
	assert.ErrorContains(t, s.Create(widget("a")), "is not served; use Register")
	_, err := s.Get(widgets, "default", "a")
	require.ErrorContains(t, err, "is not served")
	_, err = s.List(widgets, "", nil)
	require.ErrorContains(t, err, "is not served")
	// A type that no scheme holds is known by its name, if that names one resource.
	type ConfigMap struct{ corev1.ConfigMap }
	require.NoError(t, s.Create(&ConfigMap{corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}}))
	require.NoError(t, s.Register(informertest.Resource{Group: "example.test", Versions: []string{"v1"}, Kind: "ConfigMap", Plural: "configmaps"}))
	assert.ErrorContains(t, s.Create(&ConfigMap{}), "set apiVersion and kind")
}

func TestRegisterAgainKeepsTheObjects(t *testing.T) {
	t.Parallel()
	s := informertest.Start(t, informertest.Options{Resources: []informertest.Resource{widgetKind}})
	require.NoError(t, s.Create(widget("a")))
	more := widgetKind
	more.Versions = []string{"v2", "v1"}
	require.NoError(t, s.Register(more))
	v2 := widgets
	v2.Version = "v2"
	got, err := s.Get(v2, "default", "a")
	require.NoError(t, err)
	assert.Equal(t, "example.test/v2", got.GetAPIVersion())
}

func TestANamespaceGoesWithItsContent(t *testing.T) {
	t.Parallel()
	s := informertest.Start(t, informertest.Options{})
	free, held := configmap("free"), configmap("held")
	free.SetNamespace("shop")
	held.SetNamespace("shop")
	held.SetFinalizers([]string{"example.test/hold"})
	require.NoError(t, s.Create(free))
	require.NoError(t, s.Create(held))
	require.NoError(t, s.Delete(namespaces, "", "shop"))

	_, err := s.Get(configmaps, "shop", "free")
	assert.True(t, apierrors.IsNotFound(err))
	ns, err := s.Get(namespaces, "", "shop")
	require.NoError(t, err, "the finalizer holds up the namespace too")
	phase, _, _ := unstructured.NestedString(ns.Object, "status", "phase")
	assert.Equal(t, "Terminating", phase)
	late := configmap("late")
	late.SetNamespace("shop")
	err = s.Create(late)
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
	assert.True(t, apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause))

	require.NoError(t, s.Modify(configmaps, "shop", "held", func(u *unstructured.Unstructured) { u.SetFinalizers(nil) }))
	_, err = s.Get(namespaces, "", "shop")
	assert.True(t, apierrors.IsNotFound(err))
}

// Promise informertest/6
func TestEqualSeedsGiveEqualNames(t *testing.T) {
	t.Parallel()
	build := func(seed uint64) (names []string) {
		s := informertest.Start(t, informertest.Options{Seed: seed})
		for range 3 {
			cm := configmap("")
			cm.SetGenerateName("x-")
			require.NoError(t, s.Create(cm))
			names = append(names, cm.GetName(), string(cm.GetUID()))
		}
		return names
	}
	assert.Equal(t, build(7), build(7))
	assert.NotEqual(t, build(7), build(8))
}

// Promise informertest/5
func TestAWriteThatChangesNothingIsNotAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := informertest.Start(t, informertest.Options{InMemory: true})
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"k": "v"}}
		client := core(t, s)
		require.NoError(t, client.Post().Namespace("default").Resource("configmaps").Body(cm).Do(t.Context()).Into(cm))
		opts := metav1.ListOptions{Watch: true, ResourceVersion: cm.ResourceVersion}
		w, err := client.Get().Namespace("default").Resource("configmaps").VersionedParams(&opts, scheme.ParameterCodec).Watch(t.Context())
		require.NoError(t, err)
		defer w.Stop()
		before := s.ResourceVersion()
		time.Sleep(2 * time.Second) // managed fields have times in seconds
		same := cm.DeepCopy()
		require.NoError(t, client.Put().Namespace("default").Resource("configmaps").Name("a").Body(same).Do(t.Context()).Into(same))
		assert.Equal(t, cm.ResourceVersion, same.ResourceVersion)
		require.NoError(t, client.Patch(types.MergePatchType).Namespace("default").Resource("configmaps").Name("a").Body([]byte(`{"data":{"k":"v"}}`)).Do(t.Context()).Error())
		require.NoError(t, s.Modify(corev1.SchemeGroupVersion.WithResource("configmaps"), "default", "a", func(*unstructured.Unstructured) {}))
		assert.Equal(t, before, s.ResourceVersion())
		synctest.Wait()
		assert.Empty(t, w.ResultChan())
	})
}

func TestWatchListCanBeOff(t *testing.T) {
	t.Parallel()
	s := informertest.Start(t, informertest.Options{DisableWatchList: true})
	yes := true
	opts := metav1.ListOptions{Watch: true, SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}
	_, err := core(t, s).Get().Resource("pods").VersionedParams(&opts, scheme.ParameterCodec).Watch(t.Context())
	assert.True(t, apierrors.IsInvalid(err), "%v", err)
}

func TestWithoutWatchCacheListsAtZeroArePaged(t *testing.T) {
	t.Parallel()
	s := informertest.Start(t, informertest.Options{PaginateFromCache: true})
	require.NoError(t, s.Create(configmap("a")))
	require.NoError(t, s.Create(configmap("b")))
	var list corev1.ConfigMapList
	opts := metav1.ListOptions{ResourceVersion: "0", Limit: 1}
	require.NoError(t, core(t, s).Get().Resource("configmaps").VersionedParams(&opts, scheme.ParameterCodec).Do(t.Context()).Into(&list))
	assert.Len(t, list.Items, 1)
	assert.NotEmpty(t, list.Continue)
}

func TestTheHistoryIsBounded(t *testing.T) {
	t.Parallel()
	s := informertest.Start(t, informertest.Options{HistoryLength: 10})
	cm := configmap("a")
	require.NoError(t, s.Create(cm))
	first := cm.GetResourceVersion()
	for i := range 20 {
		cm.SetAnnotations(map[string]string{"n": strings.Repeat("x", i+1)})
		require.NoError(t, s.Update(cm))
	}
	opts := metav1.ListOptions{ResourceVersion: first, ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	err := core(t, s).Get().Resource("configmaps").VersionedParams(&opts, scheme.ParameterCodec).Do(t.Context()).Error()
	assert.True(t, apierrors.IsResourceExpired(err), "%v", err)
}

// Promise informertest/7
func TestASlowWatchDoesNotBlockOthersAndIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := informertest.Start(t, informertest.Options{InMemory: true, HistoryLength: 10})
		body, err := core(t, s).Get().Resource("configmaps").Param("watch", "true").Param("resourceVersion", s.ResourceVersion()).Stream(t.Context())
		require.NoError(t, err)
		defer body.Close()
		cm := configmap("a")
		cm.Object["data"] = map[string]any{"k": strings.Repeat("x", 100_000)}
		require.NoError(t, s.Create(cm))
		synctest.Wait() // the server waits for the client to read
		for i := range 20 {
			cm.SetAnnotations(map[string]string{"n": strings.Repeat("x", i+1)})
			require.NoError(t, s.Update(cm))
		}
		content := make([]byte, 0, 200_000)
		buf := make([]byte, 4096)
		for {
			n, err := body.Read(buf)
			content = append(content, buf[:n]...)
			if err != nil {
				break
			}
		}
		assert.Equal(t, 2, strings.Count(string(content), `"type":`), "one event, then the error")
		assert.Contains(t, string(content), `"code":410`)
	})
}

func TestRequestsAreLogged(t *testing.T) {
	t.Parallel()
	s := informertest.Start(t, informertest.Options{})
	before := time.Now()
	require.NoError(t, core(t, s).Get().Namespace("default").Resource("configmaps").Param("limit", "5").Do(t.Context()).Error())
	assert.Error(t, core(t, s).Get().Namespace("default").Resource("configmaps").Name("a").Do(t.Context()).Error())
	requests := s.Requests()
	require.Len(t, requests, 2)
	assert.WithinRange(t, requests[0].Time, before, time.Now())
	assert.NotEmpty(t, requests[0].UserAgent)
	requests[0].Time, requests[0].UserAgent = time.Time{}, ""
	assert.Equal(t, informertest.Request{Verb: "list", Version: "v1", Resource: "configmaps", Namespace: "default", Query: "limit=5"}, requests[0])
	assert.Equal(t, "get", requests[1].Verb)
	assert.Equal(t, "a", requests[1].Name)
	assert.Equal(t, 2, s.Count("", "configmaps"))
	assert.Equal(t, 1, s.Count("list", ""))
	s.ResetRequests()
	assert.Zero(t, s.Count("", ""))
}

// Promise informertest/8
func TestCloseIsIdempotentAndFinal(t *testing.T) {
	t.Parallel()
	s, err := informertest.NewServer(informertest.Options{})
	require.NoError(t, err)
	s.Close()
	s.Close()
	require.ErrorIs(t, s.Resume(), http.ErrServerClosed)
	require.Error(t, core(t, s).Get().Resource("pods").MaxRetries(0).Do(t.Context()).Error())
}
