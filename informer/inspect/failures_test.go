package inspect_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/inspect"
	"github.com/informerkit/informerkit/workqueue"
)

func TestWhatIsNilIsRefused(t *testing.T) {
	t.Parallel()
	var inf *informer.Informer[*corev1.ConfigMap]
	var queue *workqueue.RateLimitingQueue[key]
	good := inspect.Queue(workqueue.New(workqueue.Options[key]{Name: "good"}))
	for name, source := range map[string]inspect.Source{
		"zero":              {},
		"nil informer":      inspect.Informer(nil),
		"pointer to none":   inspect.Informer(inf),
		"nil factory":       inspect.Factory(nil),
		"nil queue":         inspect.Queue[key](nil),
		"pointer to no one": inspect.Queue(queue),
	} {
		_, err := inspect.New(inspect.Options{Show: []inspect.Source{good, source}})
		assert.ErrorContains(t, err, "source number 2 is empty", name)
		h := newHandler(t)
		remove, err := h.Add(good, source)
		assert.ErrorContains(t, err, "not nil", name)
		remove() // is not nil either
		assert.Empty(t, jsonOf(t, h).Queues, "all or nothing")
	}
	_, err := inspect.New(inspect.Options{MaxItems: -1})
	assert.ErrorContains(t, err, "MaxItems is -1")
}

func TestNothingToShow(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	assert.Contains(t, page(t, h), "Nothing is shown yet.")
	assert.Contains(t, page(t, h), "would be here")
	assert.Contains(t, textOf(t, h), "Nothing is shown yet.")
	a := jsonOf(t, h)
	assert.NotNil(t, a.Informers)
	assert.NotNil(t, a.Queues)
}

func TestInformerThatIsNotSyncedSaysWhyAndAStoppedOneThatItIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := informertest.Start(t, informertest.Options{InMemory: true})
		require.NoError(t, server.Create(configMap("a", "")))
		inf := newInformer(t, server, informer.Options[*corev1.ConfigMap]{Name: "maps"})
		_, err := inf.AddHandler(informer.HandlerFuncs[*corev1.ConfigMap]{}, informer.HandlerOptions{Name: "idle"})
		require.NoError(t, err)
		h := newHandler(t, inspect.Informer(inf))
		assert.Equal(t, "New", jsonOf(t, h).Informers[0].Sources[0].State)
		assert.Contains(t, page(t, h), "Informer maps has not been started.")

		require.NoError(t, server.Pause())
		ctx, cancel := context.WithCancel(t.Context())
		go func() { assert.NoError(t, inf.Run(ctx)) }()
		time.Sleep(time.Minute)
		source := jsonOf(t, h).Informers[0].Sources[0]
		require.NotNil(t, source.LastError)
		assert.Contains(t, source.LastError.Message, "cannot")
		text := textOf(t, h)
		assert.Contains(t, text, "informer maps: not synced")
		assert.Contains(t, text, "last error")
		assert.Contains(t, text, "Degraded for")

		require.NoError(t, server.Resume())
		require.NoError(t, informer.WaitForSync(ctx, inf))
		synctest.Wait()
		assert.Regexp(t, `Informer maps has been watching again for 0s, after \d+ failed requests: nothing listens at the server's address`, textOf(t, h))
		time.Sleep(5 * time.Minute)
		assert.Contains(t, textOf(t, h), "All is well: 1 informer is synced.")
		assert.Equal(t, "idle", jsonOf(t, h).Informers[0].Handlers[0].Name)

		cancel()
		<-inf.Done()
		got := jsonOf(t, h).Informers[0]
		assert.True(t, got.Stopped)
		assert.Equal(t, 1, got.Objects, "the cache stays")
		assert.Contains(t, textOf(t, h), "informer maps: stopped")
		assert.Contains(t, page(t, h), "Informer maps has stopped: its cache does not change any more.")
		server.Close()
	})
}

func TestQueueThatIsShutDownShowsWhatIsLeft(t *testing.T) {
	t.Parallel()
	queue := workqueue.NewRateLimiting(nil, workqueue.Options[string]{Name: "q"}) // keeps no times
	for _, item := range []string{"a", "b"} {
		queue.Add(item)
	}
	queue.AddAfter("c", time.Hour)
	_, ok := queue.Get(t.Context())
	require.True(t, ok)
	queue.ShutDown()
	h := newHandler(t, inspect.Queue(queue))
	q := jsonOf(t, h).Queues[0]
	assert.True(t, q.ShuttingDown)
	assert.Equal(t, "a", q.RunningItems.Shown[0].Item)
	assert.Equal(t, "b", q.QueuedItems.Shown[0].Item)
	assert.Empty(t, q.QueuedItems.Shown[0].QueuedSince, "not known")
	assert.Empty(t, q.DelayedItems.Shown)
	text := textOf(t, h)
	assert.Contains(t, text, "Queue q is shut down: it takes no more items, and 2 items are in it.")
	assert.Regexp(t, `lost at shutdown +1 item\n`, text)
	assert.Regexp(t, `oldest +not known \(set Options.Times\)\n`, text)
	assert.Regexp(t, `(?m)^    b +for an unknown time$`, text)
}

type rude struct{ Name string }

func (rude) String() string { panic("no name for you") }

func TestItemsThatAreOddAreShownAllTheSame(t *testing.T) {
	t.Parallel()
	queue := workqueue.New(workqueue.Options[any]{Name: "odd"})
	queue.Add(rude{"x"})
	queue.Add(strings.Repeat("名", 1000))
	queue.Add(3.5)
	queue.Add(struct{ A, B int }{1, 2})
	queue.Add(time.Unix(0, 0)) // has a pointer to its location
	h := newHandler(t, inspect.Queue(queue))
	shown := jsonOf(t, h).Queues[0].QueuedItems.Shown
	assert.Contains(t, shown[0].Item, "no name for you")
	assert.Equal(t, strings.Repeat("名", 85)+"…", shown[1].Item, "cut off after 256 bytes")
	assert.Equal(t, []string{"3.5", "{1 2}", "(time.Time)"}, []string{shown[2].Item, shown[3].Item, shown[4].Item})
	assert.Contains(t, textOf(t, h), "{1 2}")
}

func BenchmarkPage(b *testing.B) {
	for _, items := range []int{10, 1_000_000} {
		b.Run(fmt.Sprint(items), func(b *testing.B) {
			queue := workqueue.NewDelaying(workqueue.Options[int]{Name: "q"})
			for i := range items {
				queue.Add(i)
				queue.AddAfter(-1-i, time.Hour+time.Duration(i))
			}
			h, err := inspect.New(inspect.Options{Show: []inspect.Source{inspect.Queue(queue)}})
			require.NoError(b, err)
			b.Run("inspect", func(b *testing.B) {
				for b.Loop() {
					queue.Inspect(inspect.DefaultMaxItems)
				}
			})
			b.Run("request", func(b *testing.B) {
				for b.Loop() {
					ask(h, "GET", "/", nil)
				}
			})
		})
	}
}
