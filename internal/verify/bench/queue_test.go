package bench

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	ours "github.com/informerkit/informerkit/workqueue"
)

// queue is what both implementations can do.
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

func compareQueues(b *testing.B, run func(b *testing.B, q queue)) {
	end := func(create func() queue) func(*testing.B) queue {
		return func(b *testing.B) queue {
			q := create()
			b.Cleanup(q.ShutDown)
			return q
		}
	}
	compare(b, clientGo, end(clientGoQueue), end(ourQueue), run)
}

// One goroutine adds a key, gets it and is done with it: 1,024 keys in turn, one in the queue at a time.
//
// Target: as fast as client-go, no allocations.
func BenchmarkQueueAddGetDone(b *testing.B) {
	compareQueues(b, func(b *testing.B, q queue) {
		ks, i := keys(1024), 0
		loop(b, 1, "key", func() {
			q.Add(ks[i%len(ks)])
			k, _ := q.Get()
			q.Done(k)
			i++
		})
	})
}

// Eight producers add 1,000 different keys while eight workers get them and are done with them: the
// queue of a busy controller. No add collapses with another, because the next pass starts when the
// last key is done.
//
// Target: as fast as client-go, no allocations.
func BenchmarkQueueBusy(b *testing.B) {
	const size, producers, workers = 1000, 8, 8
	compareQueues(b, func(b *testing.B, q queue) {
		ks := keys(size)
		var left atomic.Int64
		finished := make(chan struct{}, 1)
		for range workers {
			go func() {
				for k, ok := q.Get(); ok; k, ok = q.Get() {
					q.Done(k)
					if left.Add(-1) == 0 {
						finished <- struct{}{}
					}
				}
			}()
		}
		loop(b, size, "key", func() {
			left.Store(size)
			for p := range producers {
				go func() {
					for i := p; i < len(ks); i += producers {
						q.Add(ks[i])
					}
				}()
			}
			<-finished
		})
	})
}

// One goroutine adds 100,000 keys with delays of 1 to 5 ms while another gets them and is done with
// them. The delays are shorter than it takes to add all keys, so the queue is timed, not the wait.
//
// Target: as fast as client-go, 1.1 allocations: an entry for each key, as client-go has.
func BenchmarkQueueAddAfter(b *testing.B) {
	const n = 100_000
	compareQueues(b, func(b *testing.B, q queue) {
		random := rand.New(rand.NewPCG(3, 4)) // the same each time
		ks, delays := keys(n), make([]time.Duration, n)
		for i := range delays {
			delays[i] = time.Millisecond + time.Duration(random.Int64N(int64(4*time.Millisecond)))
		}
		loop(b, n, "key", func() {
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
	})
}

// 50,000 keys are added to a new queue with an exponential delay, asked for their number of
// requeues, and forgotten.
//
// Target: as fast as client-go, 1.1 allocations.
func BenchmarkQueueAddRateLimited(b *testing.B) {
	const n = 50_000
	each := func(create func() queue) func(*testing.B) func() queue {
		return func(*testing.B) func() queue { return create }
	}
	compare(b, clientGo, each(clientGoQueue), each(ourQueue), func(b *testing.B, create func() queue) {
		ks := keys(n)
		loop(b, n, "key", func() {
			q := create()
			for _, k := range ks {
				q.AddRateLimited(k)
			}
			for _, k := range ks {
				q.NumRequeues(k)
				q.Forget(k)
			}
			q.ShutDown()
		})
	})
}

// One goroutine adds a key with one of three priorities, gets it and is done with it: 1,024 keys in turn.
//
// Target: 5 times as fast as controller-runtime, no allocations.
func BenchmarkQueuePriorities(b *testing.B) {
	compare(b, "controller-runtime", newTheirPrioritized, newOurPrioritized, func(b *testing.B, q prioritized) {
		ks, i := keys(1024), 0
		loop(b, 1, "key", func() {
			q.AddClass(ks[i%len(ks)], i%3)
			k, _ := q.Get()
			q.Done(k)
			i++
		})
	})
}

// 1,000 rate-limiting queues with the default limiter that nothing was ever added to: what a
// controller that has nothing to do keeps.
//
// Target: at most the memory of client-go, no goroutine.
func BenchmarkQueueIdle(b *testing.B) {
	compare(b, clientGo, func(*testing.B) func() any {
		return func() any {
			return workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[key]())
		}
	}, func(*testing.B) func() any {
		return func() any { return ours.NewRateLimiting[key](nil, ours.Options[key]{}) }
	}, func(b *testing.B, create func() any) {
		alive(b, 1000, "queue", repeat(1000, create))
	})
}

// 100,000 keys, which exist already, wait in the queue.
//
// Target: at most 170 bytes for each. A Go map of pointers to entries takes more than client-go's
// two sets of keys, and no controller has so many keys waiting that it can feel that.
func BenchmarkQueueMemory(b *testing.B) {
	const n = 100_000
	compareQueues(b, func(b *testing.B, q queue) {
		ks := keys(n)
		alive(b, n, "key", func() any {
			for _, k := range ks {
				q.Add(k)
			}
			return q
		})
	})
}

// neverBefore is the first delay of the limiters: nothing comes back while it is measured.
const neverBefore = time.Hour

// oursAsQueue is our rate-limiting queue. Only what is used costs something, so it also stands for
// the plain one.
type oursAsQueue struct {
	*ours.RateLimitingQueue[key]
	ctx context.Context
}

func ourQueue() queue {
	limiter := ours.Exponential[key](ours.ExponentialOptions{Base: neverBefore, Max: 100 * neverBefore})
	return oursAsQueue{ours.NewRateLimiting(limiter, ours.Options[key]{}), running()}
}

func (q oursAsQueue) Get() (key, bool) { return q.RateLimitingQueue.Get(q.ctx) }

type clientGoAsQueue struct {
	workqueue.TypedRateLimitingInterface[key]
}

func clientGoQueue() queue {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[key](neverBefore, 100*neverBefore)
	return clientGoAsQueue{workqueue.NewTypedRateLimitingQueue(limiter)}
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

func newOurPrioritized(*testing.B) prioritized {
	q := ours.New(ours.Options[key]{MaxWait: []time.Duration{0, time.Second, time.Minute}})
	return ourPrioritized{q, running()}
}

func (q ourPrioritized) AddClass(k key, class int) { q.PriorityClass(class).Add(k) }

func (q ourPrioritized) Get() (key, bool) { return q.Queue.Get(q.ctx) }

type theirPrioritized struct {
	priorityqueue.PriorityQueue[key]
	priorities []int
}

func newTheirPrioritized(b *testing.B) prioritized {
	q := priorityqueue.New[key]("")
	b.Cleanup(q.ShutDown)
	return theirPrioritized{q, []int{100, 0, -100}}
}

func (q theirPrioritized) AddClass(k key, class int) {
	q.AddWithOpts(priorityqueue.AddOpts{Priority: &q.priorities[class]}, k)
}

func (q theirPrioritized) Get() (key, bool) {
	k, _, shutdown := q.GetWithPriority()
	return k, !shutdown
}

// running is a context like the one that a controller passes to Get: it can end.
func running() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	_ = cancel // ends with the process
	return ctx
}
