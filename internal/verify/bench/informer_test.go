package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// fed is an informer with the feed that it reads.
type fed struct {
	*feed
	informers
}

// start runs an informer of some pods until the context is done, and returns when it is synced.
func start(ctx context.Context, create func(*feed) informers, ps []*corev1.Pod, buffer int) fed {
	f := &feed{initial: ps, events: make(chan watch.Event, buffer)}
	inf := fed{f, create(f)}
	inf.Run(ctx)
	return inf
}

// compareInformers runs a benchmark with synced informers of n pods.
func compareInformers(b *testing.B, n, namespaces int, run func(b *testing.B, inf fed, u *updates)) {
	ps := pods(n, namespaces)
	started := func(create func(*feed) informers) func(*testing.B) fed {
		// As many events may be on their way as there are in the buffers of a connection.
		return func(b *testing.B) fed { return start(b.Context(), create, ps, 1000) }
	}
	compare(b, clientGo, started(newFedClientGo), started(newFedOurs), func(b *testing.B, inf fed) {
		defer watchdog()()
		run(b, inf, updatesOf(ps))
	})
}

// watchdog panics unless stop is called in far more time than a benchmark takes on any machine:
// an event has been lost.
func watchdog() (stop func() bool) {
	const limit = 5 * time.Minute
	return time.AfterFunc(limit, func() { panic(fmt.Sprint("a benchmark has not ended after ", limit)) }).Stop
}

// Updates of 10,000 pods come over a watch in memory and go through reflector, queue, store and
// index to every handler.
//
// Target: with 1, 10 and 100 handlers 3, 5 and 10 times as fast as client-go, 2 allocations.
func BenchmarkEvent(b *testing.B) {
	const batch = 1000
	for _, handlers := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("handlers=%d", handlers), func(b *testing.B) {
			compareInformers(b, 10_000, 1, func(b *testing.B, inf fed, u *updates) {
				done := make(chan struct{}, handlers)
				counters := make([]counter, handlers)
				for i := range counters {
					inf.OnUpdate(func(_, _ metav1.Object) { counters[i].count(done) })
				}
				loop(b, batch, "event", func() {
					for i := range counters {
						counters[i].left = batch
					}
					for range batch {
						inf.Update(u.take())
					}
					for range counters {
						<-done
					}
				})
			})
		})
	}
}

// One handler does not return while 1,000,000 updates of 10,000 pods arrive, and another receives
// all of them; the heap that this takes, for one pod. Our stalled handler has the default options,
// which are meant for this.
//
// Target: at most the memory of client-go.
func BenchmarkStalledHandler(b *testing.B) {
	const n, updated = 10_000, 1_000_000
	compareInformers(b, n, 1, func(b *testing.B, inf fed, u *updates) {
		done, release := make(chan struct{}), make(chan struct{})
		defer close(release)
		var c counter
		inf.OnUpdate(func(_, _ metav1.Object) { c.count(done) })
		inf.AddStalled(release)
		alive(b, n, "pod", func() any {
			c.left = updated
			for range updated {
				inf.Update(u.take())
			}
			<-done
			return inf
		})
	})
}

// A handler joins an informer of 100,000 pods. Meanwhile events are sent, one when the other has
// reached an earlier handler; the longest time that one takes.
//
// Target: a hundredth of client-go's.
func BenchmarkLateHandler(b *testing.B) {
	compareInformers(b, 100_000, 20, func(b *testing.B, inf fed, u *updates) {
		delivered := make(chan struct{}, 1)
		inf.OnUpdate(func(_, _ metav1.Object) { delivered <- struct{}{} })
		send := func() time.Duration {
			start := time.Now()
			inf.Update(u.take())
			<-delivered
			return time.Since(start)
		}
		send()
		var sum time.Duration
		for b.Loop() {
			joined := make(chan func())
			go func() { joined <- inf.OnUpdate(func(_, _ metav1.Object) {}) }()
			var longest time.Duration
			var remove func()
			for remove == nil {
				longest = max(longest, send())
				select {
				case remove = <-joined:
				default:
				}
			}
			remove()
			sum += longest
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(sum)/float64(b.N), "ns/longest")
	})
}

// 1,000 handlers join an informer of one pod, and are synced.
//
// Target: at most the memory of client-go and 1 KiB, no goroutine.
func BenchmarkIdleHandler(b *testing.B) {
	compareInformers(b, 1, 1, func(b *testing.B, inf fed, _ *updates) {
		alive(b, 1000, "handler", repeat(1000, inf.AddIdle))
	})
}

// 10,000 informers, each with a separate source of one pod, are synced and have one handler each;
// source and pod included.
//
// Target: at most the memory of client-go and 15 kB, 2 goroutines.
func BenchmarkIdleInformer(b *testing.B) {
	const n = 10_000
	each := func(create func(*feed) informers) func(*testing.B) func() any {
		return func(b *testing.B) func() any {
			ctx := b.Context() // a program has one for all of its informers
			return func() any {
				inf := start(ctx, create, pods(1, 1), 0)
				inf.AddIdle()
				return inf
			}
		}
	}
	compare(b, clientGo, each(newFedClientGo), each(newFedOurs), func(b *testing.B, create func() any) {
		alive(b, n, "informer", repeat(n, create))
	})
}

// counter counts the events that one handler receives. It has its own cache line, so
// that handlers on different cores do not slow each other down.
type counter struct {
	left int
	_    [56]byte
}

func (c *counter) count(done chan<- struct{}) {
	c.left--
	if c.left == 0 {
		done <- struct{}{}
	}
}

// feed is an API server of pods in memory, for one informer: one list, then one
// watch. It hands over the objects as they are, so that what is measured is what
// happens to them afterwards.
type feed struct {
	initial []*corev1.Pod
	events  chan watch.Event
}

// Update sends an event.
func (f *feed) Update(p *corev1.Pod) { f.events <- watch.Event{Type: watch.Modified, Object: p} }

// List is the list function of a clientset.
func (f *feed) List(context.Context, metav1.ListOptions) (*corev1.PodList, error) {
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1900000"}, Items: make([]corev1.Pod, len(f.initial))}
	for i, p := range f.initial {
		list.Items[i] = *p
	}
	return list, nil
}

// Watch is the watch function of a clientset.
func (f *feed) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) { return f, nil }

// ResultChan and Stop implement watch.Interface.
func (f *feed) ResultChan() <-chan watch.Event { return f.events }

// Stop does nothing: nothing sends after the benchmark.
func (f *feed) Stop() {}
