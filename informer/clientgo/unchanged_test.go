package clientgo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	upstream "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/informerkit/informerkit/informer/clientgo"
)

// What a program sees that was written for client-go and is not changed.

// fakeClient says of a ListWatch that it is one of a fake clientset.
type fakeClient struct{ *upstream.ListWatch }

func (fakeClient) IsWatchListSemanticsUnSupported() bool { return true }

// fakeSource lists objs, and passes events on, for one informer.
func fakeSource(objs ...runtime.Object) (upstream.ListerWatcher, *watch.RaceFreeFakeWatcher) {
	events := watch.NewRaceFreeFake()
	return fakeClient{&upstream.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			list := &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
			for _, obj := range objs {
				list.Items = append(list.Items, runtime.RawExtension{Object: obj})
			}
			return list, nil
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return events, nil },
	}}, events
}

// start runs an informer in a bubble until stop, or the end of the test.
func start(t *testing.T, inf interface{ RunWithContext(context.Context) }) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); inf.RunWithContext(ctx) }()
	stop = sync.OnceFunc(func() { cancel(); <-ended })
	t.Cleanup(stop)
	synctest.Wait()
	return stop
}

// recorder records what a handler gets.
type recorder struct {
	mu     sync.Mutex
	events []string
}

func (r *recorder) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, fmt.Sprintf(format, args...))
}

func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.events
	r.events = nil
	return got
}

func (r *recorder) OnAdd(obj any, _ bool) { r.add("add %s", name(obj)) }
func (r *recorder) OnUpdate(old, obj any) { r.add("update %s", name(obj)) }
func (r *recorder) OnDelete(obj any)      { r.add("delete %s", name(obj)) }

func name(obj any) string {
	if tombstone, ok := obj.(upstream.DeletedFinalStateUnknown); ok {
		return tombstone.Key + " unseen"
	}
	if acc, err := meta.Accessor(obj); err == nil {
		return acc.GetName()
	}
	return fmt.Sprint(obj)
}

func TestWatchErrorHandlerIsCalled(t *testing.T) { //nolint:paralleltest // utilruntime.ErrorHandlers
	denied := errors.New("denied")
	failing := func() upstream.ListerWatcher {
		return fakeClient{&upstream.ListWatch{
			ListWithContextFunc:  func(context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, denied },
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, denied },
		}}
	}
	for name, set := range map[string]func(upstream.SharedIndexInformer, func(*upstream.Reflector, error)) error{
		"without a context": func(s upstream.SharedIndexInformer, f func(*upstream.Reflector, error)) error {
			return s.SetWatchErrorHandler(f)
		},
		"with a context": func(s upstream.SharedIndexInformer, f func(*upstream.Reflector, error)) error {
			return s.SetWatchErrorHandlerWithContext(func(_ context.Context, r *upstream.Reflector, err error) { f(r, err) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []error
				inf := clientgo.NewSharedIndexInformer(failing(), &corev1.Pod{}, 0, nil)
				require.Error(t, inf.SetWatchErrorHandlerWithContext(nil))
				require.NoError(t, set(inf, func(r *upstream.Reflector, err error) {
					assert.Equal(t, "Pod", r.TypeDescription())
					upstream.DefaultWatchErrorHandler(context.Background(), r, err) // as controller-runtime does
					got = append(got, err)
				}))
				start(t, inf)
				time.Sleep(time.Minute)
				synctest.Wait()
				require.Greater(t, len(got), 1, "each attempt")
				assert.ErrorIs(t, got[0], denied)
				assert.ErrorContains(t, set(inf, func(*upstream.Reflector, error) {}), "informer has already started")
			})
		})
	}
	t.Run("default", func(t *testing.T) {
		before := utilruntime.ErrorHandlers
		defer func() { utilruntime.ErrorHandlers = before }()
		var got atomic.Int32
		utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{func(_ context.Context, err error, _ string, _ ...any) {
			if errors.Is(err, denied) {
				got.Add(1)
			}
		}}
		synctest.Test(t, func(t *testing.T) {
			start(t, clientgo.NewSharedIndexInformer(failing(), &corev1.Pod{}, 0, nil))
			time.Sleep(time.Minute)
			synctest.Wait()
			assert.Positive(t, got.Load())
		})
	})
}

func TestStoreIsWritableWhileTheInformerDoesNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lw, _ := fakeSource(pod("a", "x", "n1"), pod("a", "listed", "n1"))
		inf := clientgo.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, upstream.Indexers{upstream.NamespaceIndex: upstream.MetaNamespaceIndexFunc})
		events := &recorder{}
		reg, err := inf.AddEventHandler(events)
		require.NoError(t, err)
		checker := reg.HasSyncedChecker()
		store := inf.GetIndexer()
		changes := func() {
			require.NoError(t, store.Add(pod("a", "x", "n1")))
			require.NoError(t, store.Update(pod("a", "x", "n2")))
			require.NoError(t, store.Add(pod("b", "y", "n1")))
			require.NoError(t, store.Delete(upstream.DeletedFinalStateUnknown{Key: "b/y"}))
			var keyErr upstream.KeyError
			require.ErrorAs(t, store.Add("no object"), &keyErr)
			obj, ok, err := store.GetByKey("a/x")
			require.NoError(t, err)
			require.True(t, ok)
			assert.Equal(t, "n2", obj.(*corev1.Pod).Spec.NodeName)
			inA, err := store.ByIndex(upstream.NamespaceIndex, "a")
			require.NoError(t, err)
			assert.Contains(t, inA, obj)
		}
		changes()
		require.NoError(t, store.Replace([]any{pod("a", "x", "n1"), pod("a", "unlisted", "n1")}, "7"))
		assert.Equal(t, "7", store.LastStoreSyncResourceVersion())
		synctest.Wait()
		assert.Empty(t, events.take(), "handlers get nothing before the start")
		assert.False(t, reg.HasSynced())

		stop := start(t, inf)
		<-checker.Done()
		assert.ElementsMatch(t, []string{"a/x", "a/listed"}, store.ListKeys(), "the list decides")
		assert.ErrorIs(t, store.Add(pod("a", "z", "n1")), clientgo.ErrReadOnly)
		assert.ErrorIs(t, store.Delete(pod("a", "x", "n1")), clientgo.ErrReadOnly)
		stop()
		changes()
		store.Bookmark("99")
		assert.Equal(t, "99", store.LastStoreSyncResourceVersion())
	})
}

func TestHandlerMayBeRemovedBeforeTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lw, _ := fakeSource(pod("a", "x", "n1"))
		inf := clientgo.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, nil)
		events := &recorder{}
		reg, err := inf.AddEventHandler(events)
		require.NoError(t, err)
		require.NoError(t, inf.RemoveEventHandler(reg))
		<-reg.(interface{ ShutdownChan() <-chan struct{} }).ShutdownChan()
		later, err := inf.AddEventHandler(&recorder{})
		require.NoError(t, err)
		gone := later.(interface{ ShutdownChan() <-chan struct{} }).ShutdownChan()
		start(t, inf)
		assert.Empty(t, events.take())
		require.NoError(t, inf.RemoveEventHandler(later))
		<-gone
	})
}

func TestWatchListWhereClientGoWouldUseIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			client any
			want   bool
		}{{nil, true}, {fakeClient{}, false}} {
			var asked []string
			lw := upstream.ToListWatcherWithWatchListSemantics(&upstream.ListWatch{
				ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
					asked = append(asked, "list")
					return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
				},
				WatchFuncWithContext: func(_ context.Context, opts metav1.ListOptions) (watch.Interface, error) {
					events := watch.NewRaceFreeFake()
					if opts.SendInitialEvents != nil && *opts.SendInitialEvents {
						asked = append(asked, "watchlist")
						events.Add(pod("a", "x", "n1"))
						events.Action(watch.Bookmark, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
							ResourceVersion: "5", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
						}})
					} else {
						asked = append(asked, "watch")
					}
					return events, nil
				},
			}, c.client)
			inf := clientgo.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, nil)
			stop := start(t, inf)
			require.True(t, inf.HasSynced())
			if c.want {
				assert.Equal(t, []string{"watchlist"}, asked)
				assert.Equal(t, []string{"a/x"}, inf.GetStore().ListKeys())
			} else {
				assert.Equal(t, []string{"list", "watch"}, asked)
			}
			stop()
		}
	})
}

func TestLogsGoToTheLoggerOfTheContext(t *testing.T) { //nolint:paralleltest // slog's default
	before := slog.Default()
	defer slog.SetDefault(before)
	var toDefault bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&toDefault, nil)))
	synctest.Test(t, func(t *testing.T) {
		for v, want := range map[int]bool{0: false, 2: true} {
			var lines recorder
			logger := funcr.New(func(_, args string) { lines.add("%s", args) }, funcr.Options{Verbosity: v})
			lw, _ := fakeSource(pod("a", "x", "n1"))
			inf := clientgo.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, nil)
			ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), logger))
			ended := make(chan struct{})
			go func() { defer close(ended); inf.RunWithContext(ctx) }()
			synctest.Wait()
			synced := strings.Contains(strings.Join(lines.take(), ""), "the reflector has read its collection")
			assert.Equal(t, want, synced, "-v=%d", v)
			inf.RunWithContext(ctx)
			assert.Len(t, lines.take(), 1, "the second Run is reported to the same logger")
			cancel()
			<-ended
		}
	})
	assert.Empty(t, toDefault.String())
}

// gauges counts what is written to the metrics of an informer.
type gauges struct {
	mu   sync.Mutex
	last map[string]float64
}

type metric struct {
	g    *gauges
	name string
}

func (m metric) Set(v float64) {
	m.g.mu.Lock()
	defer m.g.mu.Unlock()
	m.g.last[m.name] = v
}
func (m metric) Observe(v float64) { m.Set(v) }

func (g *gauges) NewQueuedItemMetric(upstream.InformerNameAndResource) upstream.GaugeMetric {
	return metric{g, "queued"}
}
func (g *gauges) NewProcessingLatencyMetric(upstream.InformerNameAndResource) upstream.HistogramMetric {
	return metric{g, "latency"}
}
func (g *gauges) NewStoreResourceVersionMetric(upstream.InformerNameAndResource) upstream.GaugeMetric {
	return metric{g, "version"}
}

func TestInformerMetricsAreWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		id, err := upstream.NewInformerName(t.Name())
		require.NoError(t, err)
		defer id.Release()
		g := &gauges{last: map[string]float64{}}
		lw, events := fakeSource(pod("a", "x", "n1"))
		inf := clientgo.NewSharedIndexInformerWithOptions(lw, &corev1.Pod{}, upstream.SharedIndexInformerOptions{
			Identifier: id.WithResource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}), InformerMetricsProvider: g,
		})
		stop := start(t, inf)
		changed := pod("a", "x", "n2")
		changed.ResourceVersion = "1234567890123456789"
		events.Modify(changed)
		synctest.Wait()
		stop()
		assert.Equal(t, 567890123456789.0, g.last["version"])
		assert.Zero(t, g.last["queued"])
		assert.Contains(t, g.last, "latency")
	})
}

func TestIndexOfNamespacesIsTheProgramsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lw, _ := fakeSource(pod("a", "x", "n1"))
		own := upstream.Indexers{upstream.NamespaceIndex: func(obj any) ([]string, error) { return []string{"of " + obj.(*corev1.Pod).Namespace}, nil }}
		theirs := upstream.Indexers{upstream.NamespaceIndex: upstream.MetaNamespaceIndexFunc}

		plain := clientgo.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, nil)
		assert.Empty(t, plain.GetIndexer().GetIndexers())
		_, err := plain.GetIndexer().ByIndex(upstream.NamespaceIndex, "a")
		require.Error(t, err)
		assert.Empty(t, plain.GetIndexer().ListIndexFuncValues(upstream.NamespaceIndex))
		require.NoError(t, plain.AddIndexers(theirs))
		require.ErrorContains(t, plain.AddIndexers(theirs), "indexer conflict")

		special := clientgo.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, own)
		start(t, special)
		found, err := special.GetIndexer().ByIndex(upstream.NamespaceIndex, "of a")
		require.NoError(t, err)
		assert.Len(t, found, 1)
		found, err = special.GetIndexer().ByIndex(upstream.NamespaceIndex, "a")
		require.NoError(t, err)
		assert.Empty(t, found)
		assert.Equal(t, []string{"of a"}, special.GetIndexer().ListIndexFuncValues(upstream.NamespaceIndex))
	})
}

func TestOlderConstructors(t *testing.T) {
	upper := func(obj any) (any, error) {
		obj.(*corev1.Pod).Spec.NodeName = strings.ToUpper(obj.(*corev1.Pod).Spec.NodeName)
		return obj, nil
	}
	for name, make := range map[string]func(upstream.ListerWatcher, upstream.ResourceEventHandler) (upstream.Store, upstream.Controller){
		"NewInformer": func(lw upstream.ListerWatcher, h upstream.ResourceEventHandler) (upstream.Store, upstream.Controller) {
			return clientgo.NewInformer(lw, &corev1.Pod{}, 0, h)
		},
		"NewInformerWithOptions": func(lw upstream.ListerWatcher, h upstream.ResourceEventHandler) (upstream.Store, upstream.Controller) {
			return clientgo.NewInformerWithOptions(upstream.InformerOptions{ListerWatcher: lw, ObjectType: &corev1.Pod{}, Handler: h})
		},
		"NewIndexerInformer": func(lw upstream.ListerWatcher, h upstream.ResourceEventHandler) (upstream.Store, upstream.Controller) {
			return clientgo.NewIndexerInformer(lw, &corev1.Pod{}, 0, h, byNode)
		},
		"NewTransformingInformer": func(lw upstream.ListerWatcher, h upstream.ResourceEventHandler) (upstream.Store, upstream.Controller) {
			return clientgo.NewTransformingInformer(lw, &corev1.Pod{}, 0, h, upper)
		},
		"NewTransformingIndexerInformer": func(lw upstream.ListerWatcher, h upstream.ResourceEventHandler) (upstream.Store, upstream.Controller) {
			return clientgo.NewTransformingIndexerInformer(lw, &corev1.Pod{}, 0, h, byNode, upper)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lw, events := fakeSource(pod("a", "x", "n1"))
				got := &recorder{}
				store, controller := make(lw, got)
				assert.False(t, controller.HasSynced())
				start(t, controller)
				require.True(t, controller.HasSynced())
				<-controller.HasSyncedChecker().Done()
				assert.Equal(t, "1", controller.LastSyncResourceVersion())
				events.Add(pod("a", "y", "n1"))
				events.Delete(pod("a", "x", "n1"))
				synctest.Wait()
				assert.Equal(t, []string{"add x", "add y", "delete x"}, got.take())
				node := "n1"
				if strings.Contains(name, "Transforming") {
					node = "N1"
				}
				obj, ok, err := store.GetByKey("a/y")
				require.NoError(t, err)
				require.True(t, ok)
				assert.Equal(t, node, obj.(*corev1.Pod).Spec.NodeName)
				if indexed, ok := store.(upstream.Indexer); ok && strings.Contains(name, "Indexer") {
					found, err := indexed.ByIndex("node", node)
					require.NoError(t, err)
					assert.Len(t, found, 1)
				}
			})
		})
	}
}

func TestPanicOfAHandlerIsHandled(t *testing.T) { //nolint:paralleltest // utilruntime's handlers
	before, crash := utilruntime.PanicHandlers, utilruntime.ReallyCrash
	defer func() { utilruntime.PanicHandlers, utilruntime.ReallyCrash = before, crash }()
	var handled atomic.Int32
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = []func(context.Context, any){func(context.Context, any) { handled.Add(1) }}
	synctest.Test(t, func(t *testing.T) {
		lw, _ := fakeSource(pod("a", "x", "n1"), pod("a", "y", "n1"))
		inf := clientgo.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, nil)
		_, err := inf.AddEventHandler(upstream.ResourceEventHandlerFuncs{AddFunc: func(any) { panic("on purpose") }})
		require.NoError(t, err)
		start(t, inf)
		assert.EqualValues(t, 1, handled.Load())
		time.Sleep(time.Second)
		synctest.Wait()
		assert.EqualValues(t, 2, handled.Load(), "it goes on with the next event")
	})
}

// onlyMeta is a value with metadata that is no API object.
type onlyMeta struct{ metav1.ObjectMeta }

func TestTransformMayReturnAnything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			transform upstream.TransformFunc
			keys      []string
			want      any
		}{
			"a value":   {func(obj any) (any, error) { return "the " + obj.(*corev1.Pod).Name, nil }, []string{"a/x"}, "the x"},
			"metadata":  {func(obj any) (any, error) { return &onlyMeta{obj.(*corev1.Pod).ObjectMeta}, nil }, []string{"a/x"}, &onlyMeta{pod("a", "x", "n1").ObjectMeta}},
			"a new key": {func(obj any) (any, error) { return pod("b", "z", "n1"), nil }, []string{"b/z"}, pod("b", "z", "n1")},
		} {
			lw, _ := fakeSource(pod("a", "x", "n1"))
			inf := clientgo.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, upstream.Indexers{"all": func(obj any) ([]string, error) {
				return []string{fmt.Sprintf("%T", obj)}, nil
			}})
			require.NoError(t, inf.SetTransform(c.transform))
			stop := start(t, inf)
			assert.True(t, inf.HasSynced(), name)
			assert.Equal(t, c.keys, inf.GetStore().ListKeys(), name)
			assert.Equal(t, []any{c.want}, inf.GetStore().List(), name)
			found, err := inf.GetIndexer().ByIndex("all", fmt.Sprintf("%T", c.want))
			require.NoError(t, err)
			assert.Equal(t, []any{c.want}, found, name)
			stop()
		}
	})
}

func TestListOfAnotherTypeIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lw, _ := fakeSource(pod("a", "x", "n1"))
		inf := clientgo.NewSharedIndexInformer(lw, &corev1.Node{}, 0, nil)
		start(t, inf)
		assert.True(t, inf.HasSynced())
		assert.Equal(t, []string{"a/x"}, inf.GetStore().ListKeys())
	})
}

func TestFakesNeedNoVersionsNorNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		versioned := func(name, node string) *corev1.Pod {
			p := pod("a", name, node)
			p.ResourceVersion = "1"
			return p
		}
		lw, events := fakeSource(versioned("x", "n1"), &corev1.Pod{}, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a"}})
		inf := clientgo.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, nil)
		got := &recorder{}
		_, err := inf.AddEventHandler(got)
		require.NoError(t, err)
		start(t, inf)
		assert.ElementsMatch(t, []string{"a/x", "", "a/"}, inf.GetStore().ListKeys())
		for _, key := range []string{"", "a/"} {
			_, ok, err := inf.GetStore().GetByKey(key)
			require.NoError(t, err)
			assert.True(t, ok, key)
		}
		got.take()
		for i := range 3 {
			events.Modify(versioned("x", fmt.Sprint("m", i)))
		}
		synctest.Wait()
		obj, _, err := inf.GetStore().GetByKey("a/x")
		require.NoError(t, err)
		assert.Equal(t, "m2", obj.(*corev1.Pod).Spec.NodeName)
		assert.Equal(t, []string{"update x", "update x", "update x"}, got.take())
		events.Delete(&corev1.Pod{})
		synctest.Wait()
		assert.Equal(t, []string{"delete "}, got.take())
	})
}

func TestWatchesOfFakesAreNotRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(pod("a", "x", "n1"))
		for name, lw := range map[string]upstream.ListerWatcher{
			"generated": upstream.ToListWatcherWithWatchListSemantics(listWatch(client), client),
			"by hand":   fakeClient{listWatch(client)},
		} {
			client.ClearActions()
			inf := clientgo.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, nil)
			stop := start(t, inf)
			time.Sleep(24 * time.Hour)
			synctest.Wait()
			assert.Len(t, client.Actions(), 2, "%s: a list and a watch: %v", name, verbs(client.Actions()))
			stop()
		}
	})
}

func verbs(actions []clienttesting.Action) (all []string) {
	for _, a := range actions {
		all = append(all, a.GetVerb())
	}
	return all
}

func listWatch(client *fake.Clientset) *upstream.ListWatch {
	return &upstream.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return client.CoreV1().Pods("").List(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return client.CoreV1().Pods("").Watch(ctx, opts)
		},
	}
}

// A watch of a server is given up if nothing comes for minutes, as a connection may be
// half-open: one that has sent a bookmark is of a server.
func TestWatchesOfServersAreRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		watches := 0
		lw := &upstream.ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
			},
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				watches++
				events := watch.NewRaceFreeFake()
				events.Action(watch.Bookmark, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
					ResourceVersion: "5", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
				}})
				return events, nil
			},
		}
		start(t, clientgo.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, nil))
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Greater(t, watches, 5)
	})
}
