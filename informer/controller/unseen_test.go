package controller_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/workqueue"
)

// blind lets the requests that read secrets fail, until see is called. What the watch has sent already is all it sends.
func blind(t *testing.T, server *informertest.Server, effect informertest.Effect) (see func()) {
	t.Helper()
	watches := server.Inject(informertest.Fault{Verb: "watch", Resource: "secrets", Times: -1, Effect: effect})
	lists := server.Inject(informertest.Fault{Verb: "list", Resource: "secrets", Times: -1, Effect: effect})
	server.BreakConnections()
	time.Sleep(time.Second)
	return func() {
		watches()
		lists()
	}
}

// disturb changes the ConfigMap again and again, which asks for its key.
func disturb(t *testing.T, server *informertest.Server, total, every time.Duration) {
	t.Helper()
	for i := range int(total / every) {
		time.Sleep(every)
		require.NoError(t, server.Modify(configMaps, "default", "a", func(u *unstructured.Unstructured) { u.SetLabels(map[string]string{"x": fmt.Sprint(i)}) }))
	}
}

// For an hour nothing can be read: a wait with a deadline would end. The generated names make each stale call one Secret
// more. Promise informer/controller/2
func TestAKeyWaitsForItsOwnWritesHoweverLongTheCacheLags(t *testing.T) {
	for name, effect := range map[string]informertest.Effect{
		"no answer":   informertest.Drop(),
		"an error":    informertest.Respond(500, "text/plain", "no"),
		"too busy":    informertest.Respond(429, "text/plain", "later"),
		"unavailable": informertest.Refuse(apierrors.NewServiceUnavailable("not yet")),
	} {
		for _, outcome := range []string{"success", "failure", "panic", "own condition"} {
			t.Run(name+" "+outcome, func(t *testing.T) {
				inWorld(t, func(t *testing.T, server *informertest.Server) {
					var log bytes.Buffer
					opts := options(t, server)
					opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
					c := controller.New(opts)
					maps := controller.For[*corev1.ConfigMap](c, configMaps)
					owned := controller.Owns[*corev1.Secret](c, secrets)
					var called atomic.Int32
					stop := run(t, c, func(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
						m, err := maps.Get(key)
						if err != nil {
							return workqueue.Result{}, err
						}
						called.Add(1)
						if len(owned.Owned(m)) > 0 {
							return workqueue.Result{}, nil
						}
						secret := secretOf(m)
						secret.Name, secret.GenerateName = "", "x-"
						_, err = owned.Create(ctx, secret)
						switch outcome {
						case "failure":
							err = errors.Join(err, errors.New("after the write"))
						case "panic":
							panic("after the write")
						case "own condition":
							never := workqueue.ConditionFunc(func(func()) func() { return nil })
							return workqueue.Result{Until: never, ParkTimeout: time.Second}, err
						}
						return workqueue.Result{RequeueAfter: time.Millisecond}, err
					})
					time.Sleep(10 * time.Second)
					see := blind(t, server, effect)
					require.NoError(t, server.Create(configMap("a")))
					disturb(t, server, time.Hour, 30*time.Second)
					assert.EqualValues(t, 1, called.Load(), "the cache lacks the write")
					var overdue informer.Health
					for _, h := range c.Health() {
						if h.OverdueWrites > 0 {
							overdue = h
						}
					}
					assert.Equal(t, "secrets", overdue.Name)
					assert.Equal(t, 1, overdue.OverdueWrites)
					assert.EqualValues(t, 1, overdue.OverdueTotal)
					see()
					time.Sleep(5 * time.Minute)
					assert.Greater(t, called.Load(), int32(1))
					assert.Equal(t, 1, server.Count("create", "secrets"))
					for _, h := range c.Health() {
						assert.Zero(t, h.OverdueWrites)
					}
					require.NoError(t, stop())
					assert.Contains(t, log.String(), "a write is missing from the cache for more than a minute")
				})
			})
		}
	}
}

// A watch that is silent, and alive for all that anybody can see, has to prove itself after a minute.
// Promise informer/controller/2
func TestASilentWatchProvesItselfByAList(t *testing.T) {
	inWorld(t, func(t *testing.T, server *informertest.Server) {
		require.NoError(t, server.Create(configMap("a")))
		server.Inject(informertest.Fault{Verb: "watch", Resource: "secrets", Times: 1, Effect: informertest.StallWatch(1)})
		c := controller.New(options(t, server))
		maps := controller.For[*corev1.ConfigMap](c, configMaps)
		owned := controller.Owns[*corev1.Secret](c, secrets)
		var called, stale atomic.Int32
		run(t, c, func(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
			m, err := maps.Get(key)
			if err != nil || len(owned.Owned(m)) > 0 {
				return workqueue.Result{}, err
			}
			if called.Add(1) > 1 {
				stale.Add(1)
			}
			_, err = owned.Create(ctx, secretOf(m))
			return workqueue.Result{}, err
		})
		before := server.Count("list", "secrets") + server.Count("watch", "secrets")
		disturb(t, server, 58*time.Second, 2*time.Second)
		assert.EqualValues(t, 1, called.Load())
		assert.LessOrEqual(t, server.Count("list", "secrets")+server.Count("watch", "secrets"), before+2)
		disturb(t, server, 10*time.Second, 2*time.Second)
		assert.Zero(t, stale.Load())
		m, err := maps.Get(key("a"))
		require.NoError(t, err)
		assert.Len(t, owned.Owned(m), 1, "the list has it")
	})
}

// Promise informer/controller/2
func TestAWriteThatTheCacheCannotShowIsNotWaitedForWithoutEnd(t *testing.T) {
	selected := controller.ResourceOptions[*corev1.Secret]{Informer: informer.ForOptions[*corev1.Secret]{LabelSelector: "watched=yes"}}
	refusing := controller.ResourceOptions[*corev1.Secret]{Informer: informer.ForOptions[*corev1.Secret]{
		Transform: func(s *corev1.Secret) (*corev1.Secret, error) { return nil, errors.New("not this one") },
	}}
	for name, tc := range map[string]struct {
		opts      controller.ResourceOptions[*corev1.Secret]
		namespace string
		stall     int                   // after how many events the first watch is silent; 0: never
		blind     []informertest.Effect // once the cache has the first list
		update    bool                  // the write is an update of what the cache has
	}{
		"it does not match the selectors":             {opts: selected},
		"nor, and the watch is silent":                {opts: selected, stall: 1},
		"it does not match any more":                  {opts: selected, update: true},
		"nor, and the watch of that is silent":        {opts: selected, update: true, stall: 2},
		"a Transform refuses it":                      {opts: refusing},
		"a Transform refuses it, and the watch stops": {opts: refusing, stall: 1},
		"it is in another namespace":                  {namespace: "other"},
		"the role is gone":                            {blind: []informertest.Effect{informertest.Refuse(apierrors.NewForbidden(secrets.GroupResource(), "", errors.New("no role")))}},
		"the resource is gone":                        {blind: []informertest.Effect{informertest.Respond(404, "text/plain", "404 page not found")}},
		"a login page":                                {blind: []informertest.Effect{informertest.Respond(200, "text/html", "<html>log in</html>")}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, server *informertest.Server) {
				if tc.stall > 0 {
					server.Inject(informertest.Fault{Verb: "watch", Resource: "secrets", Times: 1, Effect: informertest.StallWatch(tc.stall)})
				}
				opts := options(t, server)
				opts.Informers.Namespaces = []string{"default"}
				c := controller.New(opts)
				maps := controller.For[*corev1.ConfigMap](c, configMaps)
				owned := controller.Owns(c, secrets, tc.opts)
				var called atomic.Int32
				run(t, c, func(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
					m, err := maps.Get(key)
					if err != nil {
						return workqueue.Result{}, err
					}
					if tc.update && called.Load() == 0 && len(owned.Owned(m)) == 0 {
						return workqueue.Result{}, nil
					}
					if called.Add(1) > 1 {
						return workqueue.Result{}, nil
					}
					secret := secretOf(m)
					if tc.update {
						have := owned.Owned(m)[0].DeepCopy()
						have.Labels = nil
						_, err = owned.Update(ctx, have)
						return workqueue.Result{}, err
					}
					if tc.namespace != "" {
						secret.Namespace, secret.OwnerReferences = tc.namespace, nil
					}
					_, err = owned.Create(ctx, secret)
					return workqueue.Result{}, err
				})
				time.Sleep(10 * time.Second)
				for _, effect := range tc.blind {
					blind(t, server, effect)
				}
				m := configMap("a")
				require.NoError(t, server.Create(m))
				if tc.update {
					secret := secretOf(m)
					secret.Labels = map[string]string{"watched": "yes"}
					require.NoError(t, server.Create(secret))
				}
				disturb(t, server, 5*time.Minute, 10*time.Second)
				assert.Greater(t, called.Load(), int32(1), "it is called again")
			})
		})
	}
}

// The queue of a term ends with it, and the write that it waited for is still to come.
// Promise informer/controller/2
func TestTheNextTermWaitsForTheWritesOfTheOneBefore(t *testing.T) {
	inWorld(t, func(t *testing.T, server *informertest.Server) {
		opts := options(t, server)
		terms := make(chan context.CancelFunc, 1)
		opts.Leader = func(ctx context.Context, _ *rest.Config, work func(context.Context, controller.Term) error) error {
			for ctx.Err() == nil {
				term, end := context.WithCancel(ctx)
				terms <- end
				if err := work(term, termOf{term}); err != nil {
					end()
					return err
				}
				end()
			}
			return nil
		}
		c := controller.New(opts)
		maps := controller.For[*corev1.ConfigMap](c, configMaps)
		owned := controller.Owns[*corev1.Secret](c, secrets)
		var called atomic.Int32
		stop := run(t, c, func(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
			m, err := maps.Get(key)
			if err != nil {
				return workqueue.Result{}, err
			}
			called.Add(1)
			if len(owned.Owned(m)) > 0 {
				return workqueue.Result{}, nil
			}
			secret := secretOf(m)
			secret.Name, secret.GenerateName = "", "x-"
			_, err = owned.Create(ctx, secret)
			return workqueue.Result{}, err
		})
		time.Sleep(10 * time.Second)
		see := blind(t, server, informertest.Drop())
		require.NoError(t, server.Create(configMap("a")))
		time.Sleep(time.Second)
		require.EqualValues(t, 1, called.Load())
		(<-terms)()
		disturb(t, server, 10*time.Minute, 10*time.Second)
		assert.EqualValues(t, 1, called.Load(), "in the second term")
		see()
		time.Sleep(5 * time.Minute)
		assert.Greater(t, called.Load(), int32(1))
		assert.Equal(t, 1, server.Count("create", "secrets"))
		(<-terms)()
		<-terms
		require.NoError(t, stop())
	})
}

type termOf struct{ ctx context.Context }

func (t termOf) Context() context.Context { return t.ctx }
func (t termOf) Held() bool               { return t.ctx.Err() == nil }

// A panic is a failure of its key: logged, counted, retried; the other keys are processed.
// Promise informer/controller/3
func TestAPanicIsAFailureOfItsKey(t *testing.T) {
	inWorld(t, func(t *testing.T, server *informertest.Server) {
		for _, name := range []string{"a", "b"} {
			require.NoError(t, server.Create(configMap(name)))
		}
		var log bytes.Buffer
		opts := options(t, server)
		opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c := controller.New(opts)
		controller.For[*corev1.ConfigMap](c, configMaps)
		var got calls
		var panics atomic.Int32
		stop := run(t, c, func(_ context.Context, key types.NamespacedName) (workqueue.Result, error) {
			if got.note(key); key.Name == "a" && panics.Add(1) <= 3 {
				panic("out of range")
			}
			return workqueue.Result{}, nil
		})
		assert.Equal(t, []string{"a", "a", "a", "a", "b"}, got.take())
		assert.EqualValues(t, 3, c.Stats().Panics)
		assert.EqualValues(t, 3, c.Stats().Retried)
		require.NoError(t, stop())
		assert.Contains(t, log.String(), "out of range")
		assert.Contains(t, log.String(), "TestAPanicIsAFailureOfItsKey", "the stack")
	})
}

// With CrashOnPanic a panic of the function ends the process. Promise informer/controller/3
func TestAPanicEndsTheProgramIfItIsAskedTo(t *testing.T) {
	t.Parallel()
	const variable = "CONTROLLER_TEST_PANIC"
	if os.Getenv(variable) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), variable+"=1")
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit, string(out))
		assert.Contains(t, string(out), "panic: boom from a reconcile")
		assert.Contains(t, string(out), "unseen_test.go", "the stack is that of the panic")
		assert.NotContains(t, string(out), "the program goes on")
		return
	}
	server, err := informertest.NewServer(informertest.Options{InMemory: true})
	require.NoError(t, err)
	require.NoError(t, server.Create(configMap("a")))
	opts := options(t, server)
	opts.CrashOnPanic = true
	c := controller.New(opts)
	controller.For[*corev1.ConfigMap](c, configMaps)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	err = c.Run(ctx, func(context.Context, types.NamespacedName) (workqueue.Result, error) { panic("boom from a reconcile") })
	t.Fatalf("the program goes on: %v, %d panics", err, c.Stats().Panics)
}

// In a test with informertest a recovered panic fails the test, unless the test has asked for it.
func TestARecoveredPanicFailsATestThatDoesNotExpectIt(t *testing.T) {
	for _, expected := range []bool{false, true} {
		tb := &testTB{}
		server := informertest.Start(tb, informertest.Options{InMemory: true})
		require.NoError(t, server.Create(configMap("a")))
		opts := options(t, server)
		opts.Config.Wrap(func(next http.RoundTripper) http.RoundTripper { return next })
		opts.Logger = slog.New(slog.DiscardHandler)
		c := controller.New(opts)
		controller.For[*corev1.ConfigMap](c, configMaps)
		panicked := make(chan struct{})
		var once sync.Once
		stop := run(t, c, func(context.Context, types.NamespacedName) (_ workqueue.Result, err error) {
			once.Do(func() {
				defer close(panicked)
				panic("out of range")
			})
			return workqueue.Result{}, nil
		})
		<-panicked
		require.NoError(t, stop())
		if expected {
			require.Len(t, server.Panics(), 1)
		}
		tb.cleanup()
		if expected {
			assert.Empty(t, tb.failed)
		} else {
			assert.Contains(t, tb.failed, "out of range")
		}
	}
}

type testTB struct {
	cleanup func()
	failed  string
}

func (*testTB) Helper()                              {}
func (tb *testTB) Fatalf(format string, args ...any) { tb.failed = fmt.Sprintf(format, args...) }
func (tb *testTB) Cleanup(f func())                  { tb.cleanup = f }

// A cache that is polled has a write half a minute later.
// Promise informer/controller/2
func TestAKeyWaitsForItsWritesInAPolledCache(t *testing.T) {
	inWorld(t, func(t *testing.T, server *informertest.Server) {
		server.Inject(informertest.Fault{Verb: "watch", Resource: "secrets", Times: -1, Effect: informertest.Respond(405, "application/json",
			`{"kind":"Status","status":"Failure","reason":"MethodNotAllowed","code":405}`)})
		require.NoError(t, server.Create(configMap("a")))
		c := controller.New(options(t, server))
		maps := controller.For[*corev1.ConfigMap](c, configMaps)
		owned := controller.Owns[*corev1.Secret](c, secrets)
		var called atomic.Int32
		run(t, c, func(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
			m, err := maps.Get(key)
			if err != nil {
				return workqueue.Result{}, err
			}
			switch called.Add(1) {
			case 1:
				_, err = owned.Create(ctx, secretOf(m))
			case 2:
				if assert.Len(t, owned.Owned(m), 1, "the cache has the secret") {
					err = owned.Delete(ctx, key, metav1.DeleteOptions{})
				}
			default:
				assert.Empty(t, owned.Owned(m), "the cache has the deletion")
			}
			return workqueue.Result{}, err
		})
		disturb(t, server, 3*time.Minute, time.Second)
		assert.Greater(t, called.Load(), int32(2))
		assert.NoError(t, c.Ready())
	})
}
