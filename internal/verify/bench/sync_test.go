package bench

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/informerkit/informerkit/informer/intern"
)

// served is an informer of a server in another process.
type served struct {
	informers
	server runningServer
	ctx    context.Context
	n      int // objects
}

// Sync runs the informer until it is synced.
func (s served) Sync() {
	s.Run(s.ctx)
	expect(s.Len(), s.n)
}

// compareServed runs a benchmark with each implementation, and whatever others there are, alone.
func compareServed(b *testing.B, what Served, run func(b *testing.B, s served), others ...string) {
	create := map[string]func(url string) informers{
		clientGo:    func(url string) informers { return newServedClientGo(url, what) },
		informerkit: func(url string) informers { return newServedOurs(url, what, nil) },
		interned:    func(url string) informers { return newServedOurs(url, what, intern.NewPool()) },
	}
	for _, impl := range append([]string{clientGo, informerkit}, others...) {
		b.Run("impl="+impl, func(b *testing.B) {
			alone(b, func(b *testing.B) {
				server := startServer(what)
				defer server.stop()
				ctx, cancel := context.WithCancel(b.Context())
				defer cancel()
				run(b, served{create[impl](server.url), server, ctx, collections[what.Collection].n})
			})
		})
	}
}

// interned is our implementation with equal parts stored once.
const interned = "interned"

// The ways in which typical pods come.
var (
	jsonList          = Served{"typical", false, false}
	jsonWatchList     = Served{"typical", false, true}
	protobufList      = Served{"typical", true, false}
	protobufWatchList = Served{"typical", true, true}
)

// An informer with a namespace index is started on 50,000 pods of 2.5 KB JSON, served by another
// process on the same machine. The limit is impl=decoding: the decoders of Kubernetes on all cores,
// and nothing else. No bytes travel, and nothing is compared, stored or delivered.
//
// Target: 1.5 times as fast as client-go, from JSON with WatchList 3.6 times; half as fast as decoding.
func BenchmarkFirstSync(b *testing.B) {
	for _, what := range []Served{jsonList, jsonWatchList, protobufList, protobufWatchList} {
		b.Run(what.String(), func(b *testing.B) {
			compareServed(b, what, func(b *testing.B, s served) { usage(s.Sync).report(b, s.n, "pod") })
			b.Run("impl=decoding", func(b *testing.B) {
				alone(b, func(b *testing.B) { decodePods(b, what.Protobuf) })
			})
		})
	}
}

// decodePods decodes as many pods as a first sync, and keeps them.
func decodePods(b *testing.B, protobuf bool) {
	some := make([][]byte, 1000)
	for i := range some {
		some[i] = encodingOf(protobuf).object(typicalPod(i))
	}
	pods := make([]*corev1.Pod, cluster)
	usage(func() {
		onAllCores(cluster, func(i int) {
			pods[i] = &corev1.Pod{}
			if protobuf {
				check(pods[i].Unmarshal(some[i%len(some)]))
			} else {
				check(k8sjson.Unmarshal(some[i%len(some)], pods[i]))
			}
		})
	}).report(b, cluster, "pod")
	runtime.KeepAlive(pods)
}

// The most that was reachable at any time of a first sync, over what is afterwards. Garbage is
// collected ten times as often as usual to see it.
//
// Target: 1.15.
func BenchmarkFirstSyncPeak(b *testing.B) {
	compareServed(b, protobufList, func(b *testing.B, s served) {
		defer debug.SetGCPercent(debug.SetGCPercent(10))
		peak := highestReachable(s.Sync)
		steady := reachable()
		b.ReportMetric(max(peak, steady)/steady, "peak/steady")
	})
}

// 50,000 objects as clusters have them come by WatchList. impl=interned stores equal parts once:
// pods and custom resources have much in common, ConfigMaps nothing, which is the worst case.
//
// Target: with equal parts stored once, 2.5 times less heap than client-go, for ConfigMaps 3% more;
// the processor time of client-go; 1.25 times the processor time without a pool.
func BenchmarkEqualParts(b *testing.B) {
	for _, name := range []string{"pods", "widgets", "configmaps"} {
		b.Run("objects="+name, func(b *testing.B) {
			what := Served{name, name != "widgets", true} // as clients read them by default
			compareServed(b, what, func(b *testing.B, s served) {
				usage(s.Sync).report(b, s.n, "object")
				b.ReportMetric(reachable()/float64(s.n), "B/object")
				runtime.KeepAlive(s)
			}, interned)
		})
	}
}

// An informer that has synced 50,000 pods lists them again, because its watch has expired: each
// client does that when an API server restarts. One pod in a hundred has changed. What counts is the
// processor time until the last change's update.
//
// Target: a third of client-go's.
func BenchmarkRelist(b *testing.B) {
	for _, what := range []Served{jsonList, protobufList} {
		b.Run(what.String(), func(b *testing.B) {
			compareServed(b, what, func(b *testing.B, s served) { s.updates(s.n/100, "Relist").report(b, s.n, "pod") })
		})
	}
}

// An informer of 1,000 objects has synced; then 30,000 changes of them come as fast as they can be
// read, in JSON, until a handler has received all.
//
// Target: 3 times as fast as client-go.
func BenchmarkBurst(b *testing.B) {
	for _, name := range []string{"widgets", "nodes"} {
		b.Run("objects="+name, func(b *testing.B) {
			compareServed(b, Served{"burst-" + name, false, false}, func(b *testing.B, s served) {
				s.updates(burst, "Burst").report(b, burst, "event")
			})
		})
	}
}

// updates syncs, and measures from a call of the server until so many updates have arrived.
func (s served) updates(n int, method string) used {
	received := make(chan struct{}, n)
	s.Sync()
	s.OnUpdate(func(before, after metav1.Object) {
		// After a relist client-go delivers an update for every object, changed or not.
		if before.GetResourceVersion() != after.GetResourceVersion() {
			received <- struct{}{}
		}
	})
	return usage(func() {
		s.server.do(method)
		for range n {
			<-received
		}
		expect(s.Len(), s.n)
	})
}

// heapReachable is what the last garbage collection found reachable.
const heapReachable = "/gc/heap/live:bytes"

// highestReachable returns the most that is reachable while f runs.
func highestReachable(f func()) float64 {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	sample := []metrics.Sample{{Name: heapReachable}}
	var most uint64
	for {
		metrics.Read(sample)
		most = max(most, sample[0].Value.Uint64())
		select {
		case <-done:
			return float64(most)
		case <-tick.C:
		}
	}
}

// reachable is what is reachable now.
func reachable() float64 {
	runtime.GC()
	runtime.GC()
	sample := []metrics.Sample{{Name: heapReachable}}
	metrics.Read(sample)
	return float64(sample[0].Value.Uint64())
}
