package rows

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

// latencyRows are what a controller feels of the pipeline when it is not idle.
func latencyRows() []bench.Row {
	const handlers = 10
	var rows []bench.Row
	for _, c := range []struct{ percent, rate int }{{50, 4000}, {99, 4000}, {99, 20_000}} {
		rows = append(rows, compareInformers(bench.Row{
			Work: fmt.Sprintf("p%d from event to handler, %s/s, 10 handlers", c.percent, grouped(c.rate)),
			Does: fmt.Sprintf("%s events come in a second, each at its time, to 10 handlers; "+
				"the time from when one is due on the watch to when the last handler has received it, percentile %d.", grouped(c.rate), c.percent),
			Measure: bench.Latency, Repeat: 1, Rounds: 5,
			Want: bench.Target{Ratio: 1},
		}, latency(c.percent, c.rate, handlers)))
	}
	return rows
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

// gridRows are points of the grid of client-go's own benchmark of its informer,
// which goes from 10,000 pods to 160,000 and from no reader to 80. Its readers
// list without pause; on few cores most of what is measured then is how long the
// scheduler takes to go round. So they list at a pace here.
func gridRows() []bench.Row {
	const rate, percent = 1000, 99
	var rows []bench.Row
	for _, c := range []struct {
		objects, readers int
		every            int // seconds between two lists of one reader
		want             bench.Target
	}{
		{10_000, 0, 1, bench.Target{}},
		{10_000, 80, 1, bench.Target{Ratio: 1}},
		{160_000, 0, 1, bench.Target{}},
		{160_000, 10, 1, bench.Target{Ratio: 1}},
		// That is about as often as client-go can on one core.
		{160_000, 80, 4, bench.Target{Ratio: 1, Figure: bench.AtMost(1e6)}},
		// And this takes client-go more than three cores. On fewer it shows how
		// far it has fallen behind after two seconds, so there is no ratio to ask for.
		{160_000, 80, 1, bench.Target{Figure: bench.AtMost(1e6)}},
	} {
		seconds := max(2, c.every)
		row := bench.Row{
			Work: fmt.Sprintf("p99 from event to handler, %dk pods, %s", c.objects/1000, count(c.readers, "reader")),
			Does: fmt.Sprintf("For %d seconds 1,000 updates a second come for %s pods of one namespace, each at its time, "+
				"to one handler; the time from when one is due on the watch to when the handler has received it, percentile 99.",
				seconds, grouped(c.objects)),
			Measure: bench.Latency, Repeat: 1, Rounds: 3, Want: c.want,
		}
		if c.readers > 0 {
			row.Work += fmt.Sprintf(" every %d s", c.every)
			row.Does += fmt.Sprintf(" Meanwhile each reader lists the namespace every %d s, one shortly after the other; "+
				"who is late lists at once, so that there are as many lists on both sides.", c.every)
		}
		hasLimit := c.want.Ratio == 0 && c.readers > 0
		if hasLimit {
			// What the kernel does with the threads of readers differs from run to run.
			row.Rounds = 7
		}
		p := pressure{c.objects, rate, seconds, c.readers, c.every}
		rows = append(rows, compareInformers(row, latencyAgainst(percent, p)))
		if hasLimit {
			rows = append(rows, limitOfLatency(row, percent, p), limitFromReceipt(row, percent, p))
		}
	}
	return rows
}

// limitOfLatency compares the work of a row with a goroutine that does everything by itself.
func limitOfLatency(row bench.Row, percent int, p pressure) bench.Row {
	row.Work = "limit: " + row.Work
	row.Does += leastDoes
	// The peer hands over nothing, so a hand-over that costs more than the noise is seen.
	row.Want = bench.Target{Ratio: 0.75}
	row = compareInformers(row, latencyAgainst(percent, p))
	row.Theirs = bench.Side{Who: leastInformer, Setup: func() bench.Subject {
		f := newFeed()
		return limited(row.Work, func() bench.Subject { return latencyAgainst(percent, p)(newLeast(f), f) })
	}}
	return row
}

// limitFromReceipt is what of it is spent in the informer, with its hand-overs.
func limitFromReceipt(row bench.Row, percent int, p pressure) bench.Row {
	row.Work = strings.Replace("limit: "+row.Work, "from event to handler", "from receipt to handler", 1)
	row.Does += " Here it begins only when the event has been received from the watch." + leastDoes
	row.Want = bench.Target{Figure: bench.AtMost(1e5)}
	side := func(who string, create func(*feed, func()) shared) bench.Side {
		return bench.Side{Who: who, Setup: func() bench.Subject {
			f, times := newFeed(), p.probe()
			return limited(row.Work, func() bench.Subject { return p.measure(create(f, times.receive), f, times, percent) })
		}}
	}
	row.Area = "informer"
	row.Ours, row.Theirs = side(informerkit, newOurReceiving), side(leastInformer, newLeastReceiving)
	return row
}

// leastDoes describes the peer of the limits.
const leastDoes = " The peer is one goroutine that receives the event, writes it to the same store and calls the handler."

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
