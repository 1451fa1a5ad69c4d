package inspect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/inspect"
	"github.com/informerkit/informerkit/informer/sharding"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
	"github.com/informerkit/informerkit/workqueue/history"
)

// explained is what these tests read of the JSON for one key.
type explained struct {
	Key     string
	Answer  struct{ Severity, Kind, Sentence, Detail, Remedy string }
	WhyNot  []string
	Objects []struct {
		Informer, UID, ResourceVersion string
		Found                          bool
		Labels                         []string
		Body                           json.RawMessage
	}
	Queues []struct {
		Queue                          string
		Lookup, Found, Queued, Running bool
		Failure                        *struct{ Message string }
	}
	History struct {
		Recorded, Overwritten bool
		Kept, LeftOut         int
		Entries               []struct{ What, Sentence, Error, Function, Object string }
	}
}

// explain asks for one key, in all three forms.
func explain(t *testing.T, h http.Handler, text string) (e explained) {
	t.Helper()
	for _, format := range []string{"html", "text", "json"} {
		w := ask(h, http.MethodGet, "/explain?format="+format+"&key="+url.QueryEscape(text), nil)
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		if format == "json" {
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &e))
		}
	}
	return e
}

// sentences are those of the history.
func (e *explained) sentences() (all []string) {
	for _, entry := range e.History.Entries {
		all = append(all, entry.Sentence)
	}
	return all
}

// recorded is a controller with a history: an informer of ConfigMaps and a queue.
type recorded struct {
	server   *informertest.Server
	recorder *history.Recorder
	inf      *informer.Informer[*corev1.ConfigMap]
	queue    *workqueue.RateLimitingQueue[key]
	page     *inspect.Handler
}

// newRecorded makes one whose clock stands at 10:02:03. It does not run yet.
func newRecorded(t *testing.T, opts reflector.ResourceOptions) *recorded {
	t.Helper()
	time.Sleep(10*time.Hour + 2*time.Minute + 3*time.Second)
	c := &recorded{server: informertest.Start(t, informertest.Options{InMemory: true}), recorder: history.New(history.Options{})}
	source, err := reflector.NewResource[*corev1.ConfigMap](c.server.Config(), configMaps, opts)
	require.NoError(t, err)
	c.inf, err = informer.New(source, informer.Options[*corev1.ConfigMap]{Name: "maps", History: c.recorder})
	require.NoError(t, err)
	c.queue = workqueue.NewRateLimiting(workqueue.Exponential[key](workqueue.ExponentialOptions{Base: 5 * time.Second, Max: time.Hour}),
		workqueue.Options[key]{Name: "work", Observe: history.Queue[key](c.recorder, "work")})
	c.page, err = inspect.New(inspect.Options{History: c.recorder, Show: []inspect.Source{inspect.Informer(c.inf), inspect.Queue(c.queue)}})
	require.NoError(t, err)
	return c
}

// handle adds a handler.
func (c *recorded) handle(t *testing.T, name string, h informer.Handler[*corev1.ConfigMap]) {
	t.Helper()
	_, err := c.inf.AddHandler(h, informer.HandlerOptions{Name: name, OnPanic: func(informer.HandlerPanic) {}})
	require.NoError(t, err)
}

// run runs the informer until the test ends.
func (c *recorded) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { assert.NoError(t, c.inf.Run(ctx)) }()
	t.Cleanup(func() {
		cancel()
		<-c.inf.Done()
	})
	synctest.Wait()
}

// update changes the object on the server and waits until everything has settled.
func (c *recorded) update(t *testing.T, obj *corev1.ConfigMap) {
	t.Helper()
	require.NoError(t, c.server.Update(obj))
	synctest.Wait()
}

func TestKeyIsExplainedFromTheChangeToTheNextTry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newRecorded(t, reflector.ResourceOptions{})
		require.NoError(t, c.server.Create(configMap("web", "old")))
		c.handle(t, "enqueue", informer.EnqueueKey[*corev1.ConfigMap](c.queue))
		c.run(t)
		item, ok := c.queue.Get(t.Context())
		require.True(t, ok)
		c.queue.Done(item)
		c.update(t, configMap("web", "new"))
		c.update(t, configMap("web", "newer"))
		time.Sleep(12 * time.Millisecond)

		e := explain(t, c.page, "default/web")
		assert.Equal(t, "default/web waits for a worker of queue work for 12ms, in class 0 with 1 item queued.", e.Answer.Sentence)

		stop, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = workqueue.ProcessWith(stop, c.queue, workqueue.ProcessOptions[key]{}, func(context.Context, key) (workqueue.Result, error) {
				return workqueue.Result{}, errors.New("no quota")
			})
		}()
		time.Sleep(1800 * time.Millisecond)
		e = explain(t, c.page, "default/web")
		assert.Equal(t, "default/web failed in queue work 1.8s ago; next try in 3.2s.", e.Answer.Sentence)
		assert.Equal(t, "no quota", e.Answer.Detail)
		assert.Equal(t, "no quota", e.Queues[0].Failure.Message)
		assert.True(t, e.Objects[0].Found)
		assert.NotEmpty(t, e.Objects[0].UID)
		assert.Empty(t, e.Objects[0].Body, "not without ShowObjects")
		var what []string
		for _, entry := range e.History.Entries {
			what = append(what, entry.What)
		}
		assert.Equal(t, []string{
			"Delivered", "Added", "HandedOut", "Done", "Received", "Delivered", "Added", "Received", "Delivered", "Collapsed",
			"HandedOut", "Failed", "Retried",
		}, what)
		assert.Regexp(t, `^Handler enqueue of informer maps was called: ConfigMap default/web exists \(version \d+, found by the first list\)\.$`, e.sentences()[0])
		cancel()
		<-done
	})
}

func TestKeyOfAnOwnerSaysWhichObjectAddedIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newRecorded(t, reflector.ResourceOptions{})
		owned, yes := configMap("web-1", ""), true
		owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "1", Controller: &yes}}
		require.NoError(t, c.server.Create(owned))
		c.handle(t, "enqueue-owner", informer.EnqueueOwner[*corev1.ConfigMap](c.queue, informer.Owner{Kind: schema.GroupVersionKind{Group: "apps", Kind: "Deployment"}}))
		c.handle(t, "mapped", informer.Handlers(informer.EnqueueMapped[*corev1.ConfigMap](c.queue, func(*corev1.ConfigMap) []key {
			return []key{{Namespace: "default", Name: "web"}}
		})))
		c.run(t)
		e := explain(t, c.page, "default/web")
		assert.Contains(t, e.sentences()[0], "because ConfigMap default/web-1 exists (version")
		require.Len(t, e.History.Entries, 2)
		assert.Equal(t, "default/web-1", e.History.Entries[0].Object)
		assert.Contains(t, e.sentences()[0]+e.sentences()[1], "by handler enqueue-owner because ConfigMap default/web-1")
		assert.Contains(t, e.sentences()[0]+e.sentences()[1], "by handler mapped because ConfigMap default/web-1")
		// The object itself was in no queue, and its history says what the handlers did.
		e = explain(t, c.page, "default/web-1")
		assert.Contains(t, e.Answer.Sentence, "default/web-1 is in no queue. Handler")
		assert.Contains(t, e.Answer.Sentence, "it may have added another key, such as that of an owner")
	})
}

func isReady(informer.Event[*corev1.ConfigMap]) bool { return false }

func isRelabelled(informer.Event[*corev1.ConfigMap]) bool { return false }

func hasName(*corev1.ConfigMap) bool { return false }

// Promise inspect/9
func TestPromise9WhyNotNamesThePredicate(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(next informer.Handler[*corev1.ConfigMap]) informer.Handler[*corev1.ConfigMap]{
		"GenerationChanged": func(next informer.Handler[*corev1.ConfigMap]) informer.Handler[*corev1.ConfigMap] {
			return informer.When(informer.GenerationChanged[*corev1.ConfigMap](), next)
		},
		"Or": func(next informer.Handler[*corev1.ConfigMap]) informer.Handler[*corev1.ConfigMap] {
			return informer.When(informer.Or(informer.GenerationChanged[*corev1.ConfigMap](), isReady), next)
		},
		"inspect_test.isReady": func(next informer.Handler[*corev1.ConfigMap]) informer.Handler[*corev1.ConfigMap] {
			return informer.When(isReady, next)
		},
		"inspect_test.hasName": func(next informer.Handler[*corev1.ConfigMap]) informer.Handler[*corev1.ConfigMap] {
			return informer.FilterHandler(hasName, next)
		},
		"inspect_test.isRelabelled": func(next informer.Handler[*corev1.ConfigMap]) informer.Handler[*corev1.ConfigMap] {
			return informer.Handlers(informer.WhenElse(informer.InitialOrResync[*corev1.ConfigMap](), next, informer.When(isRelabelled, next)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newRecorded(t, reflector.ResourceOptions{})
				require.NoError(t, c.server.Create(configMap("web", "old")))
				c.handle(t, "enqueue", of(informer.EnqueueKey[*corev1.ConfigMap](c.queue)))
				c.run(t)
				for c.queue.Len() > 0 {
					item, _ := c.queue.Get(t.Context())
					c.queue.Done(item)
				}
				time.Sleep(time.Second)
				c.update(t, configMap("web", "new"))
				e := explain(t, c.page, "default/web")
				assert.Regexp(t, `^default/web is in no queue\. Handler enqueue of informer maps did not add it: predicate `+name+` dropped the update version \d+ → \d+\.$`, e.Answer.Sentence)
				last := e.History.Entries[len(e.History.Entries)-1]
				assert.Equal(t, name, last.Function)
				assert.Regexp(t, `^Predicate `+name+` dropped the update`, last.Sentence)
			})
		})
	}
}

// Promise inspect/9
func TestPromise9WhyNotNamesTheNamespaceThatIsNotWatched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := informertest.Start(t, informertest.Options{InMemory: true})
		source, err := reflector.NewResource[*corev1.ConfigMap](server.Config(), configMaps, reflector.ResourceOptions{Namespace: "prod"})
		require.NoError(t, err)
		inf, err := informer.NewNamespaced(map[string]reflector.ListerWatcher[*corev1.ConfigMap]{"prod": source}, informer.Options[*corev1.ConfigMap]{Name: "maps"})
		require.NoError(t, err)
		e := explain(t, newHandler(t, inspect.Informer(inf)), "default/web")
		assert.Equal(t, "default/web is in no queue. Namespace default is not watched by informer maps, which reads prod.", e.Answer.Sentence)
		assert.Contains(t, e.WhyNot[len(e.WhyNot)-1], "the program records no history")
	})
}

// Promise inspect/9
func TestPromise9WhyNotNamesTheSelector(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newRecorded(t, reflector.ResourceOptions{LabelSelector: "app=web"})
		require.NoError(t, c.server.Create(configMap("web", "")))
		c.handle(t, "enqueue", informer.EnqueueKey[*corev1.ConfigMap](c.queue))
		c.run(t)
		e := explain(t, c.page, "default/web")
		assert.Equal(t, "default/web is in no queue. Informer maps does not have it, and reads only what the selector labels app=web matches: whether the object matches is not known here.", e.Answer.Sentence)
		assert.Contains(t, e.WhyNot[1], "Nothing has happened to this key since the recorder was made")
	})
}

func TestWhyNotSaysThatAnotherReplicaMayHaveTheObject(t *testing.T) {
	t.Parallel()
	inf := stubInformer{Name: "maps", Synced: true, Sources: []informer.SourceHealth{{FilteredBy: informer.FilteredByServer, Reflector: reflector.Health{Synced: true}}}}
	e := explain(t, newHandler(t, inspect.Informer(inf)), "default/web")
	assert.Equal(t, "Informer maps does not have it, and reads only some ranges of hashes: if the object exists, another replica may have it.", e.WhyNot[0])
}

func TestWhyNotSaysSoBeforeItIsKnownWhoFilters(t *testing.T) {
	t.Parallel()
	inf := stubInformer{
		Name: "maps", Synced: true, Parts: []informer.PartHealth{{Name: sharding.SplitHashes(2)[0].String(), Synced: true}},
		Sources: []informer.SourceHealth{{Reflector: reflector.Health{Synced: true}}},
	}
	e := explain(t, newHandler(t, inspect.Informer(inf)), "default/web")
	assert.Equal(t, "Informer maps does not have it, and reads only some ranges of hashes: if the object exists, another replica may have it.", e.WhyNot[0])
}

func TestWhyNotNamesTheQuarantine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := informertest.Start(t, informertest.Options{InMemory: true})
		require.NoError(t, server.Create(configMap("web", "hunter2")))
		require.NoError(t, server.Create(configMap("good", "")))
		inf := newInformer(t, server, informer.Options[*corev1.ConfigMap]{Name: "maps", Transform: func(c *corev1.ConfigMap) (*corev1.ConfigMap, error) {
			if c.Name == "web" {
				return nil, fmt.Errorf("cannot transform %v", c.Data)
			}
			return c, nil
		}})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { assert.NoError(t, inf.Run(ctx)) }()
		synctest.Wait()
		h := newHandler(t, inspect.Informer(inf))
		const says = "Informer maps cannot read the object (transform): it is in quarantine, and handlers do not see what changes in it."
		e := explain(t, h, "default/web")
		assert.Equal(t, says, e.WhyNot[0])
		assert.Equal(t, "default/web is in no queue. "+says, e.Answer.Sentence)
		for _, other := range []string{"default/good", "other/web", "web"} {
			assert.NotContains(t, strings.Join(explain(t, h, other).WhyNot, " "), "quarantine", other)
		}
		cancel()
		<-inf.Done()
		server.Close()
	})
}

// Promise inspect/9
func TestPromise9WhyNotSaysWhatKeepsAnInformerFromSyncing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newRecorded(t, reflector.ResourceOptions{})
		e := explain(t, c.page, "default/web")
		assert.Equal(t, "default/web is in no queue. Informer maps is not synced: its reflector is New.", e.Answer.Sentence)
		require.NoError(t, c.server.Pause())
		c.run(t)
		e = explain(t, c.page, "default/web")
		assert.Regexp(t, `^default/web is in no queue\. Informer maps is not synced: .*cannot .*`, e.Answer.Sentence)
		assert.NotEmpty(t, e.Answer.Remedy)
		require.NoError(t, c.server.Resume())
	})
}

func TestWhyNotSaysThatAnInformerHasStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newRecorded(t, reflector.ResourceOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { assert.NoError(t, c.inf.Run(ctx)) }()
		synctest.Wait()
		cancel()
		<-c.inf.Done()
		c.queue.ShutDown()
		e := explain(t, c.page, "default/web")
		assert.Contains(t, e.WhyNot, "Informer maps has stopped: its cache does not change any more.")
		assert.Contains(t, e.WhyNot, "Queue work is shut down: it takes no more items.")
	})
}

// Promise inspect/9
func TestPromise9WhyNotNamesTheHandlerThatIsBehindOrPanicked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newRecorded(t, reflector.ResourceOptions{})
		goOn := make(chan struct{})
		c.handle(t, "slow", informer.HandlerFunc[*corev1.ConfigMap](func(e informer.Event[*corev1.ConfigMap]) {
			if e.Key.Name == "other" {
				<-goOn
			}
		}))
		c.handle(t, "broken", informer.HandlerFunc[*corev1.ConfigMap](func(informer.Event[*corev1.ConfigMap]) { panic("oh") }))
		c.run(t)
		require.NoError(t, c.server.Create(configMap("other", "")))
		synctest.Wait()
		require.NoError(t, c.server.Create(configMap("web", "")))
		synctest.Wait()
		e := explain(t, c.page, "default/web")
		assert.Regexp(t, `^default/web is in no queue\. Handler broken of informer maps panicked when it was called with the addition version \d+\.$`, e.Answer.Sentence)
		assert.Regexp(t, `^Handler slow of informer maps has not been called with the last change yet \(version \d+\): 2 events wait for it\.$`, e.WhyNot[1])
		close(goOn)
		synctest.Wait()
	})
}

// Promise inspect/9
func TestPromise9WhyNotSaysThatTheHistoryMayBeOverwritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		recorder := history.New(history.Options{Entries: 16}) // one in each ring
		queue := workqueue.New(workqueue.Options[int]{Name: "work", Observe: history.Queue[int](recorder, "work")})
		h, err := inspect.New(inspect.Options{History: recorder, Show: []inspect.Source{inspect.Queue(queue)}})
		require.NoError(t, err)
		for i := range 1000 {
			queue.Add(i)
		}
		for range 1000 {
			item, _ := queue.Get(t.Context())
			queue.Done(item)
		}
		time.Sleep(3 * time.Minute)
		e := explain(t, h, "1000")
		assert.Equal(t, "1000 is in no queue. The history of this key may have been overwritten: the recorder keeps 16 entries, and of those beside this key the oldest is 3m old.", e.Answer.Sentence)
		assert.True(t, e.History.Overwritten)
	})
}

// Promise inspect/9
func TestPromise9WhyNotSaysThatAQueueCannotBeAsked(t *testing.T) {
	t.Parallel()
	queue := workqueue.New(workqueue.Options[any]{Name: "odd"})
	e := explain(t, newHandler(t, inspect.Queue(queue)), "default/web")
	assert.False(t, e.Queues[0].Lookup)
	assert.Equal(t, "odd", e.Queues[0].Queue)
	assert.Equal(t, "Whether queue odd has it is not known: its items cannot be looked up by a text.", e.WhyNot[0])
}

// A controller reads several kinds: that a key is one of the kind that it reconciles, and has no namesake
// among the others, keeps nothing from being processed.
func TestWhyNotIsSilentAboutOtherKinds(t *testing.T) {
	t.Parallel()
	of := func(name string, object informer.Object) inspect.Source {
		return inspect.Informer(stubCache{stubInformer{Name: name, Synced: true, Sources: []informer.SourceHealth{{Reflector: reflector.Health{Synced: true}}}}, object})
	}
	h := newHandler(t, of("teams", configMap("red", "")), of("quotas", nil))
	assert.NotContains(t, strings.Join(explain(t, h, "default/red").WhyNot, " "), "has no object of this name")
	why := strings.Join(explain(t, h, "default/rde").WhyNot, " ")
	assert.Contains(t, why, "Informer teams has no object of this name.")
	assert.Contains(t, why, "Informer quotas has no object of this name.")
}

// Logs print the key of an object that is in no namespace as /red.
func TestAKeyWithoutANamespaceMayBeginWithASlash(t *testing.T) {
	t.Parallel()
	red := configMap("red", "")
	red.Namespace = ""
	h := newHandler(t, inspect.Informer(stubCache{stubInformer{Name: "teams", Synced: true}, red}))
	for _, text := range []string{"red", "/red", " /red "} {
		e := explain(t, h, text)
		assert.Equal(t, "red", e.Key)
		assert.True(t, e.Objects[0].Found, text)
	}
	odd := configMap("/odd", "")
	odd.Namespace = ""
	h = newHandler(t, inspect.Informer(stubCache{stubInformer{Name: "odd", Synced: true}, odd}))
	assert.Equal(t, "/odd", explain(t, h, "/odd").Key, "a key that begins with a slash is found")
	assert.Equal(t, "/", explain(t, h, "/").Key)
}
