package informer

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/workqueue"
	"github.com/informerkit/informerkit/workqueue/history"
)

// recordedInformer returns a running informer that has listed one object.
func recordedInformer(t *testing.T, recorder *history.Recorder) *Informer[*pod] {
	t.Helper()
	inf := running(t, 1)
	// Before any handler, and before anything else is applied.
	inf.applier.mu.Lock()
	inf.recorder = recorder
	if recorder != nil {
		r := newRecording[*pod](recorder, inf.name, "")
		inf.applier.observe = func(at time.Time, e *Event[*pod]) { r.note(at, history.Received, e, "") }
	}
	inf.applier.mu.Unlock()
	return inf
}

// What is recorded costs no allocation besides those without a recorder.
func TestBurstAllocatesNoMoreWithAHistory(t *testing.T) {
	measure := func(recorder *history.Recorder) float64 {
		const events = 5000
		inf := recordedInformer(t, recorder)
		queue := workqueue.New(workqueue.Options[types.NamespacedName]{Observe: history.Queue[types.NamespacedName](recorder, "")})
		var delivered atomic.Int64
		count := HandlerFunc[*pod](func(Event[*pod]) { delivered.Add(1) })
		none := func(Event[*pod]) bool { return false }
		r, err := inf.AddHandler(Handlers(EnqueueKey[*pod](queue), When(none, count), WhenElse(none, count, count),
			FilterHandler(func(*pod) bool { return true }, count)), HandlerOptions{Lossless: true})
		require.NoError(t, err)
		<-r.Synced()
		delivered.Store(0)
		pods := make([]*pod, events)
		for i := range pods {
			pods[i] = benchPod(0, i+2)
		}
		mallocs := func() uint64 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.Mallocs
		}
		before := mallocs()
		for _, p := range pods {
			require.NoError(t, inf.applier.progress.sources[0].sink().Update(context.Background(), p))
		}
		for delivered.Load() < 2*events {
			runtime.Gosched()
		}
		return float64(mallocs()-before) / events
	}
	without, with := measure(nil), measure(history.New(history.Options{}))
	t.Logf("%.2f allocations per event without, %.2f with a history", without, with)
	// Batches differ from one run to the next, and with them how often the log grows.
	assert.Less(t, with, without+1)
}

// What handlers and queues note of an object does not keep it alive: the fourth promise of
// package history, with real handlers.
func TestHistoryKeepsNoObjectAlive(t *testing.T) {
	recorder := history.New(history.Options{})
	queue := workqueue.New(workqueue.Options[types.NamespacedName]{Name: "work", Observe: history.Queue[types.NamespacedName](recorder, "work")})
	all, none := func(Event[*pod]) bool { return true }, func(Event[*pod]) bool { return false }
	handler := newRecording[*pod](recorder, "pods", "enqueue").wrap(Handlers(When(all, EnqueueKey[*pod](queue)), When(none, EnqueueKey[*pod](queue))))
	gone := make(chan struct{})
	func() {
		obj := benchPod(0, 7)
		obj.Namespace, obj.Name = "default", "web"
		runtime.AddCleanup(obj, func(c chan struct{}) { close(c) }, gone)
		handler.OnEvent(Event[*pod]{Type: Added, Key: types.NamespacedName{Namespace: "default", Name: "web"}, New: obj})
	}()
	for end := time.Now().Add(time.Minute); ; {
		runtime.GC()
		select {
		case <-gone:
			var whats []history.What
			for _, e := range recorder.Of("default/web").Entries {
				whats = append(whats, e.What)
			}
			require.Equal(t, []history.What{history.Delivered, history.Added, history.Refused}, whats)
			runtime.KeepAlive(queue)
			return
		default:
			require.True(t, time.Now().Before(end), "the object is still reachable")
			runtime.Gosched()
		}
	}
}

func TestHandlersPassTheReasonOn(t *testing.T) {
	t.Parallel()
	recorder := history.New(history.Options{})
	inf := recordedInformer(t, recorder)
	queue := workqueue.New(workqueue.Options[types.NamespacedName]{Name: "work", Observe: history.Queue[types.NamespacedName](recorder, "work"), MaxWait: []time.Duration{0, 1}})
	all := func(Event[*pod]) bool { return true }
	var plain Adder[types.NamespacedName] = adderFunc(func(types.NamespacedName) {})
	r, err := inf.AddHandler(Handlers(
		When(all, FilterHandler(func(*pod) bool { return true }, WhenElse(all, EnqueueKey[*pod](queue.PriorityClass(1)), EnqueueKey[*pod](queue)))),
		EnqueueKey[*pod](plain), // a queue that takes no reason
	), HandlerOptions{Name: "nested"})
	require.NoError(t, err)
	<-r.Synced()
	var key types.NamespacedName
	for obj := range inf.Snapshot().All() {
		key = types.NamespacedName{Namespace: obj.Namespace, Name: obj.Name}
	}
	entries := recorder.Of(key.String()).Entries
	require.Len(t, entries, 2)
	assert.Equal(t, history.Delivered, entries[0].What)
	assert.Equal(t, history.Part{Name: "nested", Informer: inf.Name(), Kind: "Pod"}, *entries[0].Part)
	added := entries[1]
	assert.Equal(t, history.Added, added.What)
	assert.Same(t, entries[0].Part, added.Cause)
	assert.Equal(t, history.Key(key), added.Object)
	assert.EqualValues(t, 1, added.Class)
	assert.EqualValues(t, Added, added.Change)
	assert.EqualValues(t, InitialList, added.Origin)
	obj, ok := inf.Find(key)
	require.True(t, ok)
	assert.Equal(t, obj.GetResourceVersion(), strconv.FormatUint(added.New, 10))
	_, ok = inf.Find(types.NamespacedName{Name: fmt.Sprint("no ", key.Name)})
	assert.False(t, ok)
}

// adderFunc is a queue of the program's own.
type adderFunc func(types.NamespacedName)

func (f adderFunc) Add(key types.NamespacedName) { f(key) }
