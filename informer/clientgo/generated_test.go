package clientgo_test

import (
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
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	corelisters "k8s.io/client-go/listers/core/v1"
	upstream "k8s.io/client-go/tools/cache"
	upstreamtesting "k8s.io/client-go/tools/cache/testing"

	"github.com/informerkit/informerkit/informer/clientgo"
)

// What generated informers call: client-go's function and this one take the same
// arguments, and what they return behaves in the same way.
func TestGeneratedCodeGetsItsInformer(t *testing.T) { //nolint:paralleltest // utilruntime.ErrorHandlers
	// The default ones wait by the clock of the process, which a bubble does not have.
	before := utilruntime.ErrorHandlers
	defer func() { utilruntime.ErrorHandlers = before }()
	utilruntime.ErrorHandlers = nil
	synctest.Test(t, func(t *testing.T) {
		source := upstreamtesting.NewFakeControllerSource()
		defer source.Shutdown()
		source.Add(pod("a", "x", "n1"))
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
		assert.Len(t, inf.GetStore().List(), 1)
		source.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "stranger", UID: "n"}})
		source.Add(pod("a", "y", "n2"))
		synctest.Wait()
		assert.ElementsMatch(t, []string{"a/x", "a/y"}, inf.GetStore().ListKeys(), "the stranger is not a Pod")
		close(stop)
		<-ended
	})
}

func TestUnstructuredExampleSelectsTheKindOfEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		object := func(kind, name string) *unstructured.Unstructured {
			return &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "example.com/v1", "kind": kind, "metadata": map[string]any{"name": name, "uid": name, "resourceVersion": "1"},
			}}
		}
		example := object("Foo", "")
		for _, c := range []struct {
			example runtime.Object
			want    []string
		}{{example, []string{"a", "b", "c"}}, {nil, []string{"a", "b", "c", "d"}}} {
			lw, events := fakeSource(object("Foo", "a"), object("Bar", "b"))
			inf := clientgo.NewSharedIndexInformer(lw, c.example, time.Minute, nil)
			stop := start(t, inf)
			events.Add(object("Foo", "c"))
			events.Add(object("Bar", "d"))
			synctest.Wait()
			assert.ElementsMatch(t, c.want, inf.GetStore().ListKeys(), "a list is stored as it is, as client-go does")
			stop()
		}
	})
}

func TestGeneratedCodeThatIsWrongPanics(t *testing.T) {
	t.Parallel()
	assert.Panics(t, func() { clientgo.NewSharedIndexInformer(nil, &corev1.Pod{}, 0, nil) })
	lw, _ := fakeSource()
	assert.PanicsWithError(t, `clientgo: the function of the index "nil" is nil`, func() {
		clientgo.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, upstream.Indexers{"nil": nil})
	})
}
