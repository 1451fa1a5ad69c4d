package informertest_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/informerkit/informerkit/informer/informertest"
)

// A watch that has shown all there is of its resource is up to date, also if other
// resources have been written to since. One that begins at that version is not.
func TestCompactionLeavesWatchesThatAreUpToDate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := informertest.Start(t, informertest.Options{InMemory: true})
		begin := s.ResourceVersion()
		from := func() watch.Interface {
			opts := &metav1.ListOptions{Watch: true, ResourceVersion: begin}
			w, err := core(t, s).Get().Resource("pods").VersionedParams(opts, scheme.ParameterCodec).Watch(t.Context())
			require.NoError(t, err)
			synctest.Wait()
			return w
		}
		running := from()
		defer running.Stop()
		meta := metav1.ObjectMeta{Namespace: "default", Name: "x"}
		require.NoError(t, s.Create(&corev1.ConfigMap{ObjectMeta: meta}))
		s.Compact()
		late := from()
		defer late.Stop()
		require.NoError(t, s.Create(&corev1.Pod{ObjectMeta: meta}))
		assert.Equal(t, watch.Added, (<-running.ResultChan()).Type)
		assert.Equal(t, watch.Error, (<-late.ResultChan()).Type)
	})
}
