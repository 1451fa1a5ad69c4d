package clientgo_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	upstream "k8s.io/client-go/tools/cache"
	upstreamtesting "k8s.io/client-go/tools/cache/testing"

	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/clientgo"
)

func pod(namespace, name, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + name), Labels: map[string]string{"node": node}},
		Spec:       corev1.PodSpec{NodeName: node},
	}
}

var byNode = upstream.Indexers{"node": func(obj any) ([]string, error) {
	return []string{obj.(*corev1.Pod).Spec.NodeName}, nil
}}

// run starts an informer on a source of client-go, in a bubble.
func run(t *testing.T, prepare func(upstream.SharedIndexInformer), objs ...*corev1.Pod) (upstream.SharedIndexInformer, *upstreamtesting.FakeControllerSource) {
	source := upstreamtesting.NewFakeControllerSource()
	for _, obj := range objs {
		source.Add(obj)
	}
	inf, err := clientgo.NewSharedInformer(clientgo.NewSource[*corev1.Pod](source), 0, informer.Options[*corev1.Pod]{})
	require.NoError(t, err)
	var shared upstream.SharedIndexInformer = inf
	if prepare != nil {
		prepare(shared)
	}
	stop := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		shared.Run(stop)
	}()
	t.Cleanup(func() {
		close(stop)
		<-ended
		source.Shutdown()
		assert.True(t, shared.IsStopped())
		_, err := shared.AddEventHandler(upstream.ResourceEventHandlerFuncs{})
		assert.ErrorContains(t, err, "stopped already")
		assert.Error(t, shared.AddIndexers(byNode))
	})
	synctest.Wait()
	require.True(t, shared.HasSynced())
	<-shared.HasSyncedChecker().Done()
	return shared, source
}

func TestGeneratedListersReadTheCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared, source := run(t, func(s upstream.SharedIndexInformer) { require.NoError(t, s.AddIndexers(byNode)) },
			pod("a", "x", "n1"), pod("a", "y", "n2"), pod("b", "x", "n1"))
		pods := corelisters.NewPodLister(shared.GetIndexer())
		found, err := pods.Pods("a").Get("x")
		require.NoError(t, err)
		assert.Equal(t, "n1", found.Spec.NodeName)
		_, err = pods.Pods("a").Get("z")
		assert.True(t, apierrors.IsNotFound(err))
		inA, err := pods.Pods("a").List(labels.Everything())
		require.NoError(t, err)
		assert.Len(t, inA, 2)
		onN1, err := pods.List(labels.SelectorFromSet(labels.Set{"node": "n1"}))
		require.NoError(t, err)
		assert.Len(t, onN1, 2)

		generic := upstream.NewGenericLister(shared.GetIndexer(), corev1.Resource("pods"))
		obj, err := generic.ByNamespace("b").Get("x")
		require.NoError(t, err)
		assert.IsType(t, &corev1.Pod{}, obj)

		source.Delete(pod("b", "x", "n1"))
		synctest.Wait()
		keys, err := shared.GetIndexer().IndexKeys("node", "n1")
		require.NoError(t, err)
		assert.Equal(t, []string{"a/x"}, keys)
		assert.Equal(t, shared.LastSyncResourceVersion(), shared.GetStore().LastStoreSyncResourceVersion())
	})
}

func TestIndexerAnswersLikeClientGos(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared, _ := run(t, nil, pod("a", "x", "n1"), pod("a", "y", "n2"), pod("b", "x", "n1"))
		theirs := upstream.NewIndexer(upstream.MetaNamespaceKeyFunc, upstream.Indexers{upstream.NamespaceIndex: upstream.MetaNamespaceIndexFunc})
		for _, obj := range shared.GetStore().List() {
			require.NoError(t, theirs.Add(obj))
		}
		twoNodes := upstream.Indexers{"two": func(any) ([]string, error) { return []string{"n1", "n2", "n3"}, nil }}
		for _, x := range []upstream.Indexer{shared.GetIndexer(), theirs} {
			require.NoError(t, x.AddIndexers(byNode), "also while it runs")
			require.ErrorContains(t, x.AddIndexers(byNode), "indexer conflict")
			require.NoError(t, x.AddIndexers(twoNodes))
			assert.Len(t, x.GetIndexers(), 3)
			assert.ElementsMatch(t, []string{"a/x", "a/y", "b/x"}, x.ListKeys())
			assert.ElementsMatch(t, []string{"n1", "n2"}, x.ListIndexFuncValues("node"))
			assert.ElementsMatch(t, []string{"a", "b"}, x.ListIndexFuncValues(upstream.NamespaceIndex))
			assert.Empty(t, x.ListIndexFuncValues("none"))
			for name, want := range map[string]int{"node": 2, upstream.NamespaceIndex: 2, "two": 3} {
				found, err := x.Index(name, pod("a", "other", "n1"))
				require.NoError(t, err)
				assert.Len(t, found, want, name)
			}
			for _, call := range []func() error{
				func() error { _, err := x.Index("none", pod("a", "x", "n1")); return err },
				func() error { _, err := x.ByIndex("none", "n1"); return err },
				func() error { _, err := x.IndexKeys("none", "n1"); return err },
			} {
				assert.EqualError(t, call(), "Index with name none does not exist")
			}
			for key, want := range map[string]bool{"a/x": true, "a/z": false, "x": false, "": false, "a/b/c": false} {
				_, found, err := x.GetByKey(key)
				require.NoError(t, err)
				assert.Equal(t, want, found, key)
			}
			_, found, err := x.Get(pod("b", "x", ""))
			require.NoError(t, err)
			assert.True(t, found)
			_, _, err = x.Get("not an object")
			var keyErr upstream.KeyError
			assert.ErrorAs(t, err, &keyErr)
			assert.NoError(t, x.Resync())
		}
	})
}

func TestHandlersGetEventsAndTombstones(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		handler := upstream.ResourceEventHandlerDetailedFuncs{
			AddFunc: func(obj any, initial bool) {
				got = append(got, "add "+obj.(*corev1.Pod).Name)
				if initial {
					got = append(got, "initial")
				}
			},
			UpdateFunc: func(old, obj any) {
				got = append(got, "update "+old.(*corev1.Pod).Spec.NodeName+" "+obj.(*corev1.Pod).Spec.NodeName)
			},
			DeleteFunc: func(obj any) {
				switch obj := obj.(type) {
				case upstream.DeletedFinalStateUnknown:
					got = append(got, "tombstone "+obj.Key+" "+obj.Obj.(*corev1.Pod).Name)
				case *corev1.Pod:
					got = append(got, "delete "+obj.Name)
				}
			},
		}
		var reg upstream.ResourceEventHandlerRegistration
		shared, source := run(t, func(s upstream.SharedIndexInformer) {
			var err error
			reg, err = s.AddEventHandler(handler)
			require.NoError(t, err)
			assert.False(t, reg.HasSynced())
		}, pod("a", "x", "n1"))
		<-reg.HasSyncedChecker().Done()
		assert.NotEmpty(t, reg.HasSyncedChecker().Name())
		source.Add(pod("a", "y", "n1"))
		source.Modify(pod("a", "y", "n2"))
		source.Delete(pod("a", "y", "n2"))
		synctest.Wait()
		// Nobody sees this deletion: a relist finds it.
		source.DeleteDropWatch(pod("a", "x", "n1"))
		source.ResetWatch()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		assert.Equal(t, []string{"add x", "initial", "add y", "update n1 n2", "delete y", "tombstone a/x x"}, got)

		other := clientgo.FromInformer[*corev1.Pod](shared.(*clientgo.SharedInformer[*corev1.Pod]).Unwrap(), 0)
		require.NoError(t, other.RemoveEventHandler(reg), "a handler of another informer")
		require.ErrorContains(t, shared.RemoveEventHandler(nil), "pass what AddEventHandler has returned")
		source.Add(pod("a", "z", "n1"))
		synctest.Wait()
		assert.Equal(t, "add z", got[len(got)-1])
		require.NoError(t, shared.RemoveEventHandler(reg))
		<-reg.(interface{ ShutdownChan() <-chan struct{} }).ShutdownChan() // as cache.ShutDownEventHandler does
		require.NoError(t, shared.RemoveEventHandler(reg))
		source.Add(pod("a", "never", "n1"))
		synctest.Wait()
		assert.Equal(t, "add z", got[len(got)-1])
	})
}

func TestTransformIsSetBeforeTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared, _ := run(t, func(s upstream.SharedIndexInformer) {
			require.NoError(t, s.SetTransform(func(obj any) (any, error) {
				obj.(*corev1.Pod).Spec.NodeName = "changed"
				return obj, nil
			}))
		}, pod("a", "x", "n1"))
		obj, _, err := shared.GetStore().GetByKey("a/x")
		require.NoError(t, err)
		assert.Equal(t, "changed", obj.(*corev1.Pod).Spec.NodeName)
		assert.Error(t, shared.SetTransform(nil), "it has been started")
	})
}

func TestWhatASharedInformerCannotKeepFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared, _ := run(t, nil, pod("a", "x", "n1"))
		_, err := shared.AddEventHandler(nil)
		assert.Error(t, err)
		store := shared.GetStore()
		assert.ErrorIs(t, store.Add(pod("a", "y", "n1")), clientgo.ErrReadOnly)
		assert.ErrorIs(t, store.Update(pod("a", "y", "n1")), clientgo.ErrReadOnly)
		assert.ErrorIs(t, store.Delete(pod("a", "x", "n1")), clientgo.ErrReadOnly)
		assert.ErrorIs(t, store.Replace(nil, "1"), clientgo.ErrReadOnly)
		assert.PanicsWithError(t, clientgo.ErrReadOnly.Error(), func() { store.Bookmark("9") })
		assert.Error(t, shared.SetWatchErrorHandler(nil))
		assert.Error(t, shared.SetWatchErrorHandlerWithContext(nil))
		assert.Error(t, shared.AddIndexers(upstream.Indexers{"nil": nil}))
		shared.RunWithContext(context.Background()) // a second time: it returns at once
		wrapped := clientgo.FromInformer[*corev1.Pod](shared.(*clientgo.SharedInformer[*corev1.Pod]).Unwrap(), 0)
		assert.Error(t, wrapped.SetTransform(func(any) (any, error) { return nil, errors.New("never") }))
	})
}

// An index function is the program's, and may read the indexer that calls it.
func TestIndexFunctionMayReadTheIndexer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared, source := run(t, nil, pod("a", "x", "n1"), pod("a", "y", "n1"))
		x := shared.GetIndexer()
		require.NoError(t, x.AddIndexers(byNode))
		require.NoError(t, x.AddIndexers(upstream.Indexers{"neighbours": func(obj any) ([]string, error) {
			if len(x.GetIndexers()) == 0 {
				return nil, errors.New("no indexers")
			}
			found, err := x.Index("node", obj)
			values := make([]string, len(found))
			for i := range found {
				values[i] = found[i].(*corev1.Pod).Name
			}
			return values, err
		}}))
		keys, err := x.IndexKeys("neighbours", "x")
		require.NoError(t, err)
		assert.ElementsMatch(t, []string{"a/x", "a/y"}, keys)
		source.Add(pod("a", "z", "n1")) // by the informer's own goroutine
		synctest.Wait()
		keys, err = x.IndexKeys("neighbours", "x")
		require.NoError(t, err)
		assert.ElementsMatch(t, []string{"a/x", "a/y", "a/z"}, keys)
	})
}

// What AddIndexers cannot add as a whole, it does not add in part.
func TestAddIndexersAddsAllOrNone(t *testing.T) {
	t.Parallel()
	native, err := indexer.New(indexer.Options[*corev1.Pod]{Indexes: []indexer.IndexDefinition[*corev1.Pod]{
		indexer.LabelIndex[*corev1.Pod]("node"),
		indexer.NewSingleIndex("numbers", func(*corev1.Pod) (int, bool) { return 1, true }),
	}})
	require.NoError(t, err)
	batch := native.Batch()
	_, _, err = batch.Set(pod("a", "x", "n1"))
	require.NoError(t, err)
	batch.Commit()
	x := clientgo.NewIndexer[*corev1.Pod](native)
	name := indexer.LabelIndex[*corev1.Pod]("node").Name()
	for _, taken := range []string{name, "numbers", upstream.NamespaceIndex} {
		require.EqualError(t, x.AddIndexers(upstream.Indexers{"a": byNode["node"], taken: byNode["node"]}), "indexer conflict: "+taken)
	}
	require.EqualError(t, x.AddIndexers(upstream.Indexers{"a": byNode["node"], "nil": nil}), `clientgo: the function of the index "nil" is nil`)
	assert.Len(t, x.GetIndexers(), 1, "none was added")
	_, err = x.ByIndex("a", "n1")
	require.Error(t, err)

	keys, err := x.IndexKeys(name, "n1")
	require.NoError(t, err, "the store's own index")
	assert.Equal(t, []string{"a/x"}, keys)
	_, err = x.ByIndex("numbers", "1")
	require.EqualError(t, err, "Index with name numbers does not exist", "its values are no strings")
	require.NoError(t, x.AddIndexers(nil))
	require.NoError(t, x.AddIndexers(upstream.Indexers{"a": byNode["node"]}))

	var added sync.WaitGroup
	var once atomic.Int32
	for range 8 {
		added.Go(func() {
			if x.AddIndexers(upstream.Indexers{"b": byNode["node"]}) == nil {
				once.Add(1)
			}
			_, err := x.Index("a", pod("", "", "n1"))
			assert.NoError(t, err)
		})
	}
	added.Wait()
	assert.EqualValues(t, 1, once.Load())
}

// client-go fails at the first use, with a nil pointer.
func TestConstructorsRefuseNil(t *testing.T) {
	t.Parallel()
	for want, construct := range map[string]func(){
		"clientgo: NewIndexer needs a store: an indexer.Indexer or an informer":       func() { clientgo.NewIndexer[*corev1.Pod](nil) },
		"clientgo: FromInformer needs an informer, from informer.New or informer.For": func() { clientgo.FromInformer[*corev1.Pod](nil, 0) },
		"clientgo: FromQueue needs a queue, from workqueue.NewRateLimiting":           func() { clientgo.FromQueue[string](nil) },
		"clientgo: NewView needs the indexer of an informer, GetIndexer()":            func() { clientgo.NewView[*corev1.Pod](nil, corev1.Resource("pods")) },
		"clientgo: NewSource needs a ListerWatcher, for example a cache.ListWatch":    func() { clientgo.NewSource[*corev1.Pod](nil) },
	} {
		assert.PanicsWithValue(t, want, construct)
	}
	_, err := clientgo.NewSharedInformer[*corev1.Pod](nil, 0, informer.Options[*corev1.Pod]{})
	assert.Error(t, err)
}

func TestViewReadsAnInformerOfClientGo(t *testing.T) {
	t.Parallel()
	for _, indexers := range []upstream.Indexers{{}, {upstream.NamespaceIndex: upstream.MetaNamespaceIndexFunc}} {
		store := upstream.NewIndexer(upstream.MetaNamespaceKeyFunc, indexers)
		for _, p := range []*corev1.Pod{pod("a", "x", "n1"), pod("a", "y", "n2"), pod("b", "x", "n1")} {
			require.NoError(t, store.Add(p))
		}
		require.NoError(t, store.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "other"}}))
		view := clientgo.NewView[*corev1.Pod](store, corev1.Resource("pods"))
		obj, err := view.Get(types.NamespacedName{Namespace: "a", Name: "x"})
		require.NoError(t, err)
		assert.Equal(t, "n1", obj.Spec.NodeName)
		_, err = view.Get(types.NamespacedName{Namespace: "a", Name: "z"})
		assert.True(t, apierrors.IsNotFound(err))
		_, err = view.Get(types.NamespacedName{Name: "other"})
		assert.ErrorContains(t, err, "*v1.Node where a *v1.Pod is expected")
		count := func(seq func(func(*corev1.Pod) bool)) (n int) {
			for range seq {
				n++
			}
			return n
		}
		assert.Equal(t, 3, count(view.List(nil)))
		assert.Equal(t, 2, count(view.List(labels.SelectorFromSet(labels.Set{"node": "n1"}))))
		assert.Equal(t, 2, count(view.ListNamespace("a", nil)))
	}
}

// 0 means never, whatever the options of the informer say.
func TestResyncPeriodIsThatOfTheInterface(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := upstreamtesting.NewFakeControllerSource()
		defer source.Shutdown()
		source.Add(pod("a", "x", "n1"))
		inf, err := informer.New(clientgo.NewSource[*corev1.Pod](source), informer.Options[*corev1.Pod]{ResyncPeriod: time.Minute})
		require.NoError(t, err)
		never, often := clientgo.FromInformer[*corev1.Pod](inf, 0), clientgo.FromInformer[*corev1.Pod](inf, 10*time.Second)
		var mu sync.Mutex
		updates := map[string]int{}
		count := func(name string) upstream.ResourceEventHandler {
			return upstream.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) {
				mu.Lock()
				defer mu.Unlock()
				updates[name]++
			}}
		}
		_, err = never.AddEventHandler(count("none"))
		require.NoError(t, err)
		_, err = often.AddEventHandler(count("informer"))
		require.NoError(t, err)
		_, err = often.AddEventHandlerWithResyncPeriod(count("zero"), 0)
		require.NoError(t, err)
		_, err = often.AddEventHandlerWithResyncPeriod(count("short"), time.Nanosecond)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Second/2)
		defer cancel()
		never.RunWithContext(ctx)
		assert.Equal(t, map[string]int{"informer": 6, "short": 60}, updates)
	})
}
