package informertest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/informertest"
)

// protobuf returns a typed client that speaks protobuf only.
func protobuf(t *testing.T, s *informertest.Server) *rest.RESTClient {
	t.Helper()
	cfg := s.Config()
	cfg.APIPath = "/api"
	cfg.GroupVersion = &corev1.SchemeGroupVersion
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	cfg.ContentType = runtime.ContentTypeProtobuf
	cfg.AcceptContentTypes = runtime.ContentTypeProtobuf
	client, err := rest.RESTClientFor(cfg)
	require.NoError(t, err)
	return client
}

func TestProtobufShowsTheSameObjectsAsJSON(t *testing.T) {
	t.Parallel()
	s := informertest.Start(t, informertest.Options{Scheme: scheme.Scheme})
	client, ctx := protobuf(t, s), t.Context()
	for i := range 3 {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", i), Labels: map[string]string{"l": "1"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}
		require.NoError(t, client.Post().Namespace("default").Resource("pods").Body(pod).Do(ctx).Into(pod))
		assert.NotEmpty(t, pod.UID)
		var asJSON corev1.Pod
		require.NoError(t, core(t, s).Get().Namespace("default").Resource("pods").Name(pod.Name).Do(ctx).Into(&asJSON))
		asJSON.TypeMeta = pod.TypeMeta
		assert.Equal(t, asJSON, *pod)
	}
	var list, asJSON corev1.PodList
	require.NoError(t, client.Get().Resource("pods").VersionedParams(&metav1.ListOptions{Limit: 2}, scheme.ParameterCodec).Do(ctx).Into(&list))
	require.NoError(t, core(t, s).Get().Resource("pods").VersionedParams(&metav1.ListOptions{Limit: 2}, scheme.ParameterCodec).Do(ctx).Into(&asJSON))
	assert.Equal(t, asJSON.Items, list.Items)
	assert.Equal(t, asJSON.ListMeta, list.ListMeta)
	assert.NotEmpty(t, list.Continue)
}

func TestProtobufIsWatched(t *testing.T) {
	t.Parallel()
	s := informertest.Start(t, informertest.Options{Scheme: scheme.Scheme})
	client, ctx := protobuf(t, s), t.Context()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}}
	require.NoError(t, s.Create(pod))
	yes := true
	opts := metav1.ListOptions{Watch: true, AllowWatchBookmarks: true, SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}
	w, err := client.Get().Resource("pods").VersionedParams(&opts, scheme.ParameterCodec).Watch(ctx)
	require.NoError(t, err)
	defer w.Stop()
	ev := <-w.ResultChan()
	require.Equal(t, watch.Added, ev.Type)
	assert.Equal(t, pod.UID, ev.Object.(*corev1.Pod).UID)
	ev = <-w.ResultChan()
	require.Equal(t, watch.Bookmark, ev.Type)
	assert.Equal(t, "true", ev.Object.(*corev1.Pod).Annotations[metav1.InitialEventsAnnotationKey])
	require.NoError(t, client.Delete().Namespace("default").Resource("pods").Name("p").Body(&metav1.DeleteOptions{}).Do(ctx).Error())
	ev = <-w.ResultChan()
	require.Equal(t, watch.Deleted, ev.Type)

	s.Compact()
	w, err = client.Get().Resource("pods").VersionedParams(&metav1.ListOptions{Watch: true, ResourceVersion: "1"}, scheme.ParameterCodec).Watch(ctx)
	require.NoError(t, err)
	defer w.Stop()
	ev = <-w.ResultChan()
	require.Equal(t, watch.Error, ev.Type)
	assert.True(t, apierrors.IsResourceExpired(apierrors.FromObject(ev.Object)))
}

func TestProtobufOfUnknownKindsIsRefusedExceptForMetadata(t *testing.T) {
	t.Parallel()
	s := informertest.Start(t, informertest.Options{
		Resources: []informertest.Resource{{Group: "example.test", Versions: []string{"v1"}, Kind: "Widget"}},
	})
	err := protobuf(t, s).Get().AbsPath("/apis/example.test/v1/widgets").Do(t.Context()).Error()
	require.True(t, apierrors.IsNotAcceptable(err), "%v", err)
	client, err := metadata.NewForConfig(s.Config()) // asks for protobuf first
	require.NoError(t, err)
	widgets := schema.GroupVersionResource{Group: "example.test", Version: "v1", Resource: "widgets"}
	require.NoError(t, s.Create(widget("a")))
	list, err := client.Resource(widgets).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	assert.Equal(t, "a", list.Items[0].Name)
	assert.NotEmpty(t, list.ResourceVersion)
}
