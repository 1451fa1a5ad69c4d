package rows

import (
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/informerkit/informerkit/internal/verify/bench"
	ours "github.com/informerkit/informerkit/workqueue"
)

// idleQueueRow is what a controller that has nothing to do keeps.
func idleQueueRow() bench.Row {
	return bench.Row{
		Area: "queue", Work: "memory of an idle rate-limiting queue",
		Does:    "1,000 rate-limiting queues with the default limiter that nothing was ever added to; heap, stacks and goroutines of one.",
		Measure: bench.LiveHeap, Repeat: 1000,
		Ours: bench.Side{Who: informerkit, Setup: func() bench.Subject {
			return keep(func() *ours.RateLimitingQueue[key] {
				return ours.NewRateLimiting[key](nil, ours.Options[key]{})
			})
		}},
		Theirs: bench.Side{Who: clientGo, Setup: func() bench.Subject {
			return keep(func() workqueue.TypedRateLimitingInterface[key] {
				return workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[key]())
			})
		}},
		Want: bench.Target{Ratio: 1, Goroutines: bench.AtMost(0)},
	}
}

// keep makes n values and holds on to them.
func keep[T any](create func() T) bench.Subject {
	var all []T
	return bench.Subject{
		Run: func(n int) {
			all = make([]T, n)
			for i := range all {
				all[i] = create()
			}
		},
		// After is called when the memory has been measured; that it refers to
		// them keeps the values alive until then.
		After: func() { clear(all) },
	}
}

// queuedItemRow and delayedItemRow are what a key in the queue costs.
func queuedItemRow() bench.Row {
	return itemRow("memory of a queued key", "100,000 keys, which exist already, are added; heap of one.", true,
		func(q queue, k key) { q.Add(k) })
}

func delayedItemRow() bench.Row {
	return itemRow("memory of a delayed key", "100,000 keys, which exist already, are added with a delay of an hour; heap of one.", false,
		func(q queue, k key) { q.AddAfter(k, time.Hour) })
}

func itemRow(work, does string, quick bool, add func(queue, key)) bench.Row {
	const n = 100_000
	return compareQueues(bench.Row{
		Area: "queue", Work: work, Does: does,
		Measure: bench.LiveHeap, Per: n, Repeat: 1, Quick: quick,
		// A Go map of pointers to entries takes more than client-go's two sets of keys, and no
		// controller has so many keys waiting that it can feel that.
		Want: bench.Target{Figure: bench.AtMost(170)},
	}, func(q queue) bench.Subject {
		ks := keys(n)
		return bench.Subject{
			Run: func(int) {
				for _, k := range ks {
					add(q, k)
				}
			},
			After: func() { q.ShutDown(); clear(ks) },
		}
	})
}
