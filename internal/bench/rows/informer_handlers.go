package rows

import (
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/internal/bench"
)

// latencyRow is what a controller feels of the pipeline when it is not idle.
func latencyRow() bench.Row {
	const events, rate = 4000, 4000
	return compareInformers(bench.Row{
		Work:    "p99 from event to handler, 4,000/s, 10 handlers",
		Does:    "4,000 events come in a second, to 10 handlers; the time from the watch to the last handler, 99th percentile.",
		Measure: bench.Latency, Repeat: 1,
		Want: bench.Target{Ratio: 1},
	}, func(inf shared, f *feed) bench.Subject {
		u := updatesOf(f.fill(pods(10_000, 1)))
		inf.Start()
		for range 9 {
			inf.AddHandler(func() {})
		}
		sent := make([]time.Time, events)
		latencies := make([]time.Duration, events)
		told := 0
		done := make(chan struct{})
		inf.AddHandler(func() {
			latencies[told] = time.Since(sent[told])
			if told++; told == events {
				done <- struct{}{}
			}
		})
		return bench.Subject{
			Run: func(int) {
				told = 0
				tick := time.NewTicker(time.Second / rate)
				defer tick.Stop()
				for i := range sent {
					<-tick.C
					sent[i] = time.Now()
					f.send(watch.Modified, u.take())
				}
				<-done
			},
			Value: func() float64 { return float64(percentile(latencies, 99)) },
		}
	})
}

// lateHandlerRow is what others feel of a handler that joins late: while it does,
// one event after the other is sent as soon as the one before has been delivered.
func lateHandlerRow() bench.Row {
	return compareInformers(bench.Row{
		Work:    "late handler on 100k objects: longest hold-up",
		Does:    "A handler joins an informer of 100k pods. Meanwhile events are sent, one when the other has reached an earlier handler; the longest time that one takes.",
		Measure: bench.Latency, Repeat: 1, Quick: true,
		Want: bench.Target{Ratio: 100},
	}, func(inf shared, f *feed) bench.Subject {
		u := updatesOf(f.fill(pods(big, 20)))
		inf.Start()
		told := make(chan struct{}, 1)
		inf.AddHandler(func() { told <- struct{}{} })
		var longest time.Duration
		var remove func()
		probe := func() {
			start := time.Now()
			f.send(watch.Modified, u.take())
			<-told
			longest = max(longest, time.Since(start))
		}
		return bench.Subject{
			Before: func() { probe() },
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
	})
}

// stalledHandlerRow is what a handler that never returns makes the others keep.
// Here our handler has the default options, which are made for this.
func stalledHandlerRow() bench.Row {
	const objects, updates = 10_000, 200_000
	row := bench.Row{
		Area: "informer", Work: "memory behind a stalled handler",
		Does: "One handler does not return while 200,000 updates of 10,000 pods arrive, and another one is told of all of them; " +
			"the heap that this takes, for one pod.",
		Measure: bench.LiveHeap, Per: objects, Repeat: 1,
		Want: bench.Target{Ratio: 1},
	}
	work := func(inf shared, f *feed, stall func(<-chan struct{})) bench.Subject {
		u := updatesOf(f.fill(pods(objects, 1)))
		inf.Start()
		done, release := make(chan struct{}), make(chan struct{})
		var c counter
		inf.AddHandler(func() { c.count(done) })
		stall(release)
		return bench.Subject{
			Run: func(int) {
				c.left = updates
				for range updates {
					f.send(watch.Modified, u.take())
				}
				<-done
			},
			After: func() { close(release) },
		}
	}
	row.Ours = bench.Side{Who: informerkit, Setup: func() bench.Subject {
		f := newFeed()
		inf := newOurInformer(f).(ourInformer)
		return work(inf, f, func(release <-chan struct{}) { inf.addStalled(release) })
	}}
	row.Theirs = bench.Side{Who: clientGo, Setup: func() bench.Subject {
		f := newFeed()
		inf := newClientGoInformer(f).(clientGoInformer)
		return work(inf, f, func(release <-chan struct{}) { inf.AddHandler(func() { <-release }) })
	}}
	return row
}
