package inspect_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/inspect"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
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
				assert.Contains(t, page(t, h), "informer configmaps")
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
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
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
		assert.Contains(t, page(t, h), "synced after")
		require.NoError(t, fac.Shutdown(t.Context()))

		close(w.letGo)
		<-answered
		assert.Contains(t, w.Body.String(), "NOT SYNCED", "the answer is of the moment of the request")
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
			quoting(reflector.ClassDecode), quoting(reflector.ClassTransform), quoting(reflector.ClassSink), quoting(reflector.ClassOther))

		text, raw := page(t, h), ask(h, http.MethodGet, "/?format=json", nil).Body.String()
		for _, s := range []string{text, raw} {
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
	text := page(t, h)
	assert.Contains(t, text, "and 2930 more\n")
	assert.Less(t, len(text), 10_000)

	var asked int
	few, err := inspect.New(inspect.Options{MaxItems: 3, Show: []inspect.Source{inspect.Queue(stubQueue[key]{limit: &asked})}})
	require.NoError(t, err)
	page(t, few)
	assert.Equal(t, 3, asked, "the queue is not asked for more than is shown")
}

// Promise inspect/5
func TestPromise5NamesStayNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "</pre></body>", "{{.}}", "a\nb\tc\r", "\x1b[2J\x1b]0;x\x07",
		"\u202egnirts", "\xff\xfe", "\x00", "a\u0085b\u009b31m", "\U000e0001", "naïve 名前", `back\slash "quoted"`, "",
	} {
		inf := stubInformer{
			Name: name, ResourceVersion: name,
			Sources: []informer.SourceHealth{{Namespace: name, Reflector: reflector.Health{
				State: reflector.State(name), LastError: errors.New(name), LastErrorClass: reflector.ErrorClass("x" + name),
				Reconnects: map[reflector.ErrorClass]int{reflector.ErrorClass(name): 1},
				Quarantine: []*reflector.ObjectError{{Key: key{Namespace: name, Name: name}, Class: reflector.ErrorClass(name)}},
			}}},
			Handlers: []informer.HandlerHealth{{Name: name}},
		}
		queue := workqueue.New(workqueue.Options[key]{Name: name, Group: func(key) string { return name }})
		queue.Add(key{Namespace: name, Name: name})
		h := newHandler(t, inspect.Informer(inf), inspect.Queue(queue))

		text := page(t, h)
		rest := text
		for _, tag := range []string{"!DOCTYPE html", `html lang="en"`, "head", `meta charset="utf-8"`, "title", "body", "p", `a href="?format=json"`, "h3", "pre"} {
			rest = strings.ReplaceAll(strings.ReplaceAll(rest, "<"+tag+">", ""), "</"+tag+">", "")
		}
		assert.NotContains(t, strings.ReplaceAll(strings.ReplaceAll(rest, "</html>", ""), "</a>", ""), "<", "of %q", name)
		assert.Equal(t, 2, strings.Count(text, "<pre>"))
		unprintable := func(r rune) bool {
			return r != '\n' && r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u202e'
		}
		assert.Equal(t, -1, strings.IndexFunc(text, unprintable), "%q", text)
		assert.NotContains(t, text, "\ufffd")
		raw := ask(h, http.MethodGet, "/?format=json", nil).Body.String()
		assert.Equal(t, -1, strings.IndexFunc(raw, unprintable), "%q", raw)
		clean := newHandler(t, inspect.Informer(stubInformer{
			Name: "n", ResourceVersion: "n", Handlers: []informer.HandlerHealth{{Name: "n"}}, Sources: []informer.SourceHealth{{Namespace: "n", Reflector: reflector.Health{
				LastError: errors.New("n"), Reconnects: map[reflector.ErrorClass]int{"n": 1}, Quarantine: []*reflector.ObjectError{{Key: key{Name: "n"}}},
			}}},
		}), inspect.Queue(stubQueue[key]{Inspection: workqueue.Inspection[key]{
			PriorityClasses: []workqueue.PriorityClassInspection{{Groups: 1}}, Queued: []workqueue.Item[key]{{}}, Stats: workqueue.Stats{Queued: 1},
		}}))
		assert.Equal(t, strings.Count(page(t, clean), "\n"), strings.Count(text, "\n"), "no name begins a line: %s", text)

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
		"format=xml":              `unknown format "xml"; use html or json`,
		"format=":                 `unknown format ""`,
		"format=json&format=html": "format is given 2 times",
		"Format=json":             `unknown parameter "Format"; the only one is format, which is html or json`,
		"format=json&items=5":     `unknown parameter "items"`,
		"%zz":                     "the query cannot be read",
		"a;b":                     "the query cannot be read",
	} {
		w := ask(h, http.MethodGet, "/?"+query, nil)
		assert.Equal(t, http.StatusBadRequest, w.Code, query)
		assert.Contains(t, w.Body.String(), says)
		assert.Equal(t, "text/plain; charset=utf-8", w.Header().Get("Content-Type"), "the query is quoted, so this must not be HTML")
		assert.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
	}
	for query, contentType := range map[string]string{"": "text/html; charset=utf-8", "?format=html": "text/html; charset=utf-8", "?format=json": "application/json"} {
		got, head := ask(h, http.MethodGet, "/"+query, nil), ask(h, http.MethodHead, "/"+query, nil)
		assert.Equal(t, http.StatusOK, got.Code)
		assert.Equal(t, http.StatusOK, head.Code)
		assert.Empty(t, head.Body.String())
		assert.Equal(t, got.Header(), head.Header())
		assert.Equal(t, contentType, got.Header().Get("Content-Type"))
		assert.Equal(t, "no-store", got.Header().Get("Cache-Control"))
		assert.Equal(t, "nosniff", got.Header().Get("X-Content-Type-Options"))
		assert.Contains(t, got.Header().Get("Content-Security-Policy"), "default-src 'none'")
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

func TestAcceptChoosesTheFormat(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	for accept, wantJSON := range map[string]bool{
		"":                                   false,
		"*/*":                                false,
		"application/json":                   true,
		"application/json, text/html":        false,
		"application/json, */*;q=0.8":        true,
		"text/html;q=0.9,Application/Json":   true,
		"application/json;q=0.5,text/html":   false,
		"application/json;q=0":               false,
		"application/json;q=much":            false,
		"image/png":                          false,
		";;;,application/json;charset=utf-8": true,
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": false,
	} {
		w := ask(h, http.MethodGet, "/", http.Header{"Accept": {accept}})
		assert.Equal(t, wantJSON, json.Valid(bytes.TrimSpace(w.Body.Bytes())), accept)
		w = ask(h, http.MethodGet, "/?format=html", http.Header{"Accept": {accept}})
		assert.Contains(t, w.Header().Get("Content-Type"), "text/html", "the query counts for more")
	}
	w := ask(h, http.MethodGet, "/", http.Header{"Accept": {"text/html;q=0.1", "application/json"}})
	assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
}
