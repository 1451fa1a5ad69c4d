package rows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
