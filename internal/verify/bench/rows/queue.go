package rows

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

func queueRows() []bench.Row {
	same := compareQueues(bench.Row{
		Area: "queue", Work: "add+get+done, one goroutine",
		Does:  "One goroutine adds a key, gets it and is done with it; 1,024 keys in turn, one in the queue at a time.",
		Quick: true,
		Want:  bench.Target{Ratio: 1, Allocs: bench.AtMost(0)},
	}, cycle)

	return []bench.Row{
		same, queueLimitRow(), addLatencyRow(),
		delayAndDrainRow(), delayRow(), rateLimitRow(), priorityRow(),
		idleQueueRow(), queuedItemRow(), delayedItemRow(),
	}
}

// manyWorkersRow is the queue of a busy controller.
func manyWorkersRow() bench.Row {
	return compareQueues(bench.Row{
		Work: "a key through the queue, 8 producers, 8 workers",
		Does: "Producers add 1,000 different keys while workers get them and are done with them, again and again; a unit is a key.",
		Per:  1000, Quick: true, MoreRounds: 3,
		Want: bench.Target{Ratio: 1, Allocs: bench.AtMost(0)},
	}, pass(1000, 8, 8))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// compareQueues fills in the sides of a row with work that is written once, for
// any queue.
func compareQueues(row bench.Row, work func(queue) bench.Subject) bench.Row {
	row.Ours = bench.Side{Who: informerkit, Setup: func() bench.Subject { return work(ourQueue()) }}
	row.Theirs = bench.Side{Who: clientGo, Setup: func() bench.Subject { return work(clientGoQueue()) }}
	return row
}

// cycle is the life of a key in a queue that is otherwise empty.
func cycle(q queue) bench.Subject {
	ks := keys(1024)
	return bench.Subject{Run: func(n int) {
		for i := range n {
			q.Add(ks[i%len(ks)])
			k, _ := q.Get()
			q.Done(k)
		}
	}}
}

// pass sends each of size keys through the queue once. No add collapses with
// another one, however far the producers are ahead, as the next pass begins when
// the last key is done.
func pass(size, producers, workers int) func(queue) bench.Subject {
	return func(q queue) bench.Subject {
		ks := keys(size)
		var left atomic.Int64
		finished := make(chan struct{}, 1)
		for range workers {
			go func() {
				for {
					k, ok := q.Get()
					if !ok {
						return
					}
					q.Done(k)
					if left.Add(-1) == 0 {
						finished <- struct{}{}
					}
				}
			}()
		}
		return bench.Subject{Run: func(n int) {
			for range n {
				left.Store(int64(size))
				for p := range producers {
					go func() {
						for i := p; i < len(ks); i += producers {
							q.Add(ks[i])
						}
					}()
				}
				<-finished
			}
		}}
	}
}

// addLatencyRow is the latency of Add while the queue is long and producers and
// workers contend for it.
func addLatencyRow() bench.Row {
	const backlog, spare, perRun = 1_000_000, 200_000, 160_000
	const producers, workers = 8, 8
	return compareQueues(bench.Row{
		Area: "queue", Work: "p99 of a contended Add, 1M queued",
		Does: "8 goroutines add 160,000 keys behind a million others while 8 take as many; the time that an Add takes, 99th percentile.",
		// Whole runs of either side are fast or slow, so it takes many to find their median.
		Measure: bench.Latency, Repeat: 1, MoreRounds: 5,
		Want: bench.Target{Ratio: 1},
	}, func(q queue) bench.Subject {
		// Keys go round: those that are added are never those still queued.
		ks := keys(backlog + spare)
		for _, k := range ks[:backlog] {
			q.Add(k)
		}
		first := backlog
		latencies := make([]time.Duration, perRun)
		return bench.Subject{
			Run: func(int) {
				var wg sync.WaitGroup
				for p := range producers {
					wg.Go(func() {
						for i := p; i < perRun; i += producers {
							k := ks[(first+i)%len(ks)]
							start := time.Now()
							q.Add(k)
							latencies[i] = time.Since(start)
						}
					})
				}
				for range workers {
					wg.Go(func() {
						for range perRun / workers {
							k, _ := q.Get()
							q.Done(k)
						}
					})
				}
				wg.Wait()
				first += perRun
			},
			Value: func() float64 { return float64(percentile(latencies, 99)) },
		}
	})
}

// queue is what both sides can do.
type queue interface {
	Add(key)
	AddAfter(key, time.Duration)
	AddRateLimited(key)
	NumRequeues(key) int
	Forget(key)
	Get() (key, bool)
	Done(key)
	ShutDown()
}

// running is a context like the one that a controller passes to Get: it can end.
func running() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	_ = cancel // ends with the process
	return ctx
}
