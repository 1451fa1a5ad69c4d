package restclient_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/internal/restclient"
)

func client[T object.Object](t *testing.T, resource string) *restclient.Client[T] {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	c, err := restclient.New[T](informertest.Start(t, informertest.Options{}).Config(),
		corev1.SchemeGroupVersion.WithResource(resource), scheme)
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
	key := object.KeyOf(made)
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
	_, err := restclient.New[object.Object](informertest.Start(t, informertest.Options{}).Config(),
		corev1.SchemeGroupVersion.WithResource("pods"), runtime.NewScheme())
	assert.ErrorContains(t, err, "is not a pointer type")
}
