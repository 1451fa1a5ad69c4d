package informer

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/reflector"
)

func benchPod(i, rv int) *pod {
	name := "pod-" + strconv.Itoa(i)
	return &pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns-" + strconv.Itoa(i%10), Name: name, UID: types.UID(name), ResourceVersion: strconv.Itoa(rv),
	}}
}

// running starts an informer of n pods and returns it when it is synced.
func running(b testing.TB, n int) *Informer[*pod] {
	pods := make([]*pod, n)
	for i := range pods {
		pods[i] = benchPod(i, 1)
	}
	inf, err := New(newCluster(pods...).source(), Options[*pod]{Reflector: reflector.Options{Timeouts: reflector.Timeouts{Idle: -1}}})
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { _ = inf.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		<-inf.Done()
	})
	<-inf.Synced()
	return inf
}

// BenchmarkEvent is the way of an event from the queue of changes through the
// cache to all handlers, while the producer is as fast as it can.
func BenchmarkEvent(b *testing.B) {
	for _, handlers := range []int{0, 1, 10, 100} {
		b.Run(fmt.Sprintf("handlers=%d", handlers), func(b *testing.B) {
			const keys = 1000
			inf := running(b, keys)
			var delivered atomic.Int64
			for range handlers {
				_, err := inf.AddHandler(HandlerFunc[*pod](func(e Event[*pod]) {
					if e.Origin == Watch {
						delivered.Add(1)
					}
				}), HandlerOptions{Lossless: true})
				require.NoError(b, err)
			}
			pods := make([]*pod, b.N)
			for i := range pods {
				pods[i] = benchPod(i%keys, i+2)
			}
			sink := inf.applier.progress.sources[0].sink()
			ctx := context.Background()
			b.ReportAllocs()
			b.ResetTimer()
			for _, p := range pods {
				if err := sink.Update(ctx, p); err != nil {
					b.Fatal(err)
				}
			}
			for delivered.Load() < int64(handlers*b.N) {
				runtime.Gosched()
			}
		})
	}
}

// BenchmarkEventAlone sends an event when all handlers have got the one before.
func BenchmarkEventAlone(b *testing.B) {
	for _, handlers := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("handlers=%d", handlers), func(b *testing.B) {
			inf := running(b, 1000)
			var left atomic.Int64
			done := make(chan struct{})
			for range handlers {
				_, err := inf.AddHandler(HandlerFunc[*pod](func(e Event[*pod]) {
					if e.Origin == Watch && left.Add(-1) == 0 {
						done <- struct{}{}
					}
				}), HandlerOptions{})
				require.NoError(b, err)
			}
			sink := inf.applier.progress.sources[0].sink()
			pods := make([]*pod, b.N)
			for i := range pods {
				pods[i] = benchPod(i%1000, i+2)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for _, p := range pods {
				left.Store(int64(handlers))
				if err := sink.Update(context.Background(), p); err != nil {
					b.Fatal(err)
				}
				<-done
			}
		})
	}
}

// BenchmarkLateHandler is AddHandler to an informer of 100k objects: how long the
// caller is held up, and how long until the handler is synced.
func BenchmarkLateHandler(b *testing.B) {
	inf := running(b, 100_000)
	var add time.Duration
	b.ReportAllocs()
	for b.Loop() {
		begin := time.Now()
		r, err := inf.AddHandler(HandlerFunc[*pod](func(Event[*pod]) {}), HandlerOptions{})
		add += time.Since(begin)
		require.NoError(b, err)
		<-r.Synced()
		r.Remove()
	}
	b.ReportMetric(float64(add.Nanoseconds())/float64(b.N), "ns/AddHandler")
}

// TestIdleHandlerIsSmall measures what a synced handler costs when nothing
// happens.
func TestIdleHandlerIsSmall(t *testing.T) {
	inf := running(t, 100)
	const n = 1000
	regs := make([]*Registration, n)
	h := HandlerFunc[*pod](func(Event[*pod]) {})
	memory := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	goroutines := runtime.NumGoroutine()
	before := memory()
	for i := range regs {
		var err error
		regs[i], err = inf.AddHandler(h, HandlerOptions{Name: "h"})
		require.NoError(t, err)
		<-regs[i].Synced() // one at a time: the runtime keeps ended goroutines for later
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > goroutines; runtime.Gosched() {
		require.True(t, time.Now().Before(deadline), "an idle handler has no goroutine")
	}
	per := (memory() - before) / n
	t.Logf("%d bytes per idle handler", per)
	require.Less(t, per, uint64(1024))
	runtime.KeepAlive(regs)
}
