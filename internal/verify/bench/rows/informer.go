package rows

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

// eventDoes describes the way of an event from the watch to every handler.
const eventDoes = "Updates of 10,000 pods come over a watch in memory and go through reflector, queue, store and index to every handler; " +
	"a unit is an event that all have received."

// eventRows are that way.
func eventRows() []bench.Row {
	var rows []bench.Row
	for _, c := range []struct {
		handlers int
		ratio    float64
	}{{1, 3}, {10, 5}, {100, 10}} {
		work := fmt.Sprintf("event to %d handlers", c.handlers)
		if c.handlers == 1 {
			work = "event to 1 handler"
		}
		rows = append(rows, compareInformers(bench.Row{
			Work: work, Does: eventDoes, Quick: c.handlers == 10, MoreRounds: 2,
			Want: bench.Target{Ratio: c.ratio, Allocs: bench.AtMost(2)},
		}, deliver(10_000, c.handlers)))
	}
	return rows
}

// stalledHandlerRow is the memory that a handler that never returns keeps in use.
// Here our handler has the default options, which are meant for this.
func stalledHandlerRow() bench.Row {
	return compareInformers(bench.Row{
		Work: "memory behind a stalled handler",
		Does: "One handler does not return while 1,000,000 updates of 10,000 pods arrive, and another one receives all of them; " +
			"the heap that this takes, for one pod.",
		Measure: bench.LiveHeap, Per: 10_000, Repeat: 1,
		Want: bench.Target{Ratio: 1},
	}, behindStalled(10_000, 1_000_000))
}

// lateHandlerRow is what others feel of a handler that joins late: while it does,
// one event after the other is sent as soon as the one before has been delivered.
func lateHandlerRow() bench.Row {
	return compareInformers(bench.Row{
		Work:    "late handler on 100k objects: longest hold-up",
		Does:    "A handler joins an informer of 100k pods. Meanwhile events are sent, one when the other has reached an earlier handler; the longest time that one takes.",
		Measure: bench.Latency, Repeat: 1, Quick: true,
		Want: bench.Target{Ratio: 100},
	}, holdUp(big))
}

// idleHandlerRow is what a handler keeps that is synced and has nothing to do.
func idleHandlerRow() bench.Row {
	return compareInformers(bench.Row{
		Work:    "idle handler",
		Does:    "1,000 handlers join an informer of one pod, and are synced; heap, stacks and goroutines of one.",
		Measure: bench.LiveHeap, Repeat: 1000, Quick: true,
		Want: bench.Target{Ratio: 1, Figure: bench.AtMost(1024), Goroutines: bench.AtMost(0)},
	}, func(inf shared) bench.Subject {
		inf.Start(pods(1, 1))
		return keep(inf.AddIdle)
	})
}

// idleInformerRow is what an informer keeps besides its objects.
func idleInformerRow() bench.Row {
	// A program has one context for all of its informers. client-go's run until a channel
	// is closed that all of them share as well.
	program := running()
	// Nothing is sent, so the feeds have no buffers.
	each := func(create func() shared) func() func() shared {
		return func() func() shared { return create }
	}
	return compare(bench.Row{
		Work: "idle informer",
		Does: "10,000 informers, each with a source of its own that holds one pod, are synced and have one handler each; " +
			"heap, stacks and goroutines of one, source and pod included.",
		Measure: bench.LiveHeap, Repeat: 10_000,
		Want: bench.Target{Ratio: 1, Figure: bench.AtMost(15_000), Goroutines: bench.AtMost(2)},
	}, each(func() shared { return newOurInformerOf(program, &feed{}) }), each(func() shared { return newClientGoInformerOf(&feed{}) }), func(create func() shared) bench.Subject {
		return limited(keep(func() shared {
			inf := create()
			inf.Start(pods(1, 1))
			inf.AddHandler(func() {})
			return inf
		}))
	})
}

// shared is what the informers of both sides can do.
type shared interface {
	// Start runs the informer on some pods and waits until it is synced.
	Start([]*corev1.Pod)
	// Update sends an event with a new state of a pod.
	Update(*corev1.Pod)
	// AddHandler adds a handler that does the same for every update, and waits
	// until it is synced. The handler never misses an update.
	AddHandler(onUpdate func()) (remove func())
	// AddStalled adds a handler that does not return from its first update before
	// release, in the way that is the default there.
	AddStalled(release <-chan struct{})
	// AddIdle adds a handler that does nothing, and returns what has to be kept of it.
	AddIdle() any
	// InNamespace visits the objects of a namespace in the cache.
	InNamespace(string) int
}

func compareInformers(row bench.Row, work func(shared) bench.Subject) bench.Row {
	return compare(row, newOurInformer, newClientGoInformer, func(inf shared) bench.Subject {
		defer watchdog("setting up")()
		return limited(work(inf))
	})
}

// limited returns a subject that panics when a run does not end, instead of waiting for
// ever for an event that has been lost.
func limited(s bench.Subject) bench.Subject {
	run := s.Run
	s.Run = func(n int) {
		defer watchdog("a run")()
		run(n)
	}
	return s
}

// watchdog panics unless stop is called in far more time than setting up, or a run, takes
// on any machine.
func watchdog(what string) (stop func()) {
	const limit = 2 * time.Minute
	t := time.AfterFunc(limit, func() { panic(fmt.Sprintf("%s has not ended after %v: has an event been lost?", what, limit)) })
	return func() { t.Stop() }
}

// deliver sends updates and waits until each handler has got them all.
func deliver(objects, handlers int) func(shared) bench.Subject {
	return func(inf shared) bench.Subject {
		ps := pods(objects, 1)
		u := updatesOf(ps)
		inf.Start(ps)
		done := make(chan struct{}, handlers)
		counters := make([]counter, handlers)
		for i := range counters {
			c := &counters[i]
			inf.AddHandler(func() { c.count(done) })
		}
		return bench.Subject{Run: func(n int) {
			for i := range counters {
				counters[i].left = n
			}
			for range n {
				inf.Update(u.take())
			}
			for range counters {
				<-done
			}
		}}
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

// behindStalled sends updates that one handler receives and another one does not.
func behindStalled(objects, updates int) func(shared) bench.Subject {
	return func(inf shared) bench.Subject {
		ps := pods(objects, 1)
		u := updatesOf(ps)
		inf.Start(ps)
		done, release := make(chan struct{}), make(chan struct{})
		var c counter
		inf.AddHandler(func() { c.count(done) })
		inf.AddStalled(release)
		return bench.Subject{
			Run: func(int) {
				c.left = updates
				for range updates {
					inf.Update(u.take())
				}
				<-done
			},
			After: func() { close(release) },
		}
	}
}

// holdUp sends one event after the other while a handler joins.
func holdUp(objects int) func(shared) bench.Subject {
	return func(inf shared) bench.Subject {
		ps := pods(objects, 20)
		u := updatesOf(ps)
		inf.Start(ps)
		delivered := make(chan struct{}, 1)
		inf.AddHandler(func() { delivered <- struct{}{} })
		var longest time.Duration
		var remove func()
		probe := func() {
			start := time.Now()
			inf.Update(u.take())
			<-delivered
			longest = max(longest, time.Since(start))
		}
		return bench.Subject{
			Before: probe,
			Run: func(int) {
				longest = 0
				joined := make(chan func())
				go func() { joined <- inf.AddHandler(func() {}) }()
				for {
					probe()
					select {
					case remove = <-joined:
						return
					default:
					}
				}
			},
			Value: func() float64 { return float64(longest) },
			After: func() { remove() },
		}
	}
}

// feed is an API server of pods in memory, for one informer: one list, then one
// watch. It hands over the objects as they are, so that what is measured is what
// happens to them afterwards.
type feed struct {
	initial []*corev1.Pod
	events  chan watch.Event
}

// newFeed returns a feed on which as many events may be on their way as there are in the
// buffers of a connection.
func newFeed() *feed { return &feed{events: make(chan watch.Event, 1000)} }

// Update sends an event.
func (f *feed) Update(p *corev1.Pod) { f.events <- watch.Event{Type: watch.Modified, Object: p} }
