package rows

import (
	"math/rand/v2"
	"time"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

// delays returns n delays between least and most, the same each time.
func delays(n int, least, most time.Duration) []time.Duration {
	r := rand.New(rand.NewPCG(3, 4))
	ds := make([]time.Duration, n)
	for i := range ds {
		ds[i] = least + time.Duration(r.Int64N(int64(most-least)))
	}
	return ds
}

// delayAndDrainRow is the whole way of delayed keys. The delays are shorter than
// it takes to add all keys, so that it is the queue that is timed, not the wait.
func delayAndDrainRow() bench.Row {
	const n = 100_000
	row := bench.Row{
		Area: "queue", Work: "AddAfter of 100k and drain",
		Does: "One goroutine adds 100,000 keys with delays of 1 to 5 ms while another one gets them and is done with them; a unit is a key.",
		Per:  n, Quick: true, MoreRounds: 3,
		// A heap of the standard library and an entry for each key, as client-go has.
		Want: bench.Target{Ratio: 1, Allocs: bench.AtMost(1.1)},
	}
	return compareQueues(row, addAndDrain(n))
}

// addAndDrain adds n keys, with delays of 1 to 5 ms, while another goroutine gets them and is done
// with them.
func addAndDrain(n int) func(queue) bench.Subject {
	return func(q queue) bench.Subject {
		ks, ds := keys(n), delays(n, time.Millisecond, 5*time.Millisecond)
		return bench.Subject{Run: func(passes int) {
			for range passes {
				drained := make(chan struct{})
				go func() {
					defer close(drained)
					for range n {
						k, _ := q.Get()
						q.Done(k)
					}
				}()
				for i, k := range ks {
					q.AddAfter(k, ds[i])
				}
				<-drained
			}
		}}
	}
}

// delayRow is the adding alone.
func delayRow() bench.Row {
	const n = 100_000
	return onNewQueues(bench.Row{
		Area: "queue", Work: "AddAfter, nothing due",
		Does: "One goroutine adds 100,000 keys with delays of 1 to 2 hours, spread at random; a unit is a key.",
		Per:  n, Repeat: 1, MoreRounds: 5,
		// A heap of the standard library and an entry for each key, as client-go has.
		Want: bench.Target{Ratio: 1, Allocs: bench.AtMost(1.1)},
	}, addDelayed(n))
}

// addDelayed adds n keys that are not due.
func addDelayed(n int) func() func(queue) {
	return func() func(queue) {
		ks, ds := keys(n), delays(n, time.Hour, 2*time.Hour)
		return func(q queue) {
			for i, k := range ks {
				q.AddAfter(k, ds[i])
			}
		}
	}
}

// rateLimitRow is the limiter's bookkeeping on top of that.
func rateLimitRow() bench.Row {
	const n = 50_000
	return onNewQueues(bench.Row{
		Area: "queue", Work: "AddRateLimited, then Forget",
		Does: "50,000 keys are added with an exponential delay, asked for their number of requeues, and forgotten; a unit is a key.",
		Per:  n, Repeat: 1, Quick: true, MoreRounds: 5,
		Want: bench.Target{Ratio: 1, Allocs: bench.AtMost(1.1)},
	}, failAndForget(n))
}

// failAndForget adds n keys that have failed, and forgets that.
func failAndForget(n int) func() func(queue) {
	return func() func(queue) {
		ks := keys(n)
		return func(q queue) {
			for _, k := range ks {
				q.AddRateLimited(k)
			}
			for _, k := range ks {
				q.NumRequeues(k)
				q.Forget(k)
			}
		}
	}
}

// onNewQueues compares work that needs a new queue for each run.
func onNewQueues(row bench.Row, prepare func() func(queue)) bench.Row {
	row.Ours = bench.Side{Who: informerkit, Setup: newEachTime(ourQueue, prepare)}
	row.Theirs = bench.Side{Who: clientGo, Setup: newEachTime(clientGoQueue, prepare)}
	return row
}

// newEachTime returns the set-up of work that needs a new queue for each run.
func newEachTime(create func() queue, prepare func() func(queue)) func() bench.Subject {
	return func() bench.Subject {
		work := prepare()
		var q queue
		return bench.Subject{
			Before: func() { q = create() },
			Run: func(n int) {
				for range n {
					work(q)
				}
			},
			After: func() { q.ShutDown() },
		}
	}
}
