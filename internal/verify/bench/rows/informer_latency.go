package rows

import (
	"fmt"
	"sync"
	"time"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

// latencyRows are what a controller feels of the pipeline when it is not idle.
func latencyRows() []bench.Row {
	const handlers, rate = 10, 4000
	var rows []bench.Row
	for _, percent := range []int{50, 99} {
		rows = append(rows, compareInformers(bench.Row{
			Work: fmt.Sprintf("p%d from event to handler, %s/s, 10 handlers", percent, grouped(rate)),
			Does: fmt.Sprintf("%s events come in a second, each at its time, to 10 handlers; "+
				"the time from when one is due on the watch to when the last handler has received it, percentile %d.", grouped(rate), percent),
			Measure: bench.Latency, Repeat: 1, Rounds: 5,
			Want: bench.Target{Ratio: 1},
		}, latency(percent, rate, handlers)))
	}
	return append(rows, readersRow())
}

// latency sends events for a second.
func latency(percent, rate, handlers int) func(shared, *feed) bench.Subject {
	return func(inf shared, f *feed) bench.Subject {
		u := updatesOf(f.fill(pods(10_000, 1)))
		inf.Start()
		p := newProbe(rate)
		for range handlers {
			inf.AddHandler(p.handler())
		}
		var latencies []time.Duration
		return bench.Subject{
			Run:   func(int) { latencies = p.run(f, u, rate) },
			Value: func() float64 { return float64(percentile(latencies, percent)) },
		}
	}
}

// readersRow is a point of the grid of client-go's own benchmark of its informer, which
// goes from 10,000 pods to 160,000 and from no reader to 80. Its readers list without
// pause; on few cores most of what is measured then is how long the scheduler takes to go
// round. So they list at a pace here, about as often as client-go can on one core.
func readersRow() bench.Row {
	p := pressure{objects: 160_000, rate: 1000, seconds: 4, readers: 80, every: 4}
	return compareInformers(bench.Row{
		Work: "p99 from event to handler, 160k pods, 80 readers every 4 s",
		Does: "For 4 seconds 1,000 updates a second come for 160,000 pods of one namespace, each at its time, to one handler, " +
			"while each reader lists the namespace, one shortly after the other; " +
			"the time from when one is due on the watch to when the handler has received it, percentile 99.",
		Measure: bench.Latency, Repeat: 1, Rounds: 3, Want: bench.Target{Ratio: 1, Figure: bench.AtMost(2e6)},
	}, latencyAgainst(99, p))
}

// pressure is how many events come for some seconds, while others list at a pace.
type pressure struct {
	objects, rate, seconds int
	readers                int
	every                  int // seconds between two lists of one reader
}

func (p pressure) probe() *probe { return newProbe(p.rate * p.seconds) }

// latencyAgainst measures from when an event is due.
func latencyAgainst(percent int, p pressure) func(shared, *feed) bench.Subject {
	return func(inf shared, f *feed) bench.Subject { return p.measure(inf, f, p.probe(), percent) }
}

// measure sends the events, and lists.
func (p pressure) measure(inf shared, f *feed, times *probe, percent int) bench.Subject {
	u := updatesOf(f.fill(pods(p.objects, 1)))
	inf.Start()
	inf.AddHandler(times.handler())
	list := func() { expect(inf.InNamespace(namespace(0)), p.objects) }
	list()
	r := readers{p.readers, time.Duration(p.every) * time.Second}
	var latencies []time.Duration
	return bench.Subject{
		Run: func(int) {
			wait := r.startLists(p.seconds/p.every, list)
			latencies = times.run(f, u, p.rate)
			wait()
		},
		Value: func() float64 { return float64(percentile(latencies, percent)) },
	}
}

// startLists lets each reader list so many times, at its pace, reader i a little
// after the one before it. A list that is late does not delay those after it.
func (r readers) startLists(lists int, list func()) (wait func()) {
	var running sync.WaitGroup
	start := time.Now()
	for i := range r.n {
		running.Go(func() {
			for k := range lists {
				due := start.Add(r.pace*time.Duration(k) + r.pace*time.Duration(i)/time.Duration(r.n))
				time.Sleep(time.Until(due))
				list()
			}
		})
	}
	return running.Wait
}
