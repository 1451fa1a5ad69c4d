package restclient_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/restclient"
	"github.com/informerkit/informerkit/informer/informertest"
)

func client[T restclient.Object](t *testing.T, resource string) *restclient.Client[T] {
	t.Helper()
	c, err := restclient.New[T](informertest.Start(t, informertest.Options{}).Config(),
		corev1.SchemeGroupVersion.WithResource(resource))
	require.NoError(t, err)
	return c
}

func TestEveryVerbReachesTheServer(t *testing.T) {
	ctx, c := t.Context(), client[*corev1.Pod](t, "pods")
	made, err := c.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "p-"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	})
	require.NoError(t, err)
	key := restclient.KeyOf(made)
	assert.NotEmpty(t, made.UID)

	made.Labels = map[string]string{"a": "b"}
	updated, err := c.Update(ctx, made)
	require.NoError(t, err)
	assert.NotEqual(t, made.ResourceVersion, updated.ResourceVersion)

	_, err = c.Update(ctx, made)
	assert.True(t, apierrors.IsConflict(err), "the version is checked: %v", err)

	updated.Status.Phase = corev1.PodRunning
	updated, err = c.UpdateStatus(ctx, updated)
	require.NoError(t, err)
	assert.Equal(t, corev1.PodRunning, updated.Status.Phase)

	patched, err := c.Patch(ctx, key, types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"c"}}}`))
	require.NoError(t, err)
	assert.Equal(t, "c", patched.Labels["a"])

	got, err := c.Get(ctx, key)
	require.NoError(t, err)
	assert.Equal(t, patched, got)

	other := types.UID("other")
	err = c.Delete(ctx, key, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}})
	assert.True(t, apierrors.IsConflict(err), "preconditions are sent: %v", err)
	require.NoError(t, c.Delete(ctx, key, metav1.DeleteOptions{}))
	_, err = c.Get(ctx, key)
	assert.True(t, apierrors.IsNotFound(err))
}

func TestClusterScopedObjectsHaveNoNamespaceInTheirPath(t *testing.T) {
	ctx, c := t.Context(), client[*corev1.Node](t, "nodes")
	_, err := c.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	require.NoError(t, err)
	got, err := c.Get(ctx, types.NamespacedName{Name: "n"})
	require.NoError(t, err)
	assert.Equal(t, "n", got.Name)
}

func TestTypeThatIsNoPointerIsRefused(t *testing.T) {
	_, err := restclient.New[restclient.Object](informertest.Start(t, informertest.Options{}).Config(),
		corev1.SchemeGroupVersion.WithResource("pods"))
	assert.ErrorContains(t, err, "is not a pointer type")
}

func TestListFollowsPagesAndSelectors(t *testing.T) {
	ctx, c := t.Context(), client[*corev1.ConfigMap](t, "configmaps")
	for i := range 7 {
		_, err := c.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: fmt.Sprint("c", i), Labels: map[string]string{"odd": fmt.Sprint(i%2 == 1)},
		}})
		require.NoError(t, err)
	}
	all, err := c.List(ctx, "", metav1.ListOptions{Limit: 2})
	require.NoError(t, err)
	assert.Len(t, all, 7)
	odd, err := c.List(ctx, "default", metav1.ListOptions{LabelSelector: "odd=true"})
	require.NoError(t, err)
	assert.Len(t, odd, 3)
	require.NoError(t, c.DeleteCollection(ctx, "default", metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "odd=true"}))
	all, err = c.List(ctx, "default", metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, all, 4)
}

func TestModifyTriesAgainAfterAConflict(t *testing.T) {
	ctx, c := t.Context(), client[*corev1.ConfigMap](t, "configmaps")
	made, err := c.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}})
	require.NoError(t, err)
	calls := 0
	written, err := c.Modify(ctx, restclient.KeyOf(made), func(obj *corev1.ConfigMap) error {
		if calls++; calls == 1 { // another writer is faster
			_, err := c.Patch(ctx, restclient.KeyOf(made), types.MergePatchType, []byte(`{"data":{"theirs":"1"}}`))
			require.NoError(t, err)
		}
		metav1.SetMetaDataAnnotation(&obj.ObjectMeta, "mine", "2")
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, 2, calls)
	assert.Equal(t, "1", written.Data["theirs"])
	assert.Equal(t, "2", written.Annotations["mine"])

	same, err := c.Modify(ctx, restclient.KeyOf(made), func(*corev1.ConfigMap) error { return nil })
	require.NoError(t, err)
	assert.Equal(t, written.ResourceVersion, same.ResourceVersion)

	broken := errors.New("broken")
	_, err = c.Modify(ctx, restclient.KeyOf(made), func(*corev1.ConfigMap) error { return broken })
	assert.ErrorIs(t, err, broken)
}

func TestModifyGivesUpWhenEveryWriteConflicts(t *testing.T) {
	ctx, c := t.Context(), client[*corev1.ConfigMap](t, "configmaps")
	made, err := c.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}})
	require.NoError(t, err)
	_, err = c.Modify(ctx, restclient.KeyOf(made), func(obj *corev1.ConfigMap) error {
		obj.ResourceVersion = "1"
		obj.Data = map[string]string{"a": "b"}
		return nil
	})
	assert.True(t, apierrors.IsConflict(err), "%v", err)
}

// A proxy or a web server at the address answers with a page.
func TestAnswerThatIsNoJSONIsReportedAsSuch(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprint(w, "<html>Welcome</html>")
	}))
	defer server.Close()
	transport := &http.Transport{DisableKeepAlives: true}
	c, err := restclient.New[*corev1.Pod](&rest.Config{Host: server.URL, Transport: transport}, corev1.SchemeGroupVersion.WithResource("pods"))
	require.NoError(t, err)
	_, err = c.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: "web"})
	assert.ErrorContains(t, err, "text/html")
	assert.ErrorContains(t, err, "is this the address of an API server?")
	_, err = c.List(t.Context(), "", metav1.ListOptions{})
	assert.ErrorContains(t, err, "is this the address of an API server?")
}

func TestUnstructuredObjectsNeedNoType(t *testing.T) {
	ctx, c := t.Context(), client[*unstructured.Unstructured](t, "configmaps")
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "b"}}}
	obj.SetNamespace("default")
	obj.SetName("c")
	_, err := c.Create(ctx, obj)
	require.NoError(t, err)
	_, err = c.Create(ctx, obj)
	assert.EqualError(t, err, `configmaps "c" already exists`)
	assert.True(t, apierrors.IsAlreadyExists(err))
	all, err := c.List(ctx, "default", metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, all, 1)
	value, _, _ := unstructured.NestedString(all[0].Object, "data", "a")
	assert.Equal(t, "b", value)
	_, err = c.Get(ctx, types.NamespacedName{Namespace: "default"})
	assert.Error(t, err, "without a name")
}
