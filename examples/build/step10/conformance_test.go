package build_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	build "github.com/informerkit/informerkit/examples/build/step10"
	"github.com/informerkit/informerkit/examples/exampletest"
	"github.com/informerkit/informerkit/informer/informertest"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // what fails is meant to
	exampletest.Main(m)
}

const namespace = "default"

var (
	configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")
	leases     = coordinationv1.SchemeGroupVersion.WithResource("leases")
)

// inBubble runs a test with a server, in fake time.
func inBubble(t *testing.T, opts informertest.Options, test func(t *testing.T, server *informertest.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		opts.InMemory = true
		server, err := informertest.NewServer(opts)
		require.NoError(t, err)
		defer server.Close()
		test(t, server)
	})
}

// run runs something until stop is called, which returns when it has ended.
func run(t *testing.T, f func(ctx context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { assert.ErrorIs(t, f(ctx), context.Canceled) })
	return func() {
		cancel()
		group.Wait()
	}
}

func configMap(name string, asks bool) *corev1.ConfigMap {
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if asks {
		obj.Labels = map[string]string{build.Label: "yes"}
	}
	return obj
}

// stored returns what the server has: the version by name.
func stored(t *testing.T, server *informertest.Server) map[string]string {
	t.Helper()
	all, err := server.List(configMaps, namespace, labels.Everything())
	require.NoError(t, err)
	versions := map[string]string{}
	for _, u := range all {
		versions[u.GetName()] = u.GetResourceVersion()
	}
	return versions
}

// backups returns how many backups each object has on the server.
func backups(t *testing.T, server *informertest.Server) map[string]int {
	t.Helper()
	all, err := server.List(configMaps, namespace, labels.Everything())
	require.NoError(t, err)
	n := map[string]int{}
	for _, u := range all {
		if owner := metav1.GetControllerOf(u); owner != nil {
			n[owner.Name]++
		}
	}
	return n
}

// witness is a handler that checks each event.
type witness struct {
	t        *testing.T
	informer *build.Informer
	seen     map[string]*build.Object
	added    map[string]int
}

func (w *witness) handle(e build.Event) {
	old, had := w.seen[e.Key.Name]
	switch e.Type {
	case build.Added:
		assert.False(w.t, had, "%s twice", e)
		w.added[e.Key.Name]++
	case build.Updated:
		assert.Same(w.t, old, e.Old, "Old of %s", e)
		assert.Greater(w.t, version(e.New), version(e.Old), "%s goes back", e)
	case build.Deleted:
		assert.True(w.t, had, "%s, which was never added", e)
		delete(w.seen, e.Key.Name)
	}
	if e.New != nil {
		w.seen[e.Key.Name] = e.New
	}
	if now := w.informer.Get(e.Key); e.New != nil && now != nil && now.UID == e.New.UID {
		assert.GreaterOrEqual(w.t, version(now), version(e.New), "the copy is behind %s", e)
	}
}

func version(obj *build.Object) (n int) {
	_, _ = fmt.Sscan(obj.ResourceVersion, &n)
	return n
}

func (w *witness) versions() map[string]string {
	versions := map[string]string{}
	for name, obj := range w.seen {
		versions[name] = obj.ResourceVersion
	}
	return versions
}

// Promises 1, 3 and 4: a server on which a third of the lists and watches fail, and which forgets
// its history now and then.
func TestCopyAndHandlersEndWithTheStateOfTheServer(t *testing.T) {
	for seed := range uint64(5) {
		inBubble(t, informertest.Options{HistoryLength: 50}, func(t *testing.T, server *informertest.Server) {
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 1))
			informer, err := build.New(server.Config(), namespace)
			require.NoError(t, err)
			stop := server.InjectChaos(informertest.Chaos{Seed: seed, Rate: 0.3, Stalls: true})
			var witnesses []*witness
			join := func(ctx context.Context, group *sync.WaitGroup) {
				w := &witness{t: t, informer: informer, seen: map[string]*build.Object{}, added: map[string]int{}}
				witnesses = append(witnesses, w)
				group.Go(func() { informer.Follow(ctx, w.handle) })
			}
			end := run(t, func(ctx context.Context) error {
				var group sync.WaitGroup
				defer group.Wait()
				join(ctx, &group)
				group.Go(func() {
					for n := range 400 {
						name := fmt.Sprint("n", random.IntN(10))
						_, exists := stored(t, server)[name]
						switch {
						case !exists:
							assert.NoError(t, server.Create(configMap(name, false)))
						case random.IntN(3) == 0:
							assert.NoError(t, server.Delete(configMaps, namespace, name))
						default:
							assert.NoError(t, server.Modify(configMaps, namespace, name, func(u *unstructured.Unstructured) {
								u.Object["data"] = map[string]any{"n": fmt.Sprint(n)}
							}))
						}
						switch random.IntN(40) {
						case 0:
							server.Restart()
						case 1:
							server.BreakConnections()
						case 2:
							join(ctx, &group) // a handler that comes late
						}
						<-time.After(time.Duration(random.IntN(500)) * time.Millisecond)
					}
					stop()
				})
				return informer.Run(ctx)
			})
			<-time.After(time.Hour)
			synctest.Wait()
			want := stored(t, server)
			got := map[string]string{}
			for _, obj := range informer.List() {
				got[obj.Name] = obj.ResourceVersion
			}
			assert.Equal(t, want, got)
			end()
			require.Greater(t, len(witnesses), 1)
			for _, w := range witnesses {
				assert.Equal(t, want, w.versions())
			}
		})
	}
}

// Promise 2.
func TestSnapshotsNeverChange(t *testing.T) {
	inBubble(t, informertest.Options{}, func(t *testing.T, server *informertest.Server) {
		informer, err := build.New(server.Config(), namespace)
		require.NoError(t, err)
		informer.Store.OnMutation = func(key build.Key) { t.Errorf("%s was changed", key) }
		require.NoError(t, server.Create(configMap("a", false)))
		end := run(t, informer.Run)
		defer end()
		<-informer.Synced()
		before := informer.Store.Snapshot()
		version := before.Version
		require.NoError(t, server.Create(configMap("b", false)))
		require.NoError(t, server.Delete(configMaps, namespace, "a"))
		exampletest.Pass(time.Second)
		assert.Equal(t, 1, before.Len())
		assert.NotNil(t, before.Get(build.Key{Namespace: namespace, Name: "a"}))
		assert.Equal(t, version, before.Version)
		assert.Nil(t, informer.Get(build.Key{Namespace: namespace, Name: "a"}))
	})
}

// Promise 5.
func TestItemIsWorkedOnByOneAndComesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := build.NewWorkQueue[string]()
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		running, times := 0, 0
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				for item, ok := q.Get(ctx); ok; item, ok = q.Get(ctx) {
					mu.Lock()
					running++
					times++
					assert.Equal(t, 1, running)
					mu.Unlock()
					<-time.After(time.Second)
					mu.Lock()
					running--
					mu.Unlock()
					q.Done(item)
				}
			})
		}
		q.Add("a")
		exampletest.Pass(time.Second / 2)
		q.Add("a")
		exampletest.Pass(time.Minute)
		cancel()
		group.Wait()
		assert.Equal(t, 2, times)
	})
}

// Promises 6 and 7: lists and watches fail, two replicas run, one of them stops in the middle
// and another one loses the server.
func TestEachObjectHasOneBackup(t *testing.T) {
	inBubble(t, informertest.Options{HistoryLength: 50}, func(t *testing.T, server *informertest.Server) {
		stopChaos := server.InjectChaos(informertest.Chaos{Seed: 1, Rate: 0.3})
		replica := func(identity string) func() {
			c, err := build.NewController(server.Config(), namespace, identity)
			require.NoError(t, err)
			return run(t, func(ctx context.Context) error { return c.Run(ctx, 3) })
		}
		endOne := replica("one")
		endTwo := replica("two")
		want := map[string]int{}
		for n := range 60 {
			name := fmt.Sprint("n", n)
			require.NoError(t, server.Create(configMap(name, n%3 != 0)))
			if n%3 != 0 {
				want[name] = 1
			}
			switch n {
			case 20:
				endOne()
			case 40:
				server.Restart()
			}
			<-time.After(time.Second)
		}
		stopChaos()
		exampletest.Pass(10 * time.Minute)
		endTwo()
		assert.Equal(t, want, backups(t, server))
		assert.Contains(t, slices.Collect(maps.Keys(stored(t, server))), "n0")
	})
}

// A holder that is gone without a word is replaced when its Lease has not changed for long
// enough; one that stops, at once.
func TestAnotherReplicaTakesOver(t *testing.T) {
	for stops, within := range map[bool]time.Duration{true: build.RetryPeriod, false: build.LeaseDuration + 2*build.RetryPeriod} {
		t.Run(fmt.Sprint("stops=", stops), func(t *testing.T) {
			inBubble(t, informertest.Options{}, func(t *testing.T, server *informertest.Server) {
				one, err := build.NewController(server.Config(), namespace, "one")
				require.NoError(t, err)
				endOne := run(t, func(ctx context.Context) error { return one.Run(ctx, 1) })
				exampletest.Pass(time.Second)
				two, err := build.NewController(server.Config(), namespace, "two")
				require.NoError(t, err)
				endTwo := run(t, func(ctx context.Context) error { return two.Run(ctx, 1) })
				defer endTwo()
				exampletest.Pass(time.Minute)
				if !stops { // its last words do not arrive
					server.Inject(informertest.Fault{Verb: "update", Resource: "leases", Effect: informertest.Drop()})
				}
				endOne()
				require.NoError(t, server.Create(configMap("a", true)))
				exampletest.Pass(within + time.Second)
				assert.Equal(t, map[string]int{"a": 1}, backups(t, server))
			})
		})
	}
}

// A holder that cannot renew its Lease does not work any more when another one may.
func TestHolderThatCannotRenewStops(t *testing.T) {
	inBubble(t, informertest.Options{}, func(t *testing.T, server *informertest.Server) {
		one, err := build.NewController(server.Config(), namespace, "one")
		require.NoError(t, err)
		defer run(t, func(ctx context.Context) error { return one.Run(ctx, 1) })()
		exampletest.Pass(time.Second)
		remove := server.Inject(informertest.Fault{Resource: "leases", Times: -1, Effect: informertest.Stall()})
		exampletest.Pass(build.RenewDeadline)
		require.NoError(t, server.Create(configMap("a", true)))
		exampletest.Pass(time.Minute)
		assert.Empty(t, backups(t, server))
		remove()
		exampletest.Pass(2 * time.Minute) // the request that hangs has a limit
		assert.Equal(t, map[string]int{"a": 1}, backups(t, server), "it takes the Lease again")
	})
}

// A holder that reads the name of another one in the Lease stops then, and not only when it could
// have renewed for the last time: the Lease was edited by hand.
func TestHolderThatReadsAnotherNameStops(t *testing.T) {
	inBubble(t, informertest.Options{}, func(t *testing.T, server *informertest.Server) {
		one, err := build.NewController(server.Config(), namespace, "one")
		require.NoError(t, err)
		defer run(t, func(ctx context.Context) error { return one.Run(ctx, 1) })()
		exampletest.Pass(time.Second)
		require.NoError(t, server.Modify(leases, namespace, build.LeaseName, func(u *unstructured.Unstructured) {
			require.NoError(t, unstructured.SetNestedField(u.Object, "two", "spec", "holderIdentity"))
		}))
		exampletest.Pass(build.RetryPeriod)
		require.NoError(t, server.Create(configMap("a", true)))
		exampletest.Pass(build.LeaseDuration - build.RetryPeriod)
		assert.Empty(t, backups(t, server))
		exampletest.Pass(3 * build.RetryPeriod)
		assert.Equal(t, map[string]int{"a": 1}, backups(t, server), "the other one does not renew")
	})
}

// Promise 8. No goroutine goes on: the bubble and TestMain would say so.
func TestRunEndsFromEveryState(t *testing.T) {
	for name, fault := range map[string]informertest.Fault{
		"a list that hangs":        {Verb: "list", Effect: informertest.Stall()},
		"a list that is forbidden": {Verb: "list", Times: -1, Effect: informertest.Respond(403, "text/html", "<html>no</html>")},
		"a list of something else": {Verb: "list", Times: -1, Effect: informertest.Respond(200, "application/json", `{"kind":"Pod"}`)},
		"a watch that is quiet":    {Verb: "watch", Effect: informertest.StallWatch(0)},
		"a watch that is garbled":  {Verb: "watch", Times: -1, Effect: informertest.GarbleWatch(0, "<html>")},
		"a Lease that hangs":       {Resource: "leases", Times: -1, Effect: informertest.Stall()},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, informertest.Options{}, func(t *testing.T, server *informertest.Server) {
				server.Inject(fault)
				require.NoError(t, server.Create(configMap("a", true)))
				c, err := build.NewController(server.Config(), namespace, "one")
				require.NoError(t, err)
				end := run(t, func(ctx context.Context) error { return c.Run(ctx, 2) })
				exampletest.Pass(20 * time.Second)
				began := time.Now()
				end()
				assert.LessOrEqual(t, time.Since(began), build.RetryPeriod, "to release the Lease")
			})
		})
	}
}

// A failure is no end: what a list fails for is tried again, and not too often.
func TestFailuresAreTriedAgain(t *testing.T) {
	inBubble(t, informertest.Options{}, func(t *testing.T, server *informertest.Server) {
		remove := server.Inject(informertest.Fault{Verb: "list", Times: -1, Effect: informertest.Respond(200, "text/html", "<html>Welcome</html>")})
		informer, err := build.New(server.Config(), namespace)
		require.NoError(t, err)
		defer run(t, informer.Run)()
		exampletest.Pass(10 * time.Minute)
		assert.Less(t, server.Count("list", "configmaps"), 50)
		select {
		case <-informer.Synced():
			t.Error("it is not synced")
		default:
		}
		remove()
		exampletest.Pass(time.Minute)
		<-informer.Synced()
	})
}

// A watch that gets no answer is a failure, however long that takes.
func TestWatchWithoutAnswerIsAFailure(t *testing.T) {
	inBubble(t, informertest.Options{}, func(t *testing.T, server *informertest.Server) {
		informer, err := build.New(server.Config(), namespace)
		require.NoError(t, err)
		server.Inject(informertest.Fault{Verb: "watch", Times: -1, Effect: informertest.Stall()})
		defer run(t, informer.Run)()
		for range 100 {
			exampletest.Pass(build.Healthy + time.Second)
			server.BreakConnections()
		}
		assert.Less(t, server.Count("watch", "configmaps"), 40)
	})
}

// A connection whose other end is gone says nothing. It is given up after the time that a watch
// may last.
func TestHalfOpenWatchIsNoticed(t *testing.T) {
	inBubble(t, informertest.Options{}, func(t *testing.T, server *informertest.Server) {
		server.Inject(informertest.Fault{Verb: "watch", Effect: informertest.StallWatch(0)})
		informer, err := build.New(server.Config(), namespace)
		require.NoError(t, err)
		defer run(t, informer.Run)()
		<-informer.Synced()
		exampletest.Pass(time.Second)
		require.NoError(t, server.Create(configMap("a", false)))
		exampletest.Pass(build.WatchTimeout)
		assert.Empty(t, informer.List())
		exampletest.Pass(build.RequestTimeout)
		assert.Len(t, informer.List(), 1)
	})
}

func TestNamespaceMustBeNamed(t *testing.T) {
	inBubble(t, informertest.Options{}, func(t *testing.T, server *informertest.Server) {
		_, err := build.New(server.Config(), "")
		require.ErrorContains(t, err, "name a namespace")
	})
}
