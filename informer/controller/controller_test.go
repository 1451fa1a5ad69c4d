package controller_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/leader"
	"github.com/informerkit/informerkit/workqueue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")
	secrets    = corev1.SchemeGroupVersion.WithResource("secrets")
	events     = schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}
)

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: name}
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func secretOf(owner *corev1.ConfigMap) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: owner.Name}}
	if err := client.SetController(s, owner, corev1.SchemeGroupVersion.WithKind("ConfigMap")); err != nil {
		panic(err)
	}
	return s
}

// inWorld runs a test in fake time, with a server.
func inWorld(t *testing.T, test func(t *testing.T, server *informertest.Server)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, err := informertest.NewServer(informertest.Options{InMemory: true})
		require.NoError(t, err)
		defer server.Close()
		test(t, server)
	})
}

func options(t *testing.T, server *informertest.Server) controller.Options {
	t.Helper()
	return controller.Options{Config: server.Config(), Name: "test", Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
}

// calls are the keys for which the function was called.
type calls struct {
	mu   sync.Mutex
	keys []string
}

func (c *calls) note(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys = append(c.keys, key.Name)
}

// len is how many calls there were since the last take.
func (c *calls) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.keys)
}

// take waits until all is quiet, and returns the calls since the last time.
func (c *calls) take() []string {
	time.Sleep(10 * time.Second)
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	keys := c.keys
	c.keys = nil
	slices.Sort(keys)
	return keys
}

// run runs a controller until the end of the test, and returns what ends it earlier.
func run(t *testing.T, c *controller.Controller, reconcile controller.Reconcile) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, reconcile) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { assert.NoError(t, stop()) })
	return stop
}

// Promise informer/controller/1
func TestTheFunctionIsCalledForWhatConcernsAnObject(t *testing.T) {
	inWorld(t, func(t *testing.T, server *informertest.Server) {
		for _, name := range []string{"a", "b"} {
			require.NoError(t, server.Create(configMap(name)))
		}
		a, err := server.Get(configMaps, "default", "a")
		require.NoError(t, err)
		c := controller.New(options(t, server))
		maps := controller.For[*corev1.ConfigMap](c, configMaps)
		owned := controller.Owns[*corev1.Secret](c, secrets)
		nodes := controller.Watches(c, corev1.SchemeGroupVersion.WithResource("nodes"), func(n *corev1.Node) []types.NamespacedName {
			return []types.NamespacedName{key(n.Labels["for"])}
		})
		pods := controller.Reads[*corev1.Pod](c, corev1.SchemeGroupVersion.WithResource("pods"))
		var got calls
		run(t, c, func(_ context.Context, key types.NamespacedName) (workqueue.Result, error) {
			assert.True(t, maps.Cache.HasSynced() && owned.Cache.HasSynced() && nodes.Cache.HasSynced() && pods.Cache.HasSynced())
			got.note(key)
			return workqueue.Result{}, nil
		})
		assert.Equal(t, []string{"a", "b"}, got.take(), "all objects after the start")

		require.NoError(t, server.Create(secretOf(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: a.GetUID()}})))
		assert.Equal(t, []string{"a"}, got.take(), "an owned object")
		assert.Len(t, owned.Owned(a), 1)
		require.NoError(t, server.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"for": "b"}}}))
		assert.Equal(t, []string{"b"}, got.take(), "an object that names it")
		require.NoError(t, server.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}}))
		assert.Empty(t, got.take(), "an object that is only read")
		_, err = pods.Get(key("p"))
		assert.NoError(t, err)
		require.NoError(t, server.Delete(secrets, "default", "a"))
		require.NoError(t, server.Modify(configMaps, "default", "b", func(u *unstructured.Unstructured) { u.SetLabels(map[string]string{"x": "y"}) }))
		assert.Equal(t, []string{"a", "b"}, got.take())
		assert.Len(t, slices.Collect(maps.List("default", nil)), 2)
		assert.Len(t, slices.Collect(maps.List("", nil)), 2)
		assert.Empty(t, slices.Collect(maps.List("other", nil)))
	})
}

func labelsChanged(e informer.Event[*corev1.ConfigMap]) bool {
	return e.Type != informer.Updated || !maps.Equal(e.Old.Labels, e.New.Labels)
}

func TestWhenSelectsTheEvents(t *testing.T) {
	inWorld(t, func(t *testing.T, server *informertest.Server) {
		require.NoError(t, server.Create(configMap("a")))
		c := controller.New(options(t, server))
		controller.For(c, configMaps, controller.ResourceOptions[*corev1.ConfigMap]{When: labelsChanged})
		var got calls
		run(t, c, func(_ context.Context, key types.NamespacedName) (workqueue.Result, error) {
			got.note(key)
			return workqueue.Result{}, nil
		})
		assert.Equal(t, []string{"a"}, got.take())
		require.NoError(t, server.Modify(configMaps, "default", "a", func(u *unstructured.Unstructured) { u.SetAnnotations(map[string]string{"x": "y"}) }))
		assert.Empty(t, got.take())
		require.NoError(t, server.Modify(configMaps, "default", "a", func(u *unstructured.Unstructured) { u.SetLabels(map[string]string{"x": "y"}) }))
		assert.Equal(t, []string{"a"}, got.take())
	})
}

// A write that changes nothing has no event. If it were a reason for another call, that one would write again, without
// a pause. Promise informer/controller/1
func TestAWriteThatChangesNothingIsNoReasonForAnotherCall(t *testing.T) {
	for _, ahead := range []string{"For", "Owns"} {
		t.Run(ahead, func(t *testing.T) {
			inWorld(t, func(t *testing.T, server *informertest.Server) {
				require.NoError(t, server.Create(configMap("a")))
				c := controller.New(options(t, server))
				maps := controller.For[*corev1.ConfigMap](c, configMaps)
				owned := controller.Owns[*corev1.Secret](c, secrets)
				var got calls
				run(t, c, func(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
					if got.note(key); got.len() > 50 {
						return workqueue.Result{}, nil
					}
					if ahead == "For" {
						_, err := maps.Apply(ctx, key, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]string{"x": "y"}}, true)
						return workqueue.Result{}, err
					}
					m, err := maps.Get(key)
					if err != nil {
						return workqueue.Result{}, err
					}
					wanted := secretOf(m)
					wanted.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
					_, err = owned.Apply(ctx, key, wanted, true)
					return workqueue.Result{}, err
				})
				assert.Equal(t, []string{"a", "a"}, got.take(), "for the start, and for the event of the first write")
				require.NoError(t, server.Modify(configMaps, "default", "a", func(u *unstructured.Unstructured) { u.SetLabels(map[string]string{"x": "y"}) }))
				assert.Equal(t, []string{"a"}, got.take())
			})
		})
	}
}

// An object that is deleted before the cache has seen it leaves no event behind: the cache had none before the gap, and
// has none after it. Promise informer/controller/1
func TestWhatIsDeletedBeforeTheCacheSawItIsMadeAgain(t *testing.T) {
	for _, tc := range []struct {
		by  string
		gap time.Duration
	}{{"Create", 0}, {"Apply", 0}, {"Create", time.Hour}} { // longer than a key is parked
		t.Run(fmt.Sprint(tc), func(t *testing.T) {
			inWorld(t, func(t *testing.T, server *informertest.Server) {
				c := controller.New(options(t, server))
				maps := controller.For[*corev1.ConfigMap](c, configMaps)
				owned := controller.Owns[*corev1.Secret](c, secrets)
				var got calls
				run(t, c, func(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
					got.note(key)
					m, err := maps.Get(key)
					if err != nil || len(owned.Owned(m)) > 0 {
						return workqueue.Result{}, err
					}
					secret := secretOf(m)
					if tc.by == "Create" {
						_, err = owned.Create(ctx, secret)
					} else {
						secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
						_, err = owned.Apply(ctx, types.NamespacedName{Namespace: secret.Namespace, Name: secret.Name}, secret, true)
					}
					return workqueue.Result{}, err
				})
				got.take()
				watches := server.Inject(informertest.Fault{Verb: "watch", Resource: "secrets", Times: -1, Effect: informertest.Drop()})
				lists := server.Inject(informertest.Fault{Verb: "list", Resource: "secrets", Times: -1, Effect: informertest.Drop()})
				server.BreakConnections()
				require.NoError(t, server.Create(configMap("a")))
				assert.Equal(t, []string{"a"}, got.take())
				require.NoError(t, server.Delete(secrets, "default", "a"))
				server.Compact() // these changes are not delivered any more
				time.Sleep(tc.gap)
				watches()
				lists()
				time.Sleep(2 * time.Minute)
				assert.NotEmpty(t, got.take())
				_, err := server.Get(secrets, "default", "a")
				require.NoError(t, err)
			})
		})
	}
}

// Promise informer/controller/3
func TestFailuresAreRepeatedAndChangesComeFirst(t *testing.T) {
	inWorld(t, func(t *testing.T, server *informertest.Server) {
		for i := range 100 {
			require.NoError(t, server.Create(configMap(fmt.Sprint("old-", i))))
		}
		var log bytes.Buffer
		opts := options(t, server)
		opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c := controller.New(opts)
		controller.For[*corev1.ConfigMap](c, configMaps)
		var failures []time.Time
		var order []string
		stop := run(t, c, func(_ context.Context, key types.NamespacedName) (workqueue.Result, error) {
			if key.Name == "new" && len(failures) < 8 {
				failures = append(failures, time.Now())
				return workqueue.Result{}, errors.New("not this time")
			}
			order = append(order, key.Name)
			time.Sleep(100 * time.Millisecond)
			return workqueue.Result{}, nil
		})
		time.Sleep(time.Second)
		require.NoError(t, server.Create(configMap("new")))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.NoError(t, stop())
		require.Len(t, order, 101)
		assert.Less(t, slices.Index(order, "new"), 60, "it has not waited for the objects of the first list")
		require.Len(t, failures, 8)
		assert.Greater(t, failures[7].Sub(failures[6]), failures[1].Sub(failures[0]))
		assert.Contains(t, log.String(), "not this time")
		assert.Contains(t, log.String(), "controller=test")
	})
}

// Promise informer/controller/4
func TestOnlyALeaderWorks(t *testing.T) {
	inWorld(t, func(t *testing.T, server *informertest.Server) {
		var log bytes.Buffer
		for _, name := range []string{"a", "b"} {
			require.NoError(t, server.Create(configMap(name)))
		}
		type replica struct {
			calls
			cut     atomic.Bool
			hold    atomic.Bool
			ended   atomic.Value // why the context of a call ended
			stop    func() error
			control *controller.Controller
		}
		start := func(identity string) *replica {
			r := &replica{}
			opts := options(t, server)
			if identity == "first" {
				opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
			}
			opts.Config = rest.CopyConfig(opts.Config)
			opts.Config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(req *http.Request) (*http.Response, error) {
					if r.cut.Load() {
						return nil, errors.New("cut")
					}
					return next.RoundTrip(req)
				})
			})
			opts.Leader = leader.ByLease(leader.Options{Name: "test", Namespace: "default", Identity: identity})
			r.control = controller.New(opts)
			controller.For[*corev1.ConfigMap](r.control, configMaps)
			r.stop = run(t, r.control, func(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
				r.note(key)
				if r.hold.Load() {
					<-ctx.Done()
					r.ended.Store(context.Cause(ctx))
				}
				return workqueue.Result{}, nil
			})
			return r
		}
		first := start("first")
		assert.Equal(t, []string{"a", "b"}, first.take())
		assert.Contains(t, log.String(), "the controller works when it leads")
		second := start("second")
		assert.Empty(t, second.take())
		require.NoError(t, second.control.Ready(), "a warm standby is ready")
		assert.Empty(t, second.control.Inspect(10).Queued)

		first.hold.Store(true)
		require.NoError(t, server.Create(configMap("c")))
		time.Sleep(time.Second)
		first.cut.Store(true)
		time.Sleep(time.Minute)
		assert.Equal(t, []string{"c"}, first.take())
		assert.ErrorIs(t, first.ended.Load().(error), leader.ErrLost)
		assert.Equal(t, []string{"a", "b", "c"}, second.take(), "the next leader begins with all objects")
		require.NoError(t, first.stop())
		require.NoError(t, second.stop())
	})
}

// Promise informer/controller/5
func TestRunEndsInOrder(t *testing.T) {
	inWorld(t, func(t *testing.T, server *informertest.Server) {
		require.NoError(t, server.Create(configMap("a")))
		c := controller.New(options(t, server))
		maps := controller.For[*corev1.ConfigMap](c, configMaps)
		began := make(chan struct{})
		stop := run(t, c, func(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
			close(began)
			time.Sleep(15 * time.Second) // the stop comes meanwhile
			require.NoError(t, ctx.Err())
			m, err := maps.Get(key)
			require.NoError(t, err)
			m = m.DeepCopy()
			m.Labels = map[string]string{"done": "yes"}
			m, err = maps.Update(ctx, m)
			require.NoError(t, err)
			require.NoError(t, maps.Cache.WaitForObject(ctx, m), "the cache is kept up to date")
			return workqueue.Result{}, nil
		})
		<-began
		require.NoError(t, stop())
		m, err := server.Get(configMaps, "default", "a")
		require.NoError(t, err)
		assert.Equal(t, "yes", m.GetLabels()["done"])
		assert.ErrorIs(t, c.Run(t.Context(), nil), informer.ErrRunning)
	})
}

func TestAReconcileThatDoesNotEndInTimeIsAnError(t *testing.T) {
	inWorld(t, func(t *testing.T, server *informertest.Server) {
		require.NoError(t, server.Create(configMap("a")))
		c := controller.New(options(t, server))
		controller.For[*corev1.ConfigMap](c, configMaps)
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan struct{})
		began := make(chan struct{})
		ended := make(chan error, 1)
		go func() {
			ended <- c.Run(ctx, func(context.Context, types.NamespacedName) (workqueue.Result, error) {
				close(began)
				<-release
				return workqueue.Result{}, nil
			})
		}()
		<-began
		stopped := time.Now()
		cancel()
		assert.ErrorIs(t, <-ended, workqueue.ErrStopTimeout)
		assert.Equal(t, 20*time.Second, time.Since(stopped))
		close(release)
	})
}

// Promise informer/controller/5
func TestAStopBeforeTheSyncIsNoError(t *testing.T) {
	inWorld(t, func(t *testing.T, server *informertest.Server) {
		server.Inject(informertest.Fault{Resource: "configmaps", Effect: informertest.Stall()})
		c := controller.New(options(t, server))
		controller.For[*corev1.ConfigMap](c, configMaps)
		stop := run(t, c, func(context.Context, types.NamespacedName) (workqueue.Result, error) { panic("not synced") })
		time.Sleep(time.Second)
		assert.Error(t, c.Ready())
		assert.NoError(t, stop())
	})
}

// Promise informer/controller/6
func TestImpossibleArgumentsAreErrorsOfRun(t *testing.T) {
	t.Parallel()
	cfg := &rest.Config{Host: "http://127.0.0.1:1"}
	nothing := func(context.Context, types.NamespacedName) (workqueue.Result, error) { return workqueue.Result{}, nil }
	fine := func(c *controller.Controller) { controller.For[*corev1.ConfigMap](c, configMaps) }
	for _, c := range []struct {
		name  string
		opts  controller.Options
		setup func(*controller.Controller)
		run   controller.Reconcile
		want  []string
	}{
		{"nothing", controller.Options{}, func(*controller.Controller) {}, nil, []string{"Name is empty", "Config is nil", "function is nil", "call For"}},
		{"a name with a space", controller.Options{Config: cfg, Name: "cron backups"}, fine, nothing, []string{"Options.Name", "qualified name"}},
		{"a name with two slashes", controller.Options{Config: cfg, Name: "a/b/c"}, fine, nothing, []string{"Options.Name", "qualified name"}},
		{"a long name", controller.Options{Config: cfg, Name: strings.Repeat("a.", 60) + "a/" + strings.Repeat("b", 60)}, fine, nothing, []string{"Options.FieldManager", "128"}},
		{"no objects", controller.Options{Config: cfg, Name: "x"}, func(*controller.Controller) {}, nothing, []string{"call For"}},
		{"two", controller.Options{Config: cfg, Name: "x"}, func(c *controller.Controller) { fine(c); fine(c) }, nothing, []string{"one Controller for each kind"}},
		{"workers twice", controller.Options{Config: cfg, Name: "x", Process: workqueue.ProcessOptions[types.NamespacedName]{Workers: 1}}, fine, nothing, []string{"set Options.Workers"}},
		{"panics twice", controller.Options{Config: cfg, Name: "x", Process: workqueue.ProcessOptions[types.NamespacedName]{CapturePanics: true}}, fine, nothing, []string{"CrashOnPanic"}},
		{"no plural", controller.Options{Config: cfg, Name: "x"}, func(c *controller.Controller) {
			controller.For[*corev1.ConfigMap](c, corev1.SchemeGroupVersion.WithResource(""))
		}, nothing, []string{"For"}},
		{"no function", controller.Options{Config: cfg, Name: "x"}, func(c *controller.Controller) {
			fine(c)
			controller.Watches[*corev1.Secret](c, secrets, nil)
		}, nothing, []string{"Watches secrets: the function is nil"}},
		{"when of what is read", controller.Options{Config: cfg, Name: "x"}, func(c *controller.Controller) {
			fine(c)
			controller.Reads(c, secrets, controller.ResourceOptions[*corev1.Secret]{When: informer.GenerationChanged[*corev1.Secret]()})
		}, nothing, []string{"Reads secrets"}},
		{"two options", controller.Options{Config: cfg, Name: "x"}, func(c *controller.Controller) {
			controller.For(c, configMaps, controller.ResourceOptions[*corev1.ConfigMap]{}, controller.ResourceOptions[*corev1.ConfigMap]{})
		}, nothing, []string{"pass one at most"}},
		{"a nil handler", controller.Options{Config: cfg, Name: "x", Serve: map[string]http.Handler{"127.0.0.1:0": nil}}, fine, nothing, []string{"nil handler"}},
		{"no address", controller.Options{Config: cfg, Name: "x", Health: "nowhere"}, fine, nothing, []string{"cannot serve HTTP"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.opts.Logger == nil {
				c.opts.Logger = slog.New(slog.DiscardHandler)
			}
			ctl := controller.New(c.opts)
			c.setup(ctl)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err := ctl.Run(ctx, c.run)
			for _, want := range c.want {
				assert.ErrorContains(t, err, want)
			}
			assert.ErrorContains(t, err, "controller ")
			// None of these panics, whatever was wrong.
			_, _, _ = ctl.Health(), ctl.Find(key("a")), ctl.Inspect(1, key("a"))
			ctl.Event(ctx, configMap("a"), "Normal", "Reason", "note")
		})
	}
}

func TestHealthIsServed(t *testing.T) {
	t.Parallel()
	server := informertest.Start(t, informertest.Options{})
	var address atomic.Value
	found := make(chan struct{})
	opts := options(t, server)
	opts.Health = "127.0.0.1:0"
	opts.Serve = map[string]http.Handler{"127.0.0.1:0": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "mine") })}
	opts.Logger = slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == "address" && address.CompareAndSwap(nil, a.Value.String()) {
			close(found)
		}
		return a
	}}))
	c := controller.New(opts)
	controller.For[*corev1.ConfigMap](c, configMaps)
	run(t, c, func(context.Context, types.NamespacedName) (workqueue.Result, error) { return workqueue.Result{}, nil })
	<-found
	get := func(path string) (int, string) {
		response, err := http.Get("http://" + address.Load().(string) + path)
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(body)
	}
	code, _ := get("/healthz")
	assert.Equal(t, http.StatusOK, code)
	require.Eventually(t, func() bool { code, _ := get("/readyz"); return code == http.StatusOK }, time.Minute, time.Millisecond)
	_, body := get("/other")
	assert.Equal(t, "mine", body)
}

func TestMetricsGetTheQueue(t *testing.T) {
	inWorld(t, func(t *testing.T, server *informertest.Server) {
		require.NoError(t, server.Create(configMap("a")))
		m := &measured{}
		opts := options(t, server)
		opts.Metrics = m
		c := controller.New(opts)
		controller.For[*corev1.ConfigMap](c, configMaps)
		var got calls
		stop := run(t, c, func(_ context.Context, key types.NamespacedName) (workqueue.Result, error) {
			got.note(key)
			return workqueue.Result{}, nil
		})
		got.take()
		assert.EqualValues(t, 1, m.added.Load())
		assert.Equal(t, []string{"configmaps"}, m.informers)
		assert.EqualValues(t, 1, m.queue.Stats().Added)
		require.NoError(t, stop())
	})
}

// measured is the Metrics of one controller.
type measured struct {
	added atomic.Int64
	queue interface{ Stats() workqueue.Stats }

	informers []string
}

func (m *measured) Informer(name string, _ func() informer.Health) informer.Metrics {
	m.informers = append(m.informers, name)
	return noMetrics{}
}

func (m *measured) Workqueue(_ string, queue interface{ Stats() workqueue.Stats }) workqueue.Metrics {
	m.queue = queue
	return m
}

func (m *measured) Added(n int)          { m.added.Add(int64(n)) }
func (*measured) Retried()               {}
func (*measured) Started(time.Duration)  {}
func (*measured) Finished(time.Duration) {}

type noMetrics struct{}

func (noMetrics) Synced(time.Duration)                        {}
func (noMetrics) Applied(informer.EventCounts, time.Duration) {}
func (noMetrics) Close()                                      {}

func TestEventsAreWrittenAndCounted(t *testing.T) {
	inWorld(t, func(t *testing.T, server *informertest.Server) {
		require.NoError(t, server.Create(configMap("a")))
		c := controller.New(options(t, server))
		maps := controller.For[*corev1.ConfigMap](c, configMaps)
		run(t, c, func(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
			m, err := maps.Get(key)
			if err != nil {
				return workqueue.Result{}, err
			}
			c.Event(ctx, m, "Warning", "NotYet", "it is too early")
			return workqueue.Result{RequeueAfter: 10 * time.Second}, nil
		})
		time.Sleep(5*time.Minute + time.Second)
		written, err := server.List(events, "default", nil)
		require.NoError(t, err)
		require.Len(t, written, 1)
		series := written[0].Object["series"].(map[string]any)
		assert.GreaterOrEqual(t, series["count"], int64(20))
		assert.LessOrEqual(t, server.Count("patch", "events"), 6)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// An operator without the right to create Events does not fill its log.
func TestEventsThatCannotBeWrittenAreLoggedOnceAMinute(t *testing.T) {
	inWorld(t, func(t *testing.T, server *informertest.Server) {
		require.NoError(t, server.Create(configMap("a")))
		server.Inject(informertest.Fault{Verb: "create", Resource: "events", Times: -1, Effect: informertest.Respond(500, "text/plain", "no")})
		var log bytes.Buffer
		opts := options(t, server)
		opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c := controller.New(opts)
		maps := controller.For[*corev1.ConfigMap](c, configMaps)
		stop := run(t, c, func(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
			m, err := maps.Get(key)
			if err != nil {
				return workqueue.Result{}, err
			}
			c.Event(ctx, m, "Warning", "NotYet", "it is too early")
			return workqueue.Result{RequeueAfter: 10 * time.Second}, nil
		})
		time.Sleep(119 * time.Second)
		require.NoError(t, stop())
		assert.Equal(t, 2, strings.Count(log.String(), "an Event cannot be written"), log.String())
		assert.Contains(t, log.String(), "suppressed=")
		assert.Contains(t, log.String(), "the controller works now")
	})
}
