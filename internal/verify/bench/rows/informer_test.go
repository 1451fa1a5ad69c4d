package rows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

// bothInformers are the informers of a row, with those that resync.
var bothInformers = map[string]func(*feed) shared{
	informerkit: newOurInformer,
	clientGo:    newClientGoResyncing,
}

// Both sides of an informer row must deliver the same events to the same handlers,
// or their figures are not comparable.
func TestInformersAgree(t *testing.T) {
	t.Parallel()
	const objects, handlers, events = 200, 3, 500
	for who, create := range bothInformers {
		f := newFeed()
		u := updatesOf(f.fill(pods(objects, 1)))
		inf := create(f)
		r := newRounds(objects)
		resynced, another := make(chan struct{}, 2*handlers*events), make(chan struct{}, 2*events)
		for range handlers {
			inf.(resyncing).AddResynced(r.handler(func() { resynced <- struct{}{} }))
		}
		inf.Start()
		inf.AddHandler(func() { another <- struct{}{} })
		require.Equal(t, objects, inf.InNamespace(namespace(0)), who)
		for range events {
			f.send(watch.Modified, u.take())
		}
		for range events {
			<-another
		}
		for range handlers * events {
			<-resynced
		}
		// A resync goes only to handlers that asked for one, marked as such.
		for range 2 {
			spans := r.next()
			require.Len(t, spans, handlers, who)
			require.Positive(t, covered(spans), who)
		}
		require.Empty(t, another, who)
		require.Empty(t, resynced, who)
	}
}

// What the rows run must come to an end with few objects too, and measure
// something.
func TestInformerWorkMeasures(t *testing.T) {
	t.Parallel()
	for name, work := range map[string]func(shared, *feed) bench.Subject{
		"latency":                latency(50, 2000, 3),
		"latency against":        latencyAgainst(99, pressure{objects: 1000, rate: 500, seconds: 1, readers: 5, every: 1}),
		"resync":                 resync(1000, 2),
		"resync, heap":           resyncHeap(1000, 2, time.Microsecond),
		"resync, latency":        resyncLatency(1000, 2, false),
		"resync, other latency":  resyncLatency(1000, 2, true),
		"behind a stalled one":   behindStalled(100, 5000),
		"deliver with a reader":  deliver(100, 2, 1),
		"deliver without reader": deliver(100, 2, 0),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for who, create := range bothInformers {
				f := newFeed()
				s := limited(name, func() bench.Subject { return work(create(f), f) })
				if s.Before != nil {
					s.Before()
				}
				s.Run(1)
				if s.Value != nil {
					require.Positive(t, s.Value(), who)
				}
				if s.After != nil {
					s.After()
				}
			}
		})
	}
}

// What a latency is compared with has an event in the store before the handler is called,
// as our informer has.
func TestTheLeastInformerStoresWhatItDelivers(t *testing.T) {
	t.Parallel()
	const objects, events = 100, 1000
	f := newFeed()
	u := updatesOf(f.fill(pods(objects, 1)))
	inf := newLeast(f)
	inf.Start()
	require.Equal(t, objects, inf.InNamespace(namespace(0)))
	received := make(chan *corev1.Pod, events)
	var sent []*corev1.Pod
	for range events {
		sent = append(sent, u.take())
	}
	delivered := 0
	remove := inf.AddHandler(func() {
		p := sent[delivered]
		delivered++
		received <- inf.(*least).Get(key{Namespace: p.Namespace, Name: p.Name})
	})
	for _, p := range sent {
		f.send(watch.Modified, p)
	}
	for _, p := range sent {
		require.Same(t, p, <-received)
	}
	require.Equal(t, objects, inf.InNamespace(namespace(0)))
	remove()
}

func TestLatenciesBeginWhereEventsAreReceived(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	p := newProbe(2)
	for _, at := range [][]time.Duration{{3 * ms, 9 * ms}, {4 * ms, 8 * ms}} {
		p.handler()
		p.handlers[len(p.handlers)-1].at = at
	}
	require.Equal(t, []time.Duration{3 * ms, 7 * ms}, p.latencies(p.epoch, ms), "from when they were due")
	p.received = []time.Duration{2 * ms, 7 * ms}
	require.Equal(t, []time.Duration{2 * ms, 2 * ms}, p.latencies(p.epoch, ms), "from when they were received")
}

// Each event is received once, and before it is delivered.
func TestReceiptsAreCounted(t *testing.T) {
	t.Parallel()
	for who, create := range map[string]func(*feed, func()) shared{
		informerkit:   newOurReceiving,
		leastInformer: newLeastReceiving,
	} {
		p := pressure{objects: 100, rate: 500, seconds: 1, readers: 2, every: 1}
		f, times := newFeed(), p.probe()
		s := limited(who, func() bench.Subject { return p.measure(create(f, times.receive), f, times, 0) })
		for range 2 { // the second run begins anew
			s.Run(1)
			require.Len(t, times.received, times.events, who)
			require.Positive(t, s.Value(), who) // of the fastest
		}
	}
}

func TestCoveredCountsNoTimeTwice(t *testing.T) {
	t.Parallel()
	at := func(ms int) time.Time { return time.Unix(0, 0).Add(time.Duration(ms) * time.Millisecond) }
	require.Equal(t, 30*time.Millisecond, covered([]span{
		{at(50), at(60)}, // by itself
		{at(0), at(15)},
		{at(10), at(20)}, // partly within the one before
		{at(2), at(12)},  // wholly within both
	}))
	require.Zero(t, covered(nil))
}
