package clientgo_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	corelisters "k8s.io/client-go/listers/core/v1"
	upstream "k8s.io/client-go/tools/cache"
	upstreamtesting "k8s.io/client-go/tools/cache/testing"

	"github.com/informerkit/informerkit/informer/clientgo"
)

// What generated informers call: client-go's function and this one take the same
// arguments, and what they return behaves in the same way.
func TestGeneratedCodeGetsItsInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := upstreamtesting.NewFakeControllerSource()
		defer source.Shutdown()
		source.Add(pod("a", "x", "n1"))
		source.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "stranger", UID: "n"}})
		options := upstream.SharedIndexInformerOptions{Indexers: upstream.Indexers{
			upstream.NamespaceIndex: upstream.MetaNamespaceIndexFunc, "node": byNode["node"],
		}}
		inf := clientgo.NewSharedIndexInformerWithOptions(source, &corev1.Pod{}, options)
		assert.Len(t, options.Indexers, 2, "it is the caller's")
		assert.Equal(t, "Pod", inf.Unwrap().Name())
		stop := make(chan struct{})
		ended := make(chan struct{})
		go func() { defer close(ended); inf.Run(stop) }()
		synctest.Wait()
		require.True(t, inf.HasSynced())
		pods, err := corelisters.NewPodLister(inf.GetIndexer()).Pods("a").List(labels.Everything())
		require.NoError(t, err)
		require.Len(t, pods, 1)
		onNode, err := inf.GetIndexer().IndexKeys("node", "n1")
		require.NoError(t, err)
		assert.Equal(t, []string{"a/x"}, onNode)
		assert.Len(t, inf.GetStore().List(), 1, "the stranger is not a Pod")
		source.Add(pod("a", "y", "n2"))
		synctest.Wait()
		assert.Len(t, inf.GetStore().List(), 2)
		close(stop)
		<-ended
	})
}

// unstructuredSource lists the objects and watches without an event.
func unstructuredSource(objs ...unstructured.Unstructured) *upstream.ListWatch {
	return &upstream.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			list := &unstructured.UnstructuredList{Items: objs}
			list.SetResourceVersion("1")
			return list, nil
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil },
	}
}

func TestUnstructuredExampleSelectsItsKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		object := func(kind, name string) unstructured.Unstructured {
			return unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "example.com/v1", "kind": kind, "metadata": map[string]any{"name": name, "uid": name, "resourceVersion": "1"},
			}}
		}
		lw := unstructuredSource(object("Foo", "a"), object("Bar", "b"))
		example := object("Foo", "")
		for want, inf := range map[int]upstream.SharedIndexInformer{
			1: clientgo.NewSharedIndexInformer(lw, &example, 0, nil),
			2: clientgo.NewSharedIndexInformer(lw, nil, time.Minute, upstream.Indexers{}),
		} {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { defer close(ended); inf.RunWithContext(ctx) }()
			synctest.Wait()
			assert.Len(t, inf.GetStore().ListKeys(), want)
			cancel()
			<-ended
		}
	})
}

func TestGeneratedCodeThatIsWrongPanics(t *testing.T) {
	t.Parallel()
	assert.Panics(t, func() { clientgo.NewSharedIndexInformer(nil, &corev1.Pod{}, 0, nil) })
	assert.PanicsWithError(t, `clientgo: the function of the index "nil" is nil`, func() {
		clientgo.NewSharedIndexInformer(unstructuredSource(), &corev1.Pod{}, 0, upstream.Indexers{"nil": nil})
	})
}
