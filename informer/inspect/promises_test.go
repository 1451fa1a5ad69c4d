package inspect_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/health"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/inspect"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
	"github.com/informerkit/informerkit/workqueue/history"
)

// The numbered promises of the package documentation, one test for each.

// Promise inspect/1
func TestPromise1AnswerIsOfTheMomentOfTheRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := informertest.Start(t, informertest.Options{InMemory: true})
		require.NoError(t, server.Create(configMap("a", "")))
		fac, err := informer.NewFactory(server.Config(), informer.FactoryOptions{})
		require.NoError(t, err)
		h := newHandler(t, inspect.Factory(fac))
		assert.Empty(t, jsonOf(t, h).Informers)

		shared, err := informer.For(fac, informer.ForOptions[*corev1.ConfigMap]{Resource: configMaps})
		require.NoError(t, err)
		require.Equal(t, []string{"configmaps"}, jsonOf(t, h).informers())
		assert.False(t, jsonOf(t, h).Informers[0].Synced)
		fac.Start(t.Context())
		require.NoError(t, fac.WaitForSync(t.Context()))
		got := jsonOf(t, h).Informers[0]
		assert.True(t, got.Synced)
		assert.Equal(t, 1, got.Objects)

		byHand := newInformer(t, server, informer.Options[*corev1.ConfigMap]{Name: "by hand"})
		queue := workqueue.New(workqueue.Options[key]{Name: "q"})
		remove, err := h.Add(inspect.Informer(byHand), inspect.Queue(queue))
		require.NoError(t, err)
		assert.Equal(t, []string{"by hand", "configmaps"}, jsonOf(t, h).informers())
		assert.Equal(t, []string{"q"}, jsonOf(t, h).queues())
		again, err := h.Add(inspect.Queue(queue))
		require.NoError(t, err)
		remove()
		remove()
		assert.Equal(t, []string{"configmaps"}, jsonOf(t, h).informers())
		assert.Equal(t, []string{"q"}, jsonOf(t, h).queues(), "what was added twice is removed once")
		again()

		shared.Release()
		assert.Empty(t, jsonOf(t, h).Informers)
		assert.Empty(t, jsonOf(t, h).Queues)
		require.NoError(t, fac.Shutdown(t.Context()))
		server.Close()
	})
}

// Informers, handlers and sources come and go while others look.
// Promise inspect/1
func TestPromise1HoldsForManyAtOnce(t *testing.T) {
	t.Parallel()
	server := informertest.Start(t, informertest.Options{})
	fac, err := informer.NewFactory(server.Config(), informer.FactoryOptions{})
	require.NoError(t, err)
	fac.Start(t.Context())
	queue := workqueue.NewRateLimiting(nil, workqueue.Options[key]{Name: "q", MaxWait: []time.Duration{0, time.Minute}})
	h := newHandler(t, inspect.Factory(fac), inspect.Queue(queue))
	var all sync.WaitGroup
	for n := range 3 {
		all.Go(func() {
			for range 10 {
				inf, err := informer.For(fac, informer.ForOptions[*corev1.ConfigMap]{Resource: configMaps, Variant: fmt.Sprint(n)})
				if !assert.NoError(t, err) {
					return
				}
				r, err := inf.AddHandler(informer.EnqueueKey[*corev1.ConfigMap](queue.PriorityClass(1)), informer.HandlerOptions{})
				assert.NoError(t, err)
				remove, err := h.Add(inspect.Informer(inf), inspect.Queue(queue))
				assert.NoError(t, err)
				assert.Contains(t, textOf(t, h), "informer configmaps")
				remove()
				r.Remove()
				inf.Release()
			}
		})
		all.Go(func() {
			for i := range 20 {
				queue.Add(key{Name: fmt.Sprint(n, i)})
				queue.AddAfter(key{Name: fmt.Sprint("later", n, i)}, time.Hour)
				if item, ok := queue.Get(t.Context()); ok {
					queue.AddRateLimited(item)
					defer queue.Done(item)
				}
				assert.NotEmpty(t, jsonOf(t, h).Queues)
			}
		})
	}
	all.Wait()
	require.NoError(t, fac.Shutdown(t.Context()))
}

// stuckWriter takes the first bytes once it is released.
type stuckWriter struct {
	*httptest.ResponseRecorder
	letGo chan struct{}
}

func (w stuckWriter) Write(p []byte) (int, error) {
	<-w.letGo
	return w.ResponseRecorder.Write(p)
}

// Promise inspect/2
func TestPromise2SlowReaderBlocksNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := informertest.Start(t, informertest.Options{InMemory: true})
		fac, err := informer.NewFactory(server.Config(), informer.FactoryOptions{})
		require.NoError(t, err)
		inf, err := informer.For(fac, informer.ForOptions[*corev1.ConfigMap]{Resource: configMaps})
		require.NoError(t, err)
		queue := workqueue.New(workqueue.Options[key]{Name: "q"})
		h := newHandler(t, inspect.Factory(fac), inspect.Queue(queue))
		w := stuckWriter{httptest.NewRecorder(), make(chan struct{})}
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/", nil))
		}()
		synctest.Wait() // it writes

		fac.Start(t.Context())
		require.NoError(t, fac.WaitForSync(t.Context()))
		_, err = inf.AddHandler(informer.EnqueueKey[*corev1.ConfigMap](queue), informer.HandlerOptions{})
		require.NoError(t, err)
		require.NoError(t, server.Create(configMap("a", "")))
		_, ok := queue.Get(t.Context())
		assert.True(t, ok)
		remove, err := h.Add(inspect.Informer(inf))
		require.NoError(t, err)
		remove()
		assert.Contains(t, textOf(t, h), "informer configmaps: synced")
		require.NoError(t, fac.Shutdown(t.Context()))

		close(w.letGo)
		<-answered
		assert.Contains(t, w.Body.String(), "informer configmaps: not synced", "the answer is of the moment of the request")
		server.Close()
	})
}

type withPointer struct {
	Name   string
	Object *corev1.ConfigMap
}

// Promise inspect/3
func TestPromise3WhatIsInObjectsIsNotShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const secret = "hunter2"
		server := informertest.Start(t, informertest.Options{InMemory: true})
		require.NoError(t, server.Create(configMap("good", secret)))
		require.NoError(t, server.Create(configMap("bad", secret)))
		inf := newInformer(t, server, informer.Options[*corev1.ConfigMap]{
			Transform: func(c *corev1.ConfigMap) (*corev1.ConfigMap, error) {
				if c.Name == "bad" {
					return nil, fmt.Errorf("cannot transform %v", c.Data)
				}
				return c, nil
			},
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { assert.NoError(t, inf.Run(ctx)) }()
		synctest.Wait()

		object := configMap("hanging", secret)
		pointers := workqueue.New(workqueue.Options[*corev1.ConfigMap]{Name: "pointers"})
		pointers.Add(object)
		structs := workqueue.New(workqueue.Options[withPointer]{Name: "structs"})
		structs.Add(withPointer{"x", object})
		anything := workqueue.New(workqueue.Options[any]{Name: "anything"})
		anything.Add(object)
		anything.Add([1]*corev1.ConfigMap{object})
		anything.Add(nil)
		anything.Add(key{Namespace: "default", Name: "shown"})
		anything.Add([2]string{"shown", "too"})
		quoting := func(class reflector.ErrorClass) inspect.Source {
			return inspect.Informer(stubInformer{Name: string(class), Sources: []informer.SourceHealth{{Reflector: reflector.Health{
				LastError: errors.New("what is " + secret + "?"), LastErrorClass: class,
			}}}})
		}
		h := newHandler(t, inspect.Informer(inf), inspect.Queue(pointers), inspect.Queue(structs), inspect.Queue(anything),
			inspect.Replica(stubReplica{State: health.ReplicaMember, LastErrorTime: time.Now(), LastError: apierrors.NewInvalid(
				schema.GroupKind{Kind: "ConfigMap"}, "x", field.ErrorList{field.Invalid(field.NewPath("data"), secret, "is wrong")})}),
			quoting(reflector.ClassDecode), quoting(reflector.ClassTransform), quoting("sink"), quoting("other"))

		html, raw := page(t, h), ask(h, http.MethodGet, "/?format=json", nil).Body.String()
		for _, s := range []string{html, textOf(t, h), raw} {
			assert.NotContains(t, s, secret)
			assert.Contains(t, s, "default/bad", "the key of one that cannot be transformed")
			assert.Contains(t, s, "default/shown")
			assert.Contains(t, s, "[shown too]")
			assert.Contains(t, s, "(*v1.ConfigMap)")
			assert.Contains(t, s, "(inspect_test.withPointer)")
			assert.Contains(t, s, "([1]*v1.ConfigMap)")
			assert.NotContains(t, s, "hanging")
		}
		cancel()
		<-inf.Done()
		server.Close()
	})
}

// Promise inspect/4
func TestPromise4LongQueueIsShownInPart(t *testing.T) {
	t.Parallel()
	queue := workqueue.NewDelaying(workqueue.Options[key]{Name: "long"})
	for i := range 3_000 {
		queue.Add(key{Namespace: "default", Name: fmt.Sprint("now-", i)})
		queue.AddAfter(key{Namespace: "default", Name: fmt.Sprint("later-", i)}, time.Hour+time.Duration(i))
	}
	for range 50 {
		_, ok := queue.Get(t.Context())
		require.True(t, ok)
	}
	h := newHandler(t, inspect.Queue(queue))
	q := jsonOf(t, h).Queues[0]
	assert.Len(t, q.QueuedItems.Shown, inspect.DefaultMaxItems)
	assert.Equal(t, "default/now-50", q.QueuedItems.Shown[0].Item)
	assert.Equal(t, 3_000-50-inspect.DefaultMaxItems, q.QueuedItems.LeftOut)
	assert.Equal(t, "default/now-0", q.RunningItems.Shown[0].Item)
	assert.Equal(t, 50-inspect.DefaultMaxItems, q.RunningItems.LeftOut)
	assert.Equal(t, "default/later-0", q.DelayedItems.Shown[0].Item)
	assert.Equal(t, 3_000-inspect.DefaultMaxItems, q.DelayedItems.LeftOut)
	assert.Contains(t, page(t, h), "and 2930 more<")
	assert.Contains(t, textOf(t, h), "and 2,930 more\n")
	assert.Less(t, len(page(t, h)), 40_000)

	var asked int
	few, err := inspect.New(inspect.Options{MaxItems: 3, Show: []inspect.Source{inspect.Queue(stubQueue[key]{limit: &asked})}})
	require.NoError(t, err)
	page(t, few)
	assert.Equal(t, 3, asked, "the queue is not asked for more than is shown")
}

// named shows everything under one name.
func named(t *testing.T, name string) *inspect.Handler {
	now := time.Now()
	id, items := key{Namespace: "x" + name, Name: name}, []workqueue.Item[key]{{Item: key{Namespace: "x" + name, Name: name}, Group: "x" + name}}
	inf := stubInformer{
		Name: name, ResourceVersion: "x" + name, Synced: true,
		Sources: []informer.SourceHealth{{Namespace: "x" + name, Reflector: reflector.Health{
			State: reflector.State("x" + name), LastError: errors.New(name), LastErrorClass: reflector.ErrorClass("x" + name),
			Reconnects:  map[reflector.ErrorClass]int{reflector.ErrorClass(name): 1},
			Quarantine:  []*reflector.ObjectError{{Key: id, Class: reflector.ErrorClass("x" + name)}, {Key: id, Class: reflector.ClassDecode}},
			NextAttempt: now.Add(time.Hour),
		}}},
		Handlers: []informer.HandlerHealth{{Name: name, Panics: 1, LagAge: time.Hour, LastPanicTime: now, LastPanic: &informer.HandlerPanic{Key: id, Value: "x" + name}}},
	}
	queue := stubQueue[key]{Inspection: workqueue.Inspection[key]{
		Name: name, Stats: workqueue.Stats{Queued: 1, Running: 1, Delayed: 1, Parked: 1},
		PriorityClasses: []workqueue.PriorityClassInspection{{Groups: 1}, {QueuedSince: now.Add(-time.Hour)}},
		Queued:          items, Running: items, Delayed: items, Parked: items, Timed: true,
	}}
	recorder := recalling(name,
		history.Failure{Key: history.Key(id), Attempts: 5, Err: errors.New("x" + name), Time: now, Action: workqueue.Retried},
		history.Failure{Key: history.Key{Namespace: "x" + name, Name: name + "2"}, Attempts: 5, Err: errors.New("x" + name), Time: now, Action: workqueue.Dropped},
	)
	inf.Parts = []informer.PartHealth{{Name: "x" + name}}
	inf.Sources[0].FilteredBy = informer.FilteredBy("x" + name)
	replica := stubReplica{
		Name: name, Identity: name, Session: "x" + name, Parts: 1, State: health.ReplicaMember, LastError: errors.New("x" + name), LastErrorTime: now,
		Held: []health.Part{{}}, Replicas: []health.Member{{Session: "x" + name, Held: 1}}, LastRenewal: now.Add(-time.Hour), Deadline: now,
		Leases: informer.Health{Sources: inf.Sources},
	}
	return newHandlerWith(t, recorder, inspect.Informer(inf), inspect.Queue(queue), inspect.Replica(replica))
}

// skeleton is what remains of a page without its texts and the values of attributes.
func skeleton(html string) string {
	html = regexp.MustCompile(`(?s)<(style|script)>.*?</(style|script)>`).ReplaceAllString(html, "")
	html = regexp.MustCompile(`="[^"]*"`).ReplaceAllString(html, "=")
	html = regexp.MustCompile(`>[^<]*`).ReplaceAllString(html, ">\n")
	return html
}

// Promise inspect/5
func TestPromise5NamesStayNames(t *testing.T) {
	t.Parallel()
	plain := named(t, "n")
	for _, name := range []string{
		"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "</pre></body>", "{{.}}", "a\nb\tc\r", "\x1b[2J\x1b]0;x\x07",
		"\u202egnirts", "\xff\xfe", "\x00", "a\u0085b\u009b31m", "\U000e0001", "naïve 名前", `back\slash "quoted"`, "", "' onclick=x '", "</style><b>", "</script><b>",
	} {
		h := named(t, name)
		html, text, raw := page(t, h), textOf(t, h), ask(h, http.MethodGet, "/?format=json", nil).Body.String()
		assert.Equal(t, skeleton(page(t, plain)), skeleton(html), "of %q", name)
		unprintable := func(r rune) bool {
			return r != '\n' && r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u202e'
		}
		for _, answer := range []string{html, text, raw} {
			assert.Equal(t, -1, strings.IndexFunc(answer, unprintable), "%q", answer)
		}
		assert.NotContains(t, html, "\ufffd")
		assert.NotContains(t, text, "\ufffd")
		assert.Equal(t, strings.Count(textOf(t, plain), "\n"), strings.Count(text, "\n"), "no name begins a line: %s", text)

		a := jsonOf(t, h)
		assert.Equal(t, strings.ToValidUTF8(name, "\ufffd"), strings.ReplaceAll(a.Informers[0].Name, "\ufffd\ufffd", "\ufffd"))
		assert.Equal(t, a.Informers[0].Name, a.Queues[0].Name)
	}
}

// Promise inspect/6
func TestPromise6RequestsOnlyRead(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions, "PROPFIND"} {
		w := ask(h, method, "/", nil)
		assert.Equal(t, http.StatusMethodNotAllowed, w.Code, method)
		assert.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
	}
	for query, says := range map[string]string{
		"format=xml":              `unknown format "xml"; use html, text or json`,
		"format=":                 `unknown format ""`,
		"format=json&format=html": "format is given 2 times",
		"Format=json":             `unknown parameter "Format"; there are format, which is html, text or json, and key, such as default/web`,
		"format=json&items=5":     `unknown parameter "items"`,
		"%zz":                     "the query cannot be read",
		"a;b":                     "the query cannot be read",
	} {
		w := ask(h, http.MethodGet, "/?"+query, nil)
		assert.Equal(t, http.StatusBadRequest, w.Code, query)
		assert.Contains(t, w.Body.String(), says)
		assert.Equal(t, "text/plain; charset=utf-8", w.Header().Get("Content-Type"), "the query is quoted, so this must not be HTML")
		assert.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
		assert.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	}
	for query, contentType := range map[string]string{"": "text/plain; charset=utf-8", "?format=text": "text/plain; charset=utf-8", "?format=html": "text/html; charset=utf-8", "?format=json": "application/json"} {
		got, head := ask(h, http.MethodGet, "/"+query, nil), ask(h, http.MethodHead, "/"+query, nil)
		assert.Equal(t, http.StatusOK, got.Code)
		assert.Equal(t, http.StatusOK, head.Code)
		assert.Empty(t, head.Body.String())
		assert.Equal(t, got.Header(), head.Header())
		assert.Equal(t, contentType, got.Header().Get("Content-Type"))
		assert.Equal(t, "no-store", got.Header().Get("Cache-Control"))
		assert.Equal(t, "nosniff", got.Header().Get("X-Content-Type-Options"))
		policy := got.Header().Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'; ", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"} {
			assert.Contains(t, policy, part)
		}
		assert.NotContains(t, policy, "unsafe")
	}
}

// Promise inspect/7
func TestPromise7NothingIsRegisteredAnywhere(t *testing.T) {
	t.Parallel()
	newHandler(t)
	for _, path := range []string{"/", "/debug", "/debug/", "/debug/informers", "/debug/informers/"} {
		_, pattern := http.DefaultServeMux.Handler(httptest.NewRequest(http.MethodGet, path, nil))
		assert.Empty(t, pattern, path)
	}
}

// The policy permits what is in the page, and nothing else could run.
// Promise inspect/6
func TestPromise6PolicyNamesTheStylesheetAndTheScript(t *testing.T) {
	t.Parallel()
	w := ask(newHandler(t), http.MethodGet, "/?format=html", nil)
	for tag, directive := range map[string]string{"style": "style-src", "script": "script-src"} {
		found := regexp.MustCompile(`(?s)<`+tag+`>(.*?)</`+tag+`>`).FindAllStringSubmatch(w.Body.String(), -1)
		require.Len(t, found, 1)
		sum := sha256.Sum256([]byte(found[0][1]))
		assert.Contains(t, w.Header().Get("Content-Security-Policy"), directive+" 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"';")
	}
	for _, outside := range []string{"http://", "https://", "//cdn", " style=", " onclick=", "@import", "url("} {
		assert.NotContains(t, w.Body.String(), outside, "nothing is loaded from elsewhere or inline")
	}
}

// Promise inspect/10
func TestPromise10OnlyKnownHostsAreAnswered(t *testing.T) {
	t.Parallel()
	status := func(h http.Handler, host string) int {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code == http.StatusForbidden {
			assert.Contains(t, w.Body.String(), "inspect.Options.Hosts", "it says what to do")
			assert.Equal(t, "no-store", w.Header().Get("Cache-Control"))
			assert.NotContains(t, w.Body.String(), "Nothing is shown")
		}
		return w.Code
	}
	h := newHandler(t)
	for _, host := range []string{"localhost", "localhost:6060", "LOCALHOST.", "a.localhost:1", "127.0.0.1", "127.1.2.3:6060", "[::1]:6060", "[::1]", "[::ffff:127.0.0.1]:1"} {
		assert.Equal(t, http.StatusOK, status(h, host), host)
	}
	for _, host := range []string{"", "example.com", "example.com:6060", "localhost.example.com", "127.0.0.1.example.com", "10.0.0.1:6060", "[2001:db8::1]", "0.0.0.0"} {
		assert.Equal(t, http.StatusForbidden, status(h, host), host)
	}
	named, err := inspect.New(inspect.Options{Hosts: []string{"debug.example.com", "2001:db8::1"}})
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, status(named, "Debug.example.com:80"))
	assert.Equal(t, http.StatusOK, status(named, "[2001:db8::1]:80"))
	assert.Equal(t, http.StatusOK, status(named, "localhost"))
	assert.Equal(t, http.StatusForbidden, status(named, "example.com"))
	all, err := inspect.New(inspect.Options{Hosts: []string{"*"}})
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, status(all, "example.com"))
	_, err = inspect.New(inspect.Options{Hosts: []string{""}})
	assert.ErrorContains(t, err, "empty name")
}

// Promise inspect/10
func TestPromise10PageThatOthersCanReachSaysSo(t *testing.T) {
	t.Parallel()
	open, err := inspect.New(inspect.Options{Hosts: []string{"*"}})
	require.NoError(t, err)
	says := func(h http.Handler, server, local string) string {
		ctx := context.WithValue(t.Context(), http.ServerContextKey, &http.Server{Addr: server})
		ctx = context.WithValue(ctx, http.LocalAddrContextKey, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(local)))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/", nil).WithContext(ctx))
		return w.Body.String()
	}
	h := newHandler(t)
	const warning = "has no authentication"
	assert.NotContains(t, says(h, "", "127.0.0.1:6060"), warning)
	assert.NotContains(t, says(h, "localhost:6060", "[::1]:6060"), warning)
	assert.Contains(t, says(h, ":6060", "127.0.0.1:6060"), "listens at :6060, on all interfaces, and "+warning)
	assert.Contains(t, says(h, "0.0.0.0:6060", "127.0.0.1:6060"), warning)
	assert.Contains(t, says(h, "[::]:6060", "127.0.0.1:6060"), warning)
	assert.Contains(t, says(h, "", "10.0.0.5:6060"), "listens at 10.0.0.5:6060, and "+warning)
	assert.NotContains(t, says(open, ":6060", "10.0.0.5:6060"), warning, "it is meant")
}

func TestAcceptSelectsTheFormat(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	const html, text, raw = "text/html; charset=utf-8", "text/plain; charset=utf-8", "application/json"
	for accept, want := range map[string]string{
		"":                                   text,
		"*/*":                                text, // curl
		"text/plain":                         text,
		"application/json":                   raw,
		"text/html, application/json":        html,
		"text/plain, application/json;q=0.9": text,
		"Application/Json;q=0.9, text/html":  raw,
		"application/json, */*;q=0.8":        raw,
		"image/png":                          text,
		";;;,application/json;charset=utf-8": raw,
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": html, // a browser
	} {
		w := ask(h, http.MethodGet, "/", http.Header{"Accept": {accept}})
		assert.Equal(t, want, w.Header().Get("Content-Type"), accept)
		assert.Equal(t, "Accept", w.Header().Get("Vary"))
		w = ask(h, http.MethodGet, "/?format=html", http.Header{"Accept": {accept}})
		assert.Equal(t, html, w.Header().Get("Content-Type"), "the query counts for more")
	}
}
