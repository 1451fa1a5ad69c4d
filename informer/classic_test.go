package informer

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/deltafifo"
	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// A DeltaFIFO is a reflector's sink that can be asked for what it has.
var (
	_ reflector.Sink[*pod]  = (*deltafifo.DeltaFIFO[*pod])(nil)
	_ reflector.Known[*pod] = (*deltafifo.DeltaFIFO[*pod])(nil)
)

// classic is the chain that every article on informers draws: a reflector writes
// to a DeltaFIFO, and a loop pops from it, stores, and calls the handler.
type classic[T Object] struct {
	store     *indexer.Indexer[T]
	queue     *deltafifo.DeltaFIFO[T]
	reflector *reflector.Reflector[T]
	handle    func(Event[T])
	// failing, if set, says whether to fail now and put the deltas back.
	failing func() bool
}

func newClassic[T Object](t *testing.T, lw reflector.ListerWatcher[T], opts deltafifo.Options[T], ropts reflector.Options) *classic[T] {
	t.Helper()
	store, err := indexer.New(indexer.Options[T]{})
	require.NoError(t, err)
	opts.KnownObjects = store
	c := &classic[T]{store: store, queue: deltafifo.New(opts), handle: func(Event[T]) {}}
	c.reflector, err = reflector.New[T](lw, c.queue, ropts)
	require.NoError(t, err)
	return c
}

// run starts the chain and returns what stops it.
func (c *classic[T]) run(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	reflected, popped := make(chan error, 1), make(chan error, 1)
	go func() { reflected <- c.reflector.Run(ctx) }()
	go func() {
		var err error
		for !errors.Is(err, deltafifo.ErrClosed) && !errors.Is(err, context.Canceled) {
			err = c.queue.Pop(ctx, c.process)
		}
		popped <- err
	}()
	return func() {
		cancel()
		require.NoError(t, <-reflected)
		require.ErrorIs(t, <-popped, context.Canceled)
	}
}

// process brings the store to each state of each object in turn.
func (c *classic[T]) process(batch deltafifo.Batch[T]) error {
	for _, deltas := range batch.ByObject() {
		if c.failing != nil && c.failing() {
			if err := c.queue.AddIfNotPresent(deltas); err != nil {
				return err
			}
			continue
		}
		for _, d := range deltas {
			if err := c.apply(d); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *classic[T]) apply(d deltafifo.Delta[T]) error {
	e := Event[T]{Key: d.Key(), Origin: Watch}
	b := c.store.Batch()
	defer b.Discard()
	old, known := c.store.Get(d.Key())
	another := known && d.Type != deltafifo.Deleted && old.GetUID() != d.Object.GetUID()
	switch {
	case d.Type == deltafifo.Deleted && !known:
		return nil
	case d.Type == deltafifo.Deleted || another:
		b.Delete(d.Key())
		e.Type, e.Old, e.FinalStateUnknown = Deleted, old, another || d.FinalStateUnknown
		if !e.FinalStateUnknown {
			e.New = d.Object
		}
		b.Commit()
		c.handle(e)
		if !another {
			return nil
		}
		return c.apply(d)
	case known && object.SameVersion(old, d.Object):
		return nil
	}
	e.Type, e.Old, e.New = Added, old, d.Object
	if known {
		e.Type = Updated
	}
	if _, _, err := b.Set(d.Object); err != nil {
		return err
	}
	b.Commit()
	c.handle(e)
	return nil
}

// Two objects, one becomes unreadable: at the next list it must not look deleted.
func TestClassicChainKeepsAnObjectThatCannotBeDecoded(t *testing.T) {
	t.Parallel()
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	synctest.Test(t, func(t *testing.T) {
		s := informertest.Start(t, informertest.Options{InMemory: true, Scheme: scripted.CoreTypes()})
		for _, name := range []string{"good", "bad"} {
			require.NoError(t, s.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}))
		}
		source, err := reflector.NewResource[*corev1.ConfigMap](s.Config(), configMaps, reflector.ResourceOptions{})
		require.NoError(t, err)
		c := newClassic(t, source, deltafifo.Options[*corev1.ConfigMap]{}, reflector.Options{})
		var deleted []string
		c.handle = func(e Event[*corev1.ConfigMap]) {
			if e.Type == Deleted {
				deleted = append(deleted, e.Key.Name)
			}
		}
		stop := c.run(t)
		time.Sleep(time.Minute)
		require.Equal(t, 2, c.store.Snapshot().Len())
		before, _ := c.store.Get(objKey("default", "good"))

		require.NoError(t, s.Modify(configMaps, "default", "bad", func(u *unstructured.Unstructured) {
			u.Object["data"] = "not a map"
		}))
		lists := c.reflector.Health().WatchLists
		s.Restart() // the watch cannot be resumed
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.Greater(t, c.reflector.Health().WatchLists, lists)
		require.Empty(t, deleted, "it lives")
		_, ok := c.store.Get(objKey("default", "bad"))
		require.True(t, ok, "its last good version is kept")
		after, _ := c.store.Get(objKey("default", "good"))
		require.Same(t, before, after, "a relist keeps the pointer of an unchanged object")

		require.NoError(t, s.Delete(configMaps, "default", "bad"))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"bad"}, deleted)
		stop()
		s.Close()
	})
}

// TestClassicChainSimulation is TestSimulation for the classic chain: the same
// server misbehaves, and the same observer checks each event.
func TestClassicChainSimulation(t *testing.T) {
	t.Parallel()
	eachSeed(t, 10, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		server := newCluster()
		server.enter()
		opts := deltafifo.Options[*pod]{Limit: 1 + rnd.IntN(50)}
		transformed := map[*pod]bool{}
		if rnd.IntN(2) == 0 {
			opts.Transform = func(p *pod) (*pod, error) {
				require.False(t, transformed[p], "transformed twice: %s", object.KeyOf(p))
				transformed[p] = true
				return p, nil
			}
		}
		c := newClassic(t, server.source(), opts, reflector.Options{})
		o := observe(t, c.store)
		o.exists = server.exists
		pace := time.Duration(rnd.IntN(3)*rnd.IntN(100)) * time.Millisecond
		o.each = func(Event[*pod]) {
			if pace > 0 {
				time.Sleep(pace)
			}
		}
		c.handle = o.OnEvent
		retries := rand.New(rand.NewPCG(seed, 3))
		c.failing = func() bool { return retries.IntN(5) == 0 }

		stop := c.run(t)
		for range 300 {
			server.misbehave(rnd)
			if rnd.IntN(3) == 0 {
				synctest.Wait()
			}
		}
		server.recover()
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		require.True(t, c.queue.HasSynced())
		requireSame(t, server, c.store, o)
		stop()
	})
}
