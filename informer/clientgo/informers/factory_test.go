package informers_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/clientgo/informers"
	"github.com/informerkit/informerkit/reflector"
)

// One informer has moved over, another is client-go's still; the code that takes the
// generated informers sees no difference.
func TestGeneratedInformersOfBothLibraries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x", UID: "1", ResourceVersion: "1"}},
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "2", ResourceVersion: "2"}})
		pods, err := informer.New(reflector.FromFuncs[*corev1.Pod](client.CoreV1().Pods("").List, client.CoreV1().Pods("").Watch),
			informer.Options[*corev1.Pod]{})
		require.NoError(t, err)

		factory := informers.NewFactory(client, 0)
		provided := informers.Provide[*corev1.Pod](factory, pods)
		generated := core.New(factory, metav1.NamespaceAll, nil).V1()
		assert.Same(t, provided, factory.InformerFor(&corev1.Pod{}, nil))
		assert.NotNil(t, generated.Pods().Informer())
		assert.NotNil(t, generated.Nodes().Informer())
		var added []string
		add := cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
			key, err := cache.MetaNamespaceKeyFunc(obj)
			require.NoError(t, err)
			added = append(added, key)
		}}
		_, err = generated.Pods().Informer().AddEventHandler(add)
		require.NoError(t, err)

		stop := make(chan struct{})
		factory.Start(stop)
		factory.Start(stop) // starts only what is new
		for kind, synced := range factory.WaitForCacheSync(stop) {
			assert.True(t, synced, kind.String())
		}
		found, err := generated.Pods().Lister().Pods("a").List(labels.Everything())
		require.NoError(t, err)
		assert.Len(t, found, 1)
		nodes, err := generated.Nodes().Lister().List(labels.Everything())
		require.NoError(t, err)
		assert.Len(t, nodes, 1)
		synctest.Wait()
		assert.Equal(t, []string{"a/x"}, added)

		assert.Panics(t, func() { informers.Provide[*corev1.Pod](factory, pods) }, "it is in use")
		close(stop)
		factory.Shutdown()
		factory.Start(stop)
	})
}

func TestFactoryWithoutAClientMakesNoInformers(t *testing.T) {
	t.Parallel()
	generated := core.New(informers.NewFactory(nil, 0), metav1.NamespaceAll, nil).V1()
	assert.PanicsWithValue(t, "informers: no informer of *v1.Pod was provided, and the factory has no client to make one", func() {
		generated.Pods().Informer()
	})
	factory := informers.NewFactory(fake.NewClientset(), 0)
	assert.PanicsWithValue(t, "informers: no informer of *v1.Pod was provided, and there is no function to make one", func() {
		factory.InformerFor(&corev1.Pod{}, nil)
	})
}
