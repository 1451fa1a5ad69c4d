package rows

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/informerkit/informerkit/internal/verify/bench"
	ours "github.com/informerkit/informerkit/workqueue"
)

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

func queueRows() []bench.Row {
	const delayed, failed, queued = 100_000, 50_000, 100_000
	return []bench.Row{
		compare(bench.Row{
			Area: "queue", Work: "add+get+done, one goroutine",
			Does:  "One goroutine adds a key, gets it and is done with it; 1,024 keys in turn, one in the queue at a time.",
			Quick: true,
			Want:  bench.Target{Ratio: 1, Allocs: bench.AtMost(0)},
		}, ourQueue, clientGoQueue, cycle),
		compare(bench.Row{
			Area: "queue", Work: "AddAfter of 100k and drain",
			Does: "One goroutine adds 100,000 keys with delays of 1 to 5 ms while another one gets them and is done with them; a unit is a key.",
			Per:  delayed, Quick: true, MoreRounds: 3,
			// A heap of the standard library and an entry for each key, as client-go has.
			Want: bench.Target{Ratio: 1, Allocs: bench.AtMost(1.1)},
		}, ourQueue, clientGoQueue, addAndDrain(delayed)),
		compare(bench.Row{
			Area: "queue", Work: "AddRateLimited, then Forget",
			Does: "50,000 keys are added with an exponential delay, asked for their number of requeues, and forgotten; a unit is a key.",
			Per:  failed, Repeat: 1, Quick: true, MoreRounds: 5,
			Want: bench.Target{Ratio: 1, Allocs: bench.AtMost(1.1)},
		}, newQueues(ourQueue), newQueues(clientGoQueue), failAndForget(failed)),
		priorityRow(),
		idleQueueRow(),
		compare(bench.Row{
			Area: "queue", Work: "memory of a queued key",
			Does:    "100,000 keys, which exist already, are added; heap of one.",
			Measure: bench.LiveHeap, Per: queued, Repeat: 1, Quick: true,
			// A Go map of pointers to entries takes more than client-go's two sets of keys, and no
			// controller has so many keys waiting that it can feel that.
			Want: bench.Target{Figure: bench.AtMost(170)},
		}, ourQueue, clientGoQueue, fillQueue(queued)),
	}
}

// manyWorkersRow is the queue of a busy controller.
func manyWorkersRow() bench.Row {
	return compare(bench.Row{
		Work: "a key through the queue, 8 producers, 8 workers",
		Does: "Producers add 1,000 different keys while workers get them and are done with them, again and again; a unit is a key.",
		Per:  1000, Quick: true, MoreRounds: 3,
		Want: bench.Target{Ratio: 1, Allocs: bench.AtMost(0)},
	}, ourQueue, clientGoQueue, pass(1000, 8, 8))
}

// priorityRow is the life of a key of changing urgency.
func priorityRow() bench.Row {
	row := compare(bench.Row{
		Area: "queue", Work: "priorities: add+get+done, one goroutine",
		Does: "One goroutine adds a key with one of three priorities, gets it and is done with it; 1,024 keys in turn.",
		Want: bench.Target{Ratio: 5, Allocs: bench.AtMost(0)},
	}, newOurPrioritized, newTheirPrioritized, func(q prioritized) bench.Subject {
		ks := keys(1024)
		return bench.Subject{Run: func(n int) {
			for i := range n {
				q.AddClass(ks[i%len(ks)], i%3)
				k, _ := q.Get()
				q.Done(k)
			}
		}}
	})
	row.Theirs.Who = controllerRuntime
	return row
}

// idleQueueRow is what a controller that has nothing to do keeps.
func idleQueueRow() bench.Row {
	return compare(bench.Row{
		Area: "queue", Work: "memory of an idle rate-limiting queue",
		Does:    "1,000 rate-limiting queues with the default limiter that nothing was ever added to; heap, stacks and goroutines of one.",
		Measure: bench.LiveHeap, Repeat: 1000,
		Want: bench.Target{Ratio: 1, Goroutines: bench.AtMost(0)},
	}, func() func() any {
		return func() any { return ours.NewRateLimiting[key](nil, ours.Options[key]{}) }
	}, func() func() any {
		return func() any {
			return workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[key]())
		}
	}, keep[any])
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
		return times(func() {
			left.Store(int64(size))
			for p := range producers {
				go func() {
					for i := p; i < len(ks); i += producers {
						q.Add(ks[i])
					}
				}()
			}
			<-finished
		})
	}
}

// addAndDrain adds n keys while another goroutine gets them and is done with them. The
// delays are shorter than it takes to add all keys, so that it is the queue that is timed,
// not the wait.
func addAndDrain(n int) func(queue) bench.Subject {
	return func(q queue) bench.Subject {
		random := rand.New(rand.NewPCG(3, 4)) // the same each time
		ks, delays := keys(n), make([]time.Duration, n)
		for i := range delays {
			delays[i] = time.Millisecond + time.Duration(random.Int64N(int64(4*time.Millisecond)))
		}
		return times(func() {
			drained := make(chan struct{})
			go func() {
				defer close(drained)
				for range n {
					k, _ := q.Get()
					q.Done(k)
				}
			}()
			for i, k := range ks {
				q.AddAfter(k, delays[i])
			}
			<-drained
		})
	}
}

// newQueues stands for queues of one side where each run needs a new one.
func newQueues(create func() queue) func() func() queue {
	return func() func() queue { return create }
}

// failAndForget adds n keys that have failed, and forgets that.
func failAndForget(n int) func(create func() queue) bench.Subject {
	return func(create func() queue) bench.Subject {
		ks := keys(n)
		var q queue
		subject := times(func() {
			for _, k := range ks {
				q.AddRateLimited(k)
			}
			for _, k := range ks {
				q.NumRequeues(k)
				q.Forget(k)
			}
		})
		subject.Before = func() { q = create() }
		subject.After = func() { q.ShutDown() }
		return subject
	}
}

// fillQueue adds n keys, and leaves them there.
func fillQueue(n int) func(queue) bench.Subject {
	return func(q queue) bench.Subject {
		ks := keys(n)
		return bench.Subject{
			Run: func(int) {
				for _, k := range ks {
					q.Add(k)
				}
			},
			After: func() { q.ShutDown(); clear(ks) },
		}
	}
}

// running is a context like the one that a controller passes to Get: it can end.
func running() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	_ = cancel // ends with the process
	return ctx
}

// neverBefore is the first delay of the limiters in rows where nothing is to
// come back while it is measured.
const neverBefore = time.Hour

// ourQueue is our rate-limiting queue; only what is used costs something, so it
// stands for the plain one, too.
func ourQueue() queue {
	limiter := ours.Exponential[key](ours.ExponentialOptions{Base: neverBefore, Max: 100 * neverBefore})
	return oursAsQueue{ours.NewRateLimiting(limiter, ours.Options[key]{}), running()}
}

type oursAsQueue struct {
	*ours.RateLimitingQueue[key]
	ctx context.Context
}

func (q oursAsQueue) Get() (key, bool) { return q.RateLimitingQueue.Get(q.ctx) }

func clientGoQueue() queue {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[key](neverBefore, 100*neverBefore)
	return clientGoAsQueue{workqueue.NewTypedRateLimitingQueue(limiter)}
}

type clientGoAsQueue struct {
	workqueue.TypedRateLimitingInterface[key]
}

func (q clientGoAsQueue) Get() (key, bool) {
	k, shutdown := q.TypedRateLimitingInterface.Get()
	return k, !shutdown
}

// prioritized is a queue with three classes of urgency, the most urgent first.
type prioritized interface {
	AddClass(k key, class int)
	Get() (key, bool)
	Done(key)
}

type ourPrioritized struct {
	*ours.Queue[key]
	ctx context.Context
}

func newOurPrioritized() prioritized {
	return ourPrioritized{ours.New(ours.Options[key]{MaxWait: []time.Duration{0, time.Second, time.Minute}}), running()}
}

func (q ourPrioritized) AddClass(k key, class int) { q.PriorityClass(class).Add(k) }

func (q ourPrioritized) Get() (key, bool) { return q.Queue.Get(q.ctx) }

type theirPrioritized struct {
	priorityqueue.PriorityQueue[key]
	priorities []int
}

func newTheirPrioritized() prioritized {
	return theirPrioritized{priorityqueue.New[key](""), []int{100, 0, -100}}
}

func (q theirPrioritized) AddClass(k key, class int) {
	q.AddWithOpts(priorityqueue.AddOpts{Priority: &q.priorities[class]}, k)
}

func (q theirPrioritized) Get() (key, bool) {
	k, _, shutdown := q.GetWithPriority()
	return k, !shutdown
}
