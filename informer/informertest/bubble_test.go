package informertest_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/informertest"
)

// core returns a typed client for the core group.
func core(t *testing.T, s *informertest.Server) *rest.RESTClient {
	t.Helper()
	cfg := s.Config()
	cfg.APIPath = "/api"
	cfg.GroupVersion = &corev1.SchemeGroupVersion
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.RESTClientFor(cfg)
	require.NoError(t, err)
	return client
}

func TestInMemoryServerLivesInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := informertest.Start(t, informertest.Options{InMemory: true})
		client := core(t, s)
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		require.NoError(t, client.Post().Namespace("default").Resource("configmaps").Body(cm).Do(t.Context()).Into(cm))
		assert.NotEmpty(t, cm.UID)

		opts := metav1.ListOptions{Watch: true, ResourceVersion: cm.ResourceVersion, AllowWatchBookmarks: true}
		w, err := client.Get().Namespace("default").Resource("configmaps").VersionedParams(&opts, scheme.ParameterCodec).Watch(t.Context())
		require.NoError(t, err)
		defer w.Stop()

		started := time.Now()
		ev := <-w.ResultChan()
		assert.Equal(t, watch.Bookmark, ev.Type)
		assert.Equal(t, time.Minute, time.Since(started), "bookmarks follow the bubble's clock")

		cm.Data = map[string]string{"k": "v"}
		require.NoError(t, client.Put().Namespace("default").Resource("configmaps").Name("a").Body(cm).Do(t.Context()).Into(cm))
		ev = <-w.ResultChan()
		assert.Equal(t, watch.Modified, ev.Type)
		require.NoError(t, client.Delete().Namespace("default").Resource("configmaps").Name("a").Do(t.Context()).Error())
		ev = <-w.ResultChan()
		assert.Equal(t, watch.Deleted, ev.Type)

		_, open := <-w.ResultChan()
		for open {
			_, open = <-w.ResultChan()
		}
		assert.Equal(t, 30*time.Minute, time.Since(started), "the watch ends by its timeout")
	})
}

// Promise informertest/8
func TestCloseEndsWatchesInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := informertest.Start(t, informertest.Options{InMemory: true})
		w, err := core(t, s).Get().Resource("pods").VersionedParams(&metav1.ListOptions{Watch: true}, scheme.ParameterCodec).Watch(t.Context())
		require.NoError(t, err)
		synctest.Wait()
		s.Close()
		_, open := <-w.ResultChan()
		assert.False(t, open)
		assert.Error(t, core(t, s).Get().Resource("pods").Do(t.Context()).Error())
		s.Close()
	})
}

func TestUnreachedVersionTimesOutAsTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := informertest.Start(t, informertest.Options{InMemory: true})
		started := time.Now()
		err := core(t, s).Get().Resource("pods").VersionedParams(&metav1.ListOptions{ResourceVersion: "100000"}, scheme.ParameterCodec).MaxRetries(0).Do(t.Context()).Error()
		require.Error(t, err)
		assert.True(t, apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge))
		assert.Equal(t, 3*time.Second, time.Since(started))
	})
}

func TestGoSideSeesWhatClientsDo(t *testing.T) {
	t.Parallel()
	s := informertest.Start(t, informertest.Options{})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "fresh", GenerateName: "p-"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	require.NoError(t, s.Create(pod))
	got := &corev1.Pod{}
	require.NoError(t, core(t, s).Get().Namespace("fresh").Resource("pods").Name(pod.Name).Do(context.Background()).Into(got))
	assert.Equal(t, pod.UID, got.UID)
	assert.Equal(t, corev1.PodRunning, got.Status.Phase, "the methods of Server write status")
	u, err := s.Get(schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "fresh", pod.Name)
	require.NoError(t, err)
	assert.Equal(t, pod.ResourceVersion, u.GetResourceVersion())
	assert.Equal(t, 1, s.Count("get", "pods"))
}

func TestAWatchFromTheFutureIsSilentUntilItIsReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := informertest.Start(t, informertest.Options{InMemory: true, WatchTimeout: 10 * time.Minute})
		opts := metav1.ListOptions{Watch: true, ResourceVersion: strconv.Itoa(atoi(t, s.ResourceVersion()) + 2), AllowWatchBookmarks: true}
		w, err := core(t, s).Get().Namespace("default").Resource("configmaps").VersionedParams(&opts, scheme.ParameterCodec).Watch(t.Context())
		require.NoError(t, err)
		defer w.Stop()
		silent := func() {
			t.Helper()
			<-time.After(150 * time.Second)
			synctest.Wait()
			select {
			case ev := <-w.ResultChan():
				t.Fatalf("unexpected event %v", ev)
			default:
			}
		}
		silent()
		for _, name := range []string{"a", "b"} {
			require.NoError(t, s.Create(configmap(name)))
		}
		ev := <-w.ResultChan()
		assert.Equal(t, watch.Bookmark, ev.Type, "the versions up to the one asked for are not shown")
		require.NoError(t, s.Create(configmap("c")))
		ev = <-w.ResultChan()
		assert.Equal(t, watch.Added, ev.Type)
		assert.Equal(t, "c", ev.Object.(*corev1.ConfigMap).Name)
	})
}
