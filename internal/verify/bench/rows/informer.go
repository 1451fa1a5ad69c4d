package rows

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

func informerRows() []bench.Row { return slices.Concat(latencyRows(), resyncRows()) }

// eventRows are the way of an event from the watch to every handler.
func eventRows() []bench.Row {
	var rows []bench.Row
	for _, c := range []struct {
		handlers int
		ratio    float64
	}{{1, 3}, {10, 5}, {100, 10}} {
		rows = append(rows, compareInformers(bench.Row{
			Work: "event to " + count(c.handlers, "handler"),
			Does: "Updates of 10,000 pods come over a watch in memory and go through reflector, queue, store and index to every handler; " +
				"a unit is an event that all have received.",
			Quick: c.handlers == 10, MoreRounds: 2,
			Want: bench.Target{Ratio: c.ratio, Allocs: bench.AtMost(2)},
		}, deliver(10_000, c.handlers, 0)))
	}
	return rows
}

// deliver sends updates and waits until each handler has got them all.
func deliver(objects, handlers, reading int) func(shared, *feed) bench.Subject {
	return func(inf shared, f *feed) bench.Subject {
		u := updatesOf(f.fill(pods(objects, 1)))
		inf.Start()
		done := make(chan struct{}, handlers)
		counters := make([]counter, handlers)
		for i := range counters {
			c := &counters[i]
			inf.AddHandler(func() { c.count(done) })
		}
		subject := bench.Subject{Run: func(n int) {
			for i := range counters {
				counters[i].left = n
			}
			for range n {
				f.send(watch.Modified, u.take())
			}
			for range counters {
				<-done
			}
		}}
		if reading > 0 {
			var stop func()
			subject.Before = func() {
				stop = readers{reading, 0}.start(func() { expect(inf.InNamespace(namespace(0)), objects) })
			}
			subject.After = func() { stop() }
		}
		return subject
	}
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

// shared is what the informers of both sides can do. They are made with the feed
// that they follow.
type shared interface {
	// Start runs the informer and waits until it is synced.
	Start()
	// AddHandler adds a handler that does the same for every update, and waits
	// until it is synced. The handler never misses an update.
	AddHandler(onUpdate func()) (remove func())
	// InNamespace visits the objects of a namespace in the cache.
	InNamespace(string) int
}

func compareInformers(row bench.Row, work func(shared, *feed) bench.Subject) bench.Row {
	row.Area = "informer"
	row.Ours = bench.Side{Who: informerkit, Setup: func() bench.Subject {
		f := newFeed()
		return limited(row.Work, func() bench.Subject { return work(newOurInformer(f), f) })
	}}
	row.Theirs = bench.Side{Who: clientGo, Setup: func() bench.Subject {
		f := newFeed()
		return limited(row.Work, func() bench.Subject { return work(newClientGoInformer(f), f) })
	}}
	return row
}

// fill sets the objects of the first list, and returns them.
func (f *feed) fill(ps []*corev1.Pod) []*corev1.Pod {
	f.initial = ps
	return ps
}
